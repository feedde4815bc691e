"""`torch.overrides`: classes and modes that are asked instead of functions."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from . import _missing
from ._core.arguments import overrides as _overrides
from ._core.arguments.overrides import ALL, Overridable, is_function, overloaded
from ._core.base.state import process_state, thread_state
from ._core.operations import registry
from ._core.tape.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

_HERE = __name__.rpartition(".")[0]

# ---------------------------------------------------------------- the public functions

_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_", "__mul__": "mul",
    "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_", "__mod__": "remainder",
    "__imod__": "remainder_", "__matmul__": "matmul", "__neg__": "neg", "__pos__": "positive", "__abs__": "abs",
    "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip
"""Operators that are methods under another name."""
_OF_THEMSELVES = frozenset(
    """
    __and__ __eq__ __floordiv__ __iand__ __ifloordiv__ __ilshift__ __ior__ __ipow__ __irshift__ __ixor__ __lshift__
    __or__ __pow__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __ror__ __rpow__ __rrshift__ __rshift__
    __rsub__ __rtruediv__ __rxor__ __xor__
    """.split()
)
_NOT_ASKED = frozenset(
    """
    __class__ __delitem__ __dir__ __hash__ __init__ __init_subclass__ __iter__ __new__ __str__ __torch_function__
    _make_subclass _make_wrapper_subclass as_subclass meta broadcast_shapes can_cast finfo from_numpy get_default_dtype
    get_rng_state iinfo initial_seed is_storage is_tensor manual_seed promote_types seed set_default_device
    set_default_dtype set_default_tensor_type set_printoptions set_rng_state typename
    """.split()
)
"""Functions that no class and no mode is asked for."""
_FACTORIES = frozenset(
    """
    arange as_tensor asarray bartlett_window blackman_window empty empty_strided eye frombuffer full hamming_window
    hann_window kaiser_window linspace logspace normal ones rand randint randn randperm range scalar_tensor
    sparse_coo_tensor tensor tril_indices triu_indices vander zeros
    """.split()
)
"""Functions that only modes are asked for."""


def _functions(space: str, found: Iterable[tuple[str, Any]]) -> Iterator[Overridable]:
    functional = _missing.load(f"{_HERE}.functional")
    for name, run in found:
        if is_function(run) and name not in _NOT_ASKED and not name.startswith("__"):
            written = space == "torch" and name in functional.__all__
            shown = f"torch.functional.{name}" if written else f"{space}.{name}"
            yield Overridable(run, shown, modes_only=space == "torch" and name in _FACTORIES)


def _methods() -> Iterator[Overridable]:
    members = dict(vars(Tensor))
    for name, member in members.items():
        if name in _NOT_ASKED:
            continue
        if isinstance(member, property):
            _have_look(member)
            for use, run in (("__get__", member.fget), ("__set__", member.fset), ("__delete__", member.fdel)):
                if isinstance(run, FunctionType):
                    yield Overridable(run, f"torch.Tensor.{name}.{use}", getattr(member, use))
        elif is_function(member):
            func = members.get(_OPERATORS.get(name, ""))
            operator = name in _OPERATORS or name in _OF_THEMSELVES
            yield Overridable(member, f"torch.Tensor.{_OPERATORS.get(name, name)}", func, operator)


def _have_look(member: property) -> None:
    """Have a property look for those who are to be asked.

    It does not before: `x.grad` takes 110 ns, and a function around its own another 60.
    """
    if not hasattr(member.fget, "looks"):
        uses = (member.fget, member.fset, member.fdel)
        member.__init__(*(run and _overrides.looking(run) for run in uses), member.__doc__)  # type: ignore[misc]


def _every() -> Iterator[Overridable]:
    """Every public function once, however many names it has."""
    seen: set[int] = set()
    for found in (_methods(), *map(_module, ("", "nn.functional", "linalg", "fft", "special", "autograd", "nn.init"))):
        for entry in found:
            if id(entry.function) not in seen:
                seen.add(id(entry.function))
                yield entry


def _module(name: str) -> Iterator[Overridable]:
    module = _missing.load(f"{_HERE}.{name}") if name else sys.modules[_HERE]
    members = vars(module)
    if not name:
        return _functions("torch", ((n, members.get(n)) for n in registry.functions))
    if name == "autograd":
        return _functions("torch.autograd", ((n, members[n]) for n in ("backward", "grad")))
    if name == "nn.init":
        asked = ("constant_", "kaiming_uniform_", "normal_", "uniform_")
        return _functions("torch.nn.init", ((n, members[n]) for n in asked))
    own = ((n, x) for n, x in list(members.items()) if not n.startswith("_") and n not in ("Tensor", "Any"))
    return _functions(f"torch.{name}", own)


_overrides.collect.append(_every)

# ---------------------------------------------------------------- asking


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether somebody is to be asked instead of a function of these arguments."""
    if thread_state.overrides_off == ALL:
        return False
    return bool(thread_state.function_modes) or (not thread_state.overrides_off and bool(overloaded(relevant_args)))


