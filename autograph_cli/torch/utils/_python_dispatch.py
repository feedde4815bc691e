"""Modes and classes that see the operations beneath autograd: those of a forward as they are computed, and those of a
backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays.dispatched import Dispatched
from .._core.base import dtypes
from .._core.base.device import CPU
from .._core.base.schema import REQUIRED
from .._core.base.state import thread_state
from .._core.operations.operation import Operation
from .._core.tape.tensor import Tensor
from .._core.tape.wrapped_numbers import number_of
from .._ops.tensors.legacy import instance
from ..ops import Overload, aten, overload_of
from ._pytree import tree_map
from ._selective import Watcher


class TorchDispatchMode(Watcher):
    """While its block runs it computes every operation: `__torch_dispatch__(self, func, types, args, kwargs)`.

    `func` is one of `torch.ops.aten`; what is returned is the operation's result, which autograd then records. Nothing
    inside is recorded. `types` are the classes among the arguments that have a `__torch_dispatch__` of their own.

    >>> from autograph_cli import torch
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2, requires_grad=True)
    >>> with Log():
    ...     y = (x * 2).exp()
    aten.mul.Tensor
    aten.exp.default
    """

    _ag_sees_backward = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def _ag_compute(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        return self._ag_asked(op, args, False)

    def _ag_changed(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        return self._ag_asked(op, args, True)

    def _ag_detached(self, tensor: Tensor) -> Any:
        return self._ag_called(aten.detach.default, (_without_history(tensor),), {})

    def _ag_called(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the mode gives for `func`; beneath it are the modes outside of it, and nothing is recorded."""
        mode, thread_state.watcher = thread_state.watcher, self._ag_inner
        recording, thread_state.grad = thread_state.grad, False
        try:
            return self.__torch_dispatch__(func, tuple(map(type, _asking((args, kwargs)))), args, kwargs)
        finally:
            thread_state.watcher, thread_state.grad = mode, recording

    def _ag_asked(self, op: Operation, args: tuple[Any, ...], in_place: bool) -> list[Any]:
        func, given, named = _call(op, args, in_place)
        return _raws(op, func, self._ag_called(func, given, named), type(self))


# ---------------------------------------------------------------- classes


def _asking(given: Any) -> list[Tensor]:
    """One argument of each class that is to be asked, subclasses before their bases."""
    result: list[Tensor] = []
    for x in _tensors(given):
        if x._ag_raw.__class__ is Dispatched and all(type(x) is not type(other) for other in result):
            position = next((i for i, other in enumerate(result) if issubclass(type(x), type(other))), len(result))
            result.insert(position, x)
    return result


def _tensors(given: Any) -> Iterator[Tensor]:
    for x in given.values() if isinstance(given, dict) else given:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list, dict)):
            yield from _tensors(x)


def ask(op: Operation, args: tuple[Any, ...], in_place: bool) -> list[Any] | None:
    asked = _asking(args)
    if not asked:
        return None
    func, given, named = _call(op, args, in_place)
    return _raws(op, func, _answer(asked, func, given, named), type(asked[0]))


def ask_for(name: str, *args: Any) -> Any:
    return _answer(_asking(args), getattr(aten, name).default, tuple(map(_plain, args)), {})


