"""The public names: functions of the namespace, methods of Tensor, their in-place variants, `out=` and aliases."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, TypeVar

from ..arguments.operands import is_operand
from ..arguments.overrides import NOBODY, asked_instead, looks, record_of
from ..base import dtypes
from ..base.class_names import type_name
from ..base.errors import refused
from ..base.state import process_state, thread_state
from ..running import dispatch
from ..running.autocast import autocasts
from ..running.calling import in_order, named
from ..running.inplace import run_inplace
from ..running.views import check_inplace
from ..tape.tensor import Tensor
from ..tape.wrapped_numbers import plain_number
from . import docstrings
from .operation import Operation, OperationFunction, operations

functions: dict[str, Callable[..., Any]] = {}
"""`torch.<name>`."""
methods: dict[str, Any] = {}
"""`Tensor.<name>`."""

_PUBLIC = __name__.partition("._core")[0]
F = TypeVar("F", bound=Callable[..., Any])


def publish(
    *made: OperationFunction,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    aliases: Iterable[str] = (),
) -> None:
    """Publish operations under their names: as functions, as methods, in place (`name_`), under aliases."""
    for run in made:
        op = run.op
        public = accepting(run, numpy_names(p.name for p in op.schema.parameters))
        if function:
            public.__module__ = _PUBLIC  # where pickles find it
        for name in (op.name, *aliases):
            if function:
                functions[name] = public
            if method:
                methods[name] = public
            if inplace:
                methods[f"{name}_"] = in_place_variant(op)
                if function:
                    functions[f"{name}_"] = methods[f"{name}_"]


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
"""NumPy's names of arguments, which PyTorch takes too."""


def numpy_names(parameters: Iterable[str]) -> dict[str, str]:
    """NumPy's names for some of the parameters, if that is not how they are called anyway."""
    known = set(parameters)
    return {theirs: ours for theirs, ours in NUMPY_NAMES.items() if ours in known and theirs not in known}


def _parameters(run: Callable[..., Any]) -> tuple[str, ...]:
    if (op := record_of(run)) is not None:
        names: tuple[str, ...] = op.names
        return names
    code: CodeType = inspect.unwrap(run).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _renamed(names: dict[str, str], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {names.get(k, k): v for k, v in kwargs.items()}


def _starred(run: Callable[..., Any]) -> str | None:
    """Return what the sizes of `view(2, 3)` are called when they come as one list."""
    if record_of(run) is not None:
        return None
    code = inspect.unwrap(run).__code__
    starred = code.co_flags & inspect.CO_VARARGS and code.co_argcount
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if starred else None


def accepting(run: Callable[..., Any], names: dict[str, str], starred: str | None = None) -> Callable[..., Any]:
    """`run`, which takes arguments by other names as well, and those behind the star by their common name."""
    if not names and starred is None:
        return run

    @functools.wraps(run)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if starred in kwargs:
            args = (*args, kwargs.pop(starred))
        return run(*args, **(_renamed(names, kwargs) if kwargs else kwargs))

    vars(renamed)["without_keywords"] = run
    return renamed


def in_place_variant(op: Operation) -> Callable[..., Any]:
    """The in-place form of an operation."""

    def change(args: Any, kwargs: Any) -> Any:
        return run_inplace(op, in_order(op, args, kwargs))

    return docstrings.documented(named(op, f"{op.name}_", change, changes=True), docstrings.in_place(op.name))


def in_place_operator(op: Operation) -> Callable[[Tensor, Any], Any]:
    """`x += y` and its like: leaves operands that it does not know to the other side."""

    def change(args: Any, kwargs: Any) -> Any:
        if process_state.asks and (result := asked_instead(operator, args, kwargs)) is not NOBODY:
            return result
        target, other, *more = in_order(op, args, kwargs)
        if not isinstance(other, Tensor) and not is_operand(other):
            return NotImplemented
        return run_inplace(op, (target, other, *more))

    operator: Callable[[Tensor, Any], Any] = looks(named(op, op.identifier, change, public=True, changes=True))
    return operator


def composite(
    function: bool = True,
    method: bool = True,
    out: bool | str = False,
    formula: bool = False,
    name: str = "",
    aliases: Iterable[str] = (),
) -> Callable[[F], F]:
    """Publish a function that is composed of operations.

    `out`: it also takes `out=`; `out="apart"`: whose memory must not be that of an argument; `out="partial"`: nor a
    part of it, all of it may; `out="exact"`: whose dtype must be that of the result; or several, `out="apart exact"`.
    `formula`: formulas may call it as `f.<name>` (a kernel of that name must exist).
    """

    def decorate(run: F) -> F:
        public = (
            with_out(run, str(out).split()) if out else accepting(run, numpy_names(_parameters(run)), _starred(run))
        )
        for known in (name or run.__name__.rstrip("_"), *aliases):
            if function:
                functions[known] = public
            if method:
                methods[known] = public
            if formula:
                setattr(operations, known, run)
        return run

    return decorate


def _check_dtypes(targets: Any, found: Any) -> None:
    for target, result in zip(targets, found, strict=True):
        wanted, got = (dtypes.c_name(t._ag_raw.dtype) for t in (result, target))
        if wanted != got:
            raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {got} instead")


def _tensors(given: Any) -> Iterable[Tensor]:
    for x in given:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _tensors(x)


def out_tensors(name: str, out: Any) -> list[Tensor]:
    """The tensors that results are to be written into; TypeError for what is none."""
    targets = list(out) if isinstance(out, (tuple, list)) else [out]
    for target in targets:
        if not isinstance(target, Tensor):
            raise refused(TypeError, f"{name}(): argument 'out' must be Tensor, not {type_name(target)}")
    return targets


def no_out(name: str) -> RuntimeError:
    """PyTorch's error for `out=` in the graph."""
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad."
    )