def has_torch_function_unary(x: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Return what those who are asked instead of `public_api` give; TypeError if all answer NotImplemented."""
    given = list(relevant_args)
    types = tuple(map(type, overloaded(given, plain=True)))
    asked = [] if thread_state.overrides_off else overloaded(given)
    name = resolve_name(public_api) or f"{public_api.__module__}.{public_api.__name__}"
    return _overrides.ask(public_api, name, asked, types, args, kwargs, python=True)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function one that classes and modes are asked for; `dispatcher` gives the arguments to look at."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Return whether this is a tensor, or of a class that has a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# ---------------------------------------------------------------- modes


class TorchFunctionMode:
    """While its block runs it is asked instead of every function: `__torch_function__(self, func, types, args,
    kwargs)`.

    >>> from autograph_cli import torch
    >>> class Log(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     y = torch.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _overrides.activate()
        process_state.function_modes += 1
        thread_state.function_modes = (*thread_state.function_modes, self)
        return self

    def __exit__(self, *_: Any) -> None:
        thread_state.function_modes = thread_state.function_modes[:-1]
        process_state.function_modes -= 1

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """An instance, under its old name."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return thread_state.function_modes[-1] if thread_state.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(thread_state.function_modes)


# ---------------------------------------------------------------- what there is


def _entries() -> dict[Any, Overridable]:
    _overrides.activate()
    return _overrides.found


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that classes are asked for, by the module or class that has them."""
    result: dict[Any, list[Any]] = {}
    for func, entry in _entries().items():
        if not entry.modes_only:
            parts = entry.name.split(".")[1:-1]
            home = functools.reduce(getattr, parts, sys.modules[_HERE])
            result.setdefault(home, []).append(func)
    return result


def get_ignored_functions() -> set[Any]:
    """The public functions that no class is asked for."""
    known = _entries()
    ignored = {entry.func for entry in known.values() if entry.modes_only}
    named = (getattr(home, name, None) for home in (sys.modules[_HERE], Tensor) for name in _NOT_ASKED)
    return ignored | {run for run in named if callable(run)}


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For each function that classes are asked for another of the same signature, which gives -1."""

    def dummy(entry: Overridable) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> int:
            return -1

        with contextlib.suppress(ValueError):
            run.__signature__ = _overrides.signature_of(entry.function)  # type: ignore[attr-defined]
        return run

    return {func: dummy(entry) for func, entry in _entries().items() if not entry.modes_only}


def resolve_name(f: Any) -> str | None:
    """The public name of a function: `torch.Tensor.add`; None for others."""
    entry = _entries().get(f) if callable(f) else None
    return None if entry is None else entry.name


def is_tensor_method_or_property(func: Any) -> bool:
    """Return whether this is a method or property of Tensor."""
    return (resolve_name(func) or "").startswith("torch.Tensor.")


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