def _answer(asked: list[Tensor], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the first class gives that does not answer NotImplemented; TypeError if all do. Nothing is
    recorded."""
    types = tuple(map(type, asked))
    recording, thread_state.grad = thread_state.grad, False
    try:
        for x in asked:
            result = type(x).__torch_dispatch__(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    finally:
        thread_state.grad = recording
    lines = "".join(f"\n  - tensor subclass {kind!r}" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n{lines}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )


def default(func: Any, args: Any, kwargs: Any) -> Any:
    """`Tensor.__torch_dispatch__`: what `func` gives on the memory of the arguments."""

    def lower(x: Any) -> Any:
        return instance(Tensor, x._ag_raw) if isinstance(x, Tensor) and x._ag_raw.__class__ is Dispatched else x

    return func(*tree_map(lower, args or ()), **tree_map(lower, kwargs or {}))


# ---------------------------------------------------------------- functions that are no operations of the engine

_SIZED = ("empty", "ones", "rand", "randn", "zeros", "new_empty", "new_ones", "new_zeros")
"""Functions that take sizes one by one too."""


def made(name: str, run: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    mode = _get_current_dispatch_mode()
    if mode is None or named.get("out") is not None or name in ("asarray", "empty_permuted", "range"):
        return None
    if name in ("tensor", "as_tensor"):
        thread_state.watcher, before = None, thread_state.watcher
        try:
            fresh = run(*args, **named)
        finally:
            thread_state.watcher = before
        return (
            fresh if fresh.requires_grad or fresh is args[0] else mode._ag_called(aten.lift_fresh.default, (fresh,), {})
        )
    return _called(mode, name, run, args, named | {"device": named.get("device") or CPU})


def made_like(name: str, run: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    mode = _get_current_dispatch_mode()
    if "input" in named:
        args, named = (named["input"], *args), {k: x for k, x in named.items() if k != "input"}
    if (mode is None and not _asking(args)) or name == "new_tensor":
        return None
    return _called(mode, name, run, (_plain(args[0]), *args[1:]), named)


def _called(mode: Any, name: str, run: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return what a mode or a class gives for `name`, with sizes as a list, and what is None or `requires_grad` left
    out."""
    order = ("dtype", "layout", "device", "pin_memory")
    shown = [k for k, x in named.items() if x is not None and k not in ("requires_grad", "size")]
    given: dict[str, Any] = {k: named[k] for k in sorted(shown, key=lambda k: order.index(k) if k in order else -1)}
    first = args[:1] if name.startswith("new_") else ()
    rest = args[len(first) :]
    if "size" in named:
        rest = (*rest, named["size"])
    if name in _SIZED and not (rest and isinstance(rest[0], (tuple, list))):
        rest = (rest,)
    given_args = (*first, *(list(x) if isinstance(x, tuple) else x for x in rest))
    given.setdefault("pin_memory", False)
    func = Overload(name, _overload(name, given_args), lambda *a, pin_memory=False, **k: run(*a, **k))
    found = (
        _answer(_asking(args), func, given_args, given) if mode is None else mode._ag_called(func, given_args, given)
    )
    return found.requires_grad_() if named.get("requires_grad") else found


def _overload(name: str, args: tuple[Any, ...]) -> str:
    """Return which overload a factory is, by how much it is given."""
    if name == "arange":
        return ("", "", "start", "start_step")[len(args)]
    if (name == "eye" and len(args) == 2) or (name == "randint" and len(args) == 3):
        return {"eye": "m", "randint": "low"}[name]
    return {"empty": "memory_format", "normal": "float_float"}.get(name, "")


# ---------------------------------------------------------------- what they are given


def _call(op: Operation, args: tuple[Any, ...], in_place: bool) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    given, named = _shown(op, args)
    func = overload_of(op, given)
    if in_place:
        name = f"{op.name.rstrip('_')}_"
        # A class changes what it holds; for others the caller writes the result.
        func = Overload(name, func._overload, getattr(Tensor, name) if _asking(args) else op.function)
    return func, given, named


def _raws(op: Operation, func: Any, found: Any, kind: type) -> list[Any]:
    """The raw arrays of what was returned; TypeError for what is no tensor."""
    results = list(found) if op.multiple and isinstance(found, (tuple, list)) else [found]
    wrong = next((x for x in results if not isinstance(x, Tensor)), None)
    if wrong is not None:
        raise TypeError(
            f"{kind.__name__}.__torch_dispatch__ has to return what {func} gives, a tensor or several; it returned "
            f"{type(wrong).__name__}"
        )
    return [x._ag_raw for x in results]


def _shown(op: Operation, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an operation as they are written: without defaults at the end, numbers as numbers, no
    history."""
    positions: list[Any] = []
    named: dict[str, Any] = {}
    ends = 0
    for parameter, x in zip(op.schema.parameters, args, strict=True):
        standard = parameter.default is not REQUIRED and (x is parameter.default or _equal(x, parameter.default))
        if parameter.keyword_only or parameter.name == "dtype":
            if not standard:
                named[parameter.name] = _plain(x)
            continue
        positions.append(_plain(x))
        if not standard:
            ends = len(positions)
    return tuple(positions[:ends]), named


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, Tensor) and bool(x == y)


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        number = number_of(x)
        return _without_history(x) if number is None else number
    if isinstance(x, (list, tuple)):
        return [_plain(t) for t in x]
    if isinstance(x, np.dtype):
        return dtypes.FROM_NUMPY[x]
    return int(x) if isinstance(x, int) and not isinstance(x, bool) else x


def _without_history(x: Tensor) -> Tensor:
    if x._ag_edge is None:
        return x
    result: Tensor = instance(type(x), x._ag_raw)
    result._ag_counter = x._ag_counter
    return result


def _get_current_dispatch_mode() -> Any:
    watcher = thread_state.watcher
    while watcher is not None and not isinstance(watcher, TorchDispatchMode):
        watcher = watcher._ag_inner
    return watcher