def with_out(
    run: Callable[..., Any], rules: Iterable[str] = (), choose: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function that also takes `out=`, and arguments by NumPy's names; `choose` tells which operation it calls."""
    names = numpy_names(_parameters(run))

    @functools.wraps(run)
    def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs and names:
            kwargs = _renamed(names, kwargs)
        if out is None:
            return run(*args, **kwargs)
        targets = out_tensors(run.__name__, out)
        if thread_state.grad and any(t.requires_grad for t in _tensors([*args, *kwargs.values(), *targets])):
            raise no_out(run.__name__)
        given = list(_tensors([*args, *kwargs.values()]))
        if "apart" in rules or (choose is not None and dispatch.by_elements(choose(*args, **kwargs)[0].op)):
            dispatch.check_out_apart(targets, given, "apart" in rules)
        before, thread_state.grad = thread_state.grad, False
        lower, thread_state.autocast = thread_state.autocast, None
        try:
            results = run(*args, **kwargs)
        finally:
            thread_state.grad, thread_state.autocast = before, lower
        found = [results] if isinstance(results, Tensor) else list(results)
        if isinstance(results, Tensor) and not isinstance(out, Tensor):
            raise refused(TypeError, f"{run.__name__}(): argument 'out' must be Tensor, not {type_name(out)}")
        if len(found) != len(targets):
            raise refused(TypeError, f"expected tuple of {len(found)} elements but got {len(targets)}")
        if "exact" in rules:
            _check_dtypes(targets, found)
        if "partial" in rules:
            fitting = [t for t, result in zip(targets, found, strict=True) if t._ag_raw.shape == result._ag_raw.shape]
            dispatch.check_out_apart(fitting, given)
        for target, result in zip(targets, found, strict=True):
            dispatch.put(target, result)
        return out

    vars(wrapped)["without_keywords"] = run
    return wrapped


def overloaded(
    method: bool = True,
    function: bool = True,
    inplace: bool = True,
    out: bool | str = True,
    aliases: Iterable[str] = (),
    autocast: str | None = None,
) -> Callable[[F], Callable[..., Any]]:
    """Publish a function that chooses an operation and its arguments: it returns (operation, *arguments)."""

    def decorate(choose: F) -> Callable[..., Any]:
        name = choose.__name__.rstrip("_")

        @functools.wraps(choose)
        def run(*args: Any, **kwargs: Any) -> Any:
            chosen, *given = choose(*args, **kwargs)
            try:
                return chosen(*given)
            except dtypes.NoPlainNumber:
                return chosen(*map(plain_number, given))

        run = run if autocast is None else autocasts(autocast)(run)

        @functools.wraps(choose)
        def run_in_place(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], Tensor) and not thread_state.levels:
                check_inplace(*args)
            chosen, *given = choose(*args, **kwargs)
            defaults = (p.default for p in chosen.op.schema.parameters[len(given) :])
            return run_inplace(chosen.op, (*given, *defaults))

        run_in_place.__doc__ = docstrings.in_place(name)

        public = with_out(run, str(out).split(), choose) if out else accepting(run, numpy_names(_parameters(choose)))
        for known in (name, *aliases):
            if function:
                functions[known] = public
            if method:
                methods[known] = public
            if inplace:
                methods[f"{known}_"] = run_in_place
                if function:
                    functions[f"{known}_"] = run_in_place
        return run

    return decorate
