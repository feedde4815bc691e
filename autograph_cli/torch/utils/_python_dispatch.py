"""Modes that see the operations beneath autograd: those of a forward as they are computed, and those of a backward."""

from __future__ import annotations

from typing import Any

from .._core.dispatch import written_number
from .._core.operation import Operation
from .._core.schema import REQUIRED
from .._core.state import L
from .._core.tensor import Tensor
from .._ops.legacy import instance
from ..ops import Overload, overload_of
from ._selective import Watcher


class TorchDispatchMode(Watcher):
    """While its block runs it computes every operation: `__torch_dispatch__(self, func, types, args, kwargs)`.

    `func` is one of `torch.ops.aten`; what is returned is the operation's result, which autograd then records. Nothing inside is
    recorded. A function that makes tensors of nothing (`zeros`, `randn`) is no operation of the engine and is not seen.

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

    sees_backward = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def compute(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        return self._asked(op, args, False)

    def changed(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        return self._asked(op, args, True)

    def _asked(self, op: Operation, args: tuple[Any, ...], in_place: bool) -> list[Any]:
        given, named = _shown(op, args)
        func = overload_of(op, given)
        if in_place:
            func = Overload(f"{op.name.rstrip('_')}_", func._overload, op.function)
        mode, L.watcher = L.watcher, self.inner
        recording, L.grad = L.grad, False
        try:
            found = self.__torch_dispatch__(func, (), given, named)
        finally:
            L.watcher, L.grad = mode, recording
        results = list(found) if op.multiple and isinstance(found, (tuple, list)) else [found]
        wrong = next((x for x in results if not isinstance(x, Tensor)), None)
        if wrong is not None:
            raise TypeError(
                f"{type(self).__name__}.__torch_dispatch__ has to return what {func} gives, a tensor or several; it returned "
                f"{type(wrong).__name__}"
            )
        return [x._raw for x in results]


def _shown(op: Operation, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an operation as they are written: without defaults at the end, numbers as numbers, no history."""
    places: list[Any] = []
    named: dict[str, Any] = {}
    ends = 0
    for parameter, x in zip(op.schema.parameters, args, strict=True):
        standard = parameter.default is not REQUIRED and (x is parameter.default or _equal(x, parameter.default))
        if parameter.keyword_only:
            if not standard:
                named[parameter.name] = x
            continue
        places.append(_plain(x))
        if not standard:
            ends = len(places)
    return tuple(places[:ends]), named


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, Tensor) and bool(x == y)


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        number = written_number(x)
        return _without_history(x) if number is None else number
    if isinstance(x, (list, tuple)):
        return type(x)(_plain(t) for t in x)
    return int(x) if isinstance(x, int) and not isinstance(x, bool) else x


def _without_history(x: Tensor) -> Tensor:
    if x._edge is None:
        return x
    made: Tensor = instance(type(x), x._raw)
    made._counter = x._counter
    return made


def _get_current_dispatch_mode() -> Any:
    return L.watcher if isinstance(L.watcher, TorchDispatchMode) else None
