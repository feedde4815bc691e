"""Operations as functions on tensors: plain calls go to the compiled tape, all others to `dispatch.run`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..._compiled import compiled
from ..arguments.operands import is_operand
from ..arguments.overrides import NOBODY, asked_instead, is_function, looking, looks, unasked, unknown_operand
from ..base.errors import refused
from ..base.schema import REQUIRED
from ..base.state import process_state
from ..tape.tensor import Tensor, detached
from . import dispatch

if TYPE_CHECKING:
    from ..operations.operation import Operation


@functools.cache
def fast_tape() -> Any:
    """The compiled tape (fast_tape.pyx), or None."""
    return compiled("_core.running.fast_tape")


def function_of(op: Operation) -> Any:
    """The function of an operation that the engine calls."""
    function = named(op, op.identifier, functools.partial(_in_full, op))
    function.op = op
    return function


def public_function(op: Operation, check: Callable[..., None] | None = None) -> Any:
    """The function of an operation that the namespace shows: classes and modes may be asked instead of it. With a
    `check`, which refuses arguments, it is a method that takes none."""
    name = f"torch.{op.name}"

    def look(args: Any, kwargs: Any) -> Any:
        if process_state.asks and (result := asked_instead(function, args, kwargs)) is not NOBODY:
            return result
        if check is not None and (len(args) != 1 or kwargs):
            check(args, kwargs)
        try:
            return op.function(*args, **kwargs) if process_state.asks else _in_full(op, args, kwargs)
        except Exception:
            func = unasked(name, args, kwargs)
            if func is None:
                raise
        return func(*args, **kwargs)

    function = named(op, op.identifier, look, public=True)
    function.op, function.__doc__, function.__module__ = op, op.function.__doc__, op.function.__module__
    return function


def operator_of(op: Operation) -> Any:
    """The function of an operation as an operator of Tensor, which returns NotImplemented for operands that it does not
    know."""

    def look(args: Any, kwargs: Any) -> Any:
        if process_state.asks and (result := asked_instead(operator, args, kwargs)) is not NOBODY:
            return result
        given = in_order(op, args, kwargs)
        first, second = given[:2]
        if (second.__class__ is not Tensor and not is_operand(second)) or not isinstance(first, Tensor):
            return unknown_operand(op, first, second)
        return op.function(first, second) if process_state.asks else dispatch.run(op, given)

    operator = looks(named(op, op.identifier, look, public=True))
    return operator


def named(
    op: Operation, name: str, otherwise: Callable[..., Any], *, public: bool = False, changes: bool = False
) -> Any:
    """A function that hands `otherwise` the arguments of all calls but those that are plain to the compiled tape.

    One that `changes` writes the result into its first argument; classes and modes may be asked instead of a `public`
    one.
    """
    tape = fast_tape()
    function: Any

    if tape is None:

        def function(*args: Any, **kwargs: Any) -> Any:
            return otherwise(args, kwargs)

        function.record, function.__signature__ = op, op.signature
    else:
        function = tape.OperationFunction(op, otherwise, public, changes)
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = __name__, None
    return function


@looks
def detach(self: Tensor) -> Tensor:
    """The same memory outside the graph."""
    tape = fast_tape()
    if tape is not None and (plain := tape.detached(self)) is not None:
        return plain  # type: ignore[no-any-return]
    if process_state.asks and (result := asked_instead(detach, (self,), {})) is not NOBODY:
        return result  # type: ignore[no-any-return]
    return detached(self)


def overridable(functions: Mapping[str, Any], guarded: Mapping[str, Any]) -> dict[str, Any]:
    """Public functions, which look for those who are to be asked instead of them: those that look at their arguments
    (`arg_check.guard`), and others in place of those that the engine itself calls."""
    return {name: guarded.get(name) or _shown(run) for name, run in functions.items() if is_function(run)}


def _shown(run: Any) -> Any:
    if hasattr(run, "looks"):
        return run
    return public_function(run.op) if hasattr(run, "op") and not hasattr(run, "__wrapped__") else looking(run)


def _in_full(op: Operation, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if not kwargs:
        return dispatch.run(op, in_order(op, args, kwargs))
    given = {**kwargs}
    out = None if op.view else given.pop("out", None)
    args = in_order(op, args, given)
    return dispatch.run(op, args) if out is None else dispatch.write_out(op, args, out)


# ---------------------------------------------------------------- arguments


def in_order(op: Operation, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """All arguments of an operation in order, of a call with some of them left out or given by name; TypeErrors as of a
    function that Python calls."""
    many, names = len(args), op.names
    if not kwargs and op.least <= many <= op.positional:
        return (*args, *op.defaults[many:])
    by_name = dict(zip(names, op.defaults, strict=True)) | dict(zip(names[: op.positional], args, strict=False))
    for name, x in kwargs.items():
        if name not in by_name:
            raise refused(TypeError, f"{op.identifier}() got an unexpected keyword argument {name!r}")
        if name in names[: min(many, op.positional)]:
            raise refused(TypeError, f"{op.identifier}() got multiple values for argument {name!r}")
        by_name[name] = x
    if many > op.positional:
        raise _too_many(op, many, sum(name in names[op.positional :] for name in kwargs))
    args = tuple(by_name.values())
    missing = [repr(name) for name, x in zip(names, args, strict=True) if x is REQUIRED]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        listed = f"{', '.join(missing[:-1])}{',' * (len(missing) > 2)} and " if plural else ""
        raise refused(
            TypeError,
            f"{op.identifier}() missing {len(missing)} required positional argument{plural}: {listed}{missing[-1]}",
        )
    return args


def _too_many(op: Operation, many: int, by_name: int) -> TypeError:
    most, least = op.positional, op.least
    takes = f"{most}" if most == least else f"from {least} to {most}"
    plural = "" if takes == "1" else "s"
    only = f" positional arguments (and {by_name} keyword-only argument{'s' * (by_name > 1)})" if by_name else ""
    was = "was" if many == 1 and not only else "were"
    return refused(
        TypeError, f"{op.identifier}() takes {takes} positional argument{plural} but {many}{only} {was} given"
    )
