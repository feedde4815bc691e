"""Overrides: modes, and arguments whose class has a `__torch_function__`, are asked instead of the function.

A public function looks for them once `process_state.asks` says that somebody may be there: from the first class or mode
on that a program defines. What the engine itself calls looks at nothing.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.errors import refused
from ..base.state import process_state, thread_state
from ..base.user_warnings import warn
from ..tape.tensor import Tensor, disabled, subclassed

if TYPE_CHECKING:
    from ..operations.operation import Operation

F = TypeVar("F", bound=Callable[..., Any])
BY_KEYWORD = frozenset(
    """
    torch.Tensor.__array__ torch.Tensor.__repr__ torch.Tensor.backward torch.Tensor.norm torch.Tensor.split
    torch.Tensor.unique torch.autograd.backward torch.autograd.grad torch.functional.broadcast_tensors
    torch.functional.cdist torch.functional.meshgrid torch.functional.norm torch.functional.split
    torch.functional.unique
    """.split()
)
"""Functions that PyTorch writes in Python: they hand on by keyword what has a default; so do those of `nn.functional`,
but for `AS_CALLED`."""
AS_CALLED = frozenset(
    """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity gelu hardshrink linear logsigmoid
    native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu
    scaled_dot_product_attention selu_ softplus softshrink
    """.split()
)


_NAMED = {"__pow__": "pow", "__rtruediv__": "__rdiv__"}
"""Methods that bear the name of another."""


NOBODY: Any = object()
"""The answer of `asked_instead` where nobody is asked, and the function itself is to run."""


class Overridable:
    """A public function, and what those are told of it who are asked instead.

    `func` is the function that they are given, which for `x + y` is `Tensor.add`.
    """

    __slots__ = ("by_keyword", "func", "function", "modes_only", "name", "operator", "whole")

    def __init__(
        self, function: FunctionType, name: str, func: Any = None, operator: bool = False, modes_only: bool = False
    ) -> None:
        self.function = function
        self.name = name
        self.func = function if func is None else func
        head, _, last = name.rpartition(".")
        if func is None and head == "torch.Tensor":
            function.__name__ = _NAMED.get(last, last)  # as PyTorch's own, whatever was published
        self.operator = operator
        self.modes_only = modes_only
        python = name in BY_KEYWORD or (head == "torch.nn.functional" and last not in AS_CALLED)
        self.by_keyword = signature_of(function) if python else None
        self.whole = python or last in ("__get__", "__set__", "__delete__")
        """True if the types of plain tensors are passed too."""

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what those who are asked give; NOBODY where there is none."""
        if thread_state.overrides_off == ALL:
            return NOBODY
        asked = [] if thread_state.overrides_off or self.modes_only else overloaded(relevant(args, kwargs))
        if not asked and not thread_state.function_modes:
            return NOBODY
        given = tuple(map(type, overloaded(relevant(args, kwargs), self.whole)))
        if self.by_keyword is not None:
            args, kwargs = _by_keyword(self.by_keyword, args, kwargs)
        try:
            return ask(self.func, self.name, asked, given, args, kwargs, self.by_keyword is not None)
        except TypeError:
            if self.operator:
                return NotImplemented
            raise


_PLAIN = frozenset((Tensor, bool, int, float, complex, str, slice, type(None)))
"""Types of arguments that are never asked."""


def asked_instead(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what those give who are asked instead of a public function; NOBODY where there is none."""
    if not kwargs and not process_state.function_modes and _PLAIN.issuperset(map(type, args)):
        return NOBODY
    entry = _entries.get(function)
    return NOBODY if entry is None else entry.ask(args, kwargs)


def looking(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks for those who are to be asked, and then does as `run`."""

    @functools.wraps(run)
    def public(*args: Any, **kwargs: Any) -> Any:
        if process_state.asks and (result := asked_instead(public, args, kwargs)) is not NOBODY:
            return result
        return run(*args, **kwargs)

    vars(public)["looks"] = True
    return public


def looks(run: F) -> F:
    """Say of a public function that it asks `asked_instead` itself."""
    vars(run)["looks"] = True
    return run


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function; those of an operation are in its record."""
    record = record_of(function)
    return inspect.signature(function) if record is None else record.signature


def record_of(run: Callable[..., Any]) -> Operation | None:
    """The operation of a function of one (see calling.py)."""
    return getattr(inspect.unwrap(run), "record", None)


def is_function(run: Any) -> bool:
    """Return whether this is a function, in Python or of the compiled tape."""
    return isinstance(run, FunctionType) or hasattr(run, "record")


def _by_keyword(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments without a default by position, all others by name."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    bound.apply_defaults()
    first: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            first += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= value
        elif parameter.default is parameter.empty:
            first.append(value)
        else:
            named[name] = value
    return tuple(first), named


# ---------------------------------------------------------------- who is asked

SUBCLASSES, ALL = 1, 2
"""The states of `overrides_off`: classes are not asked, or classes and modes are not."""


def relevant(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    for x in (*args, *kwargs.values()) if kwargs else args:
        if x.__class__ is list or x.__class__ is tuple:
            yield from x
        else:
            yield x


def overloaded(given: Any, plain: bool = False) -> list[Any]:
    """One argument of each class that is to be asked, subclasses before their bases; `plain`: of Tensor too."""
    result: list[Any] = []
    seen: set[type] = set()
    for x in given:
        kind: Any = type(x)
        if kind in seen or not (_asks(kind) or (plain and kind is Tensor)):
            continue
        seen.add(kind)
        position = next((i for i, other in enumerate(result) if issubclass(kind, type(other))), len(result))
        result.insert(position, x)
    return result


@functools.lru_cache(4096)
def _asks(kind: type) -> bool:
    """Return whether a class has a `__torch_function__` of its own, or inherits that of a subclass of Tensor."""
    return kind is not Tensor and getattr(kind, "__torch_function__", disabled) is not disabled


def ask(
    func: Any, name: str, asked: list[Any], types: Any, args: Any, kwargs: dict[str, Any], python: bool = False
) -> Any:
    """Return what the innermost mode gives, or else the first argument that does not answer NotImplemented; or else a
    TypeError."""
    more = (kwargs,) if kwargs or python else ()
    if thread_state.function_modes:
        mode = thread_state.function_modes[-1]
        with without_mode():
            result = mode.__torch_function__(func, types, args, *more)
        if result is not NotImplemented:
            return result
    for x in asked:
        handler = x.__torch_function__
        if getattr(handler, "__self__", None) is x:
            warn(
                "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
                "please define it as a classmethod."
            )
        result = handler(func, types, args, *more)
        if result is not NotImplemented:
            return result
    if python:
        text = f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}"
        raise refused(TypeError, text + (f" nor in mode {mode}" if thread_state.function_modes else ""))
    lines = "".join(f"\n  - tensor subclass {type(x)!r}" for x in asked)
    raise refused(
        TypeError,
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n{lines}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented",
    )


class without_mode:
    """While a mode is asked it is not there itself."""

    def __enter__(self) -> None:
        self._before = thread_state.function_modes
        thread_state.function_modes = thread_state.function_modes[:-1]

    def __exit__(self, *_: Any) -> None:
        thread_state.function_modes = self._before


class DisableTorchFunctionSubclass:
    """Inside of it no class is asked; modes are."""

    _off = SUBCLASSES

    def __enter__(self) -> Any:
        self._before = thread_state.overrides_off
        thread_state.overrides_off = max(self._off, thread_state.overrides_off)
        return self

    def __exit__(self, *_: Any) -> None:
        thread_state.overrides_off = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside of it nobody is asked."""

    _off = ALL


# ---------------------------------------------------------------- what a subclass of Tensor does by default


def converted(found: Any, kind: type[Any]) -> Any:
    """Tensors of a result, and those in tuples and lists, as instances of a subclass."""
    if kind is Tensor:
        return found
    if isinstance(found, Tensor) and not isinstance(found, kind):
        return found.as_subclass(kind)
    if isinstance(found, (tuple, list)):
        parts = [converted(x, kind) for x in found]
        return found._make(parts) if hasattr(found, "_make") else type(found)(parts)
    return found


def default(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__torch_function__`: what `func` gives, as an instance of `cls`; NotImplemented beside a class that is no
    base."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
        return found if func in _kept() else converted(found, cls)


@functools.cache
def _kept() -> frozenset[Any]:
    """Functions of which the result stays as it is."""
    kept: Any = (Tensor._base, Tensor.grad, Tensor._grad)
    return frozenset(p.__get__ for p in kept)


# ---------------------------------------------------------------- all public functions

found: dict[Any, Overridable] = {}
"""Functions that can be overridden, by the function that overrides are given."""
_entries: dict[Any, Overridable] = {}
"""The same by the function that looks."""
_activating = threading.RLock()
collect: list[Callable[[], Iterator[Overridable]]] = []
"""The collector of the public functions (see overrides.py of the namespace)."""


def activate() -> None:
    """Have every public function look for those who are to be asked, from now on."""
    if process_state.asks:
        return
    with _activating:
        if not process_state.asks:
            for entry in (entry for find in collect for entry in find()):
                function: Any = entry.function
                _entries[function] = entry
                if hasattr(inner := getattr(function, "__wrapped__", None), "looks"):  # somebody listens to its calls
                    _entries[inner] = entry
                found.setdefault(entry.func, entry)
            process_state.asks = True


def _subclassed(cls: type) -> None:
    """A class that may be asked instead of functions makes them look."""
    if cls.__torch_function__ is not disabled:  # type: ignore[attr-defined]
        activate()


subclassed.append(_subclassed)


def unasked(name: str, args: Any, kwargs: Any) -> Any:
    """The public function of a failed call, if an argument wants to be asked for it and nobody looked yet; or None."""
    if process_state.asks or not any(map(_asks, map(type, relevant(args, kwargs)))):
        return None
    activate()
    return next(
        (e.func for e in _entries.values() if e.name in (name, name.replace("torch.", "torch.functional."))), None
    )


def unknown_operand(op: Any, first: Any, second: Any) -> Any:
    """Return what an operator gives beside what is no operand: NotImplemented, unless the operand wants to be asked.

    A TypeError where what it is called on is no tensor, as in `Tensor.__radd__(2, 3)`.
    """
    if not isinstance(first, Tensor):
        raise refused(TypeError, f"descriptor requires a 'torch.Tensor' object but received a '{type(first).__name__}'")
    func = unasked(f"torch.Tensor.{op.name}", (first, second), {})
    return NotImplemented if func is None else func(first, second)
