"""`torch.ops.aten`: the operations under the names of PyTorch's operator library, as far as the engine has them."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from ._core.base import dims
from ._core.base.dtypes import dtype
from ._core.operations.operation import Operation, operations
from ._core.operations.registry import functions
from ._core.tape.tensor import Tensor
from ._ops.pointwise import arithmetic
from ._ops.shaping import views


class Overload:
    """One overload of an operator; two are equal if their names are, as far as the engine tells overloads apart."""

    def __init__(self, name: str, overload: str, run: Callable[..., Any]) -> None:
        self._name = name
        self._overload = overload
        self._run = run

    namespace = "aten"

    @property
    def __name__(self) -> str:
        return f"{self._name}.{self._overload or 'default'}"

    @property
    def overloadpacket(self) -> Packet:
        """The operator of which this is an overload."""
        return Packet(self._name, self._run)

    _overloadpacket = overloadpacket

    def name(self) -> str:
        """The name as schemas write it: `aten::mul.Tensor`."""
        return f"aten::{self._name}{self._overload and '.'}{self._overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Overload) or self._name != other._name:
            return False
        return not self._overload or not other._overload or self._overload == other._overload

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._name}', overload='{self._overload or 'default'}')>"

    def __str__(self) -> str:
        return f"aten.{self._name}.{self._overload or 'default'}"


def overload_of(op: Operation, args: tuple[Any, ...] = ()) -> Overload:
    """The overload that an operation of the engine is, on these arguments."""
    pair = op.promotes and len(op.tensors) == 2
    name, _, overload = (op.aten or f"{op.name}.{op.schema.overload or ('Tensor' if pair else '')}").partition(".")
    if name in _COMPARISONS and len(args) == 2 and not isinstance(args[1], Tensor):
        overload = "Scalar"
    return Overload(name, overload, _as_written(op.function))


def _as_written(run: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that takes sizes and dimensions in lists, and dtypes of PyTorch."""

    def read(x: Any) -> Any:
        if isinstance(x, list) and not any(isinstance(t, Tensor) for t in x):
            return tuple(x)
        return x.numpy if isinstance(x, dtype) else x

    return lambda *args, **kwargs: run(*map(read, args), **{k: read(x) for k, x in kwargs.items()})


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


class Packet:
    """An operator, whose overloads (`default`, `Tensor`, ...) all run the one function."""

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self._name = name
        self._run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def __getattr__(self, overload: str) -> Overload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return Overload(self._name, overload, self._run)

    @property
    def __name__(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packet) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __str__(self) -> str:
        return f"aten.{self._name}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self._name}')>"


class Library:
    """Operators by name."""

    def __getattr__(self, name: str) -> Packet:
        run = _OWN.get(name) or functions.get(name)
        if run is None:
            raise builtins.AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        return Packet(name, run)

    def __repr__(self) -> str:
        return "<module 'torch.ops.aten'>"


def _slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    d = dims.wrap(dim, self.ndim)
    result: Tensor = views.slice_op(self, d, *views.window(start, end, step, self._ag_raw.shape[d]))
    return result


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    made: Tensor = operations.softmax_backward(grad_output, output, dims.wrap(dim, output.ndim))
    return made if made.dtype is input_dtype else made.to(input_dtype)


def _to_copy(
    self: Tensor, dtype: Any = None, *, device: Any = None, memory_format: Any = None, **options: Any
) -> Tensor:
    result: Tensor = self.to(device, dtype, copy=True, memory_format=memory_format)
    return result


def _reduced(self: Tensor, other: Tensor, reduce: str) -> NoReturn:
    raise NotImplementedError("torch.sparse.mm with a reduction is not available in autograph's engine yet")


def _sparse(name: str) -> Callable[..., Any]:
    return lambda *args, **options: getattr(importlib.import_module(".sparse", __package__), name)(*args, **options)


_OWN: dict[str, Callable[..., Any]] = {
    "_local_scalar_dense": Tensor.item,
    "_pin_memory": lambda self, device=None: self.pin_memory(device),
    "_sparse_addmm": _sparse("addmm"),
    "_sparse_mm_reduce_impl": _reduced,
    "_to_copy": _to_copy,
    "detach": Tensor.detach,
    "index": lambda self, indices: self[tuple(slice(None) if i is None else i for i in indices)],
    "lift_fresh": lambda self: self,
    "slice": _slice,
    "alias": views.alias,
    "rsub": arithmetic.rsub,
    "_softmax_backward_data": _softmax_backward_data,
    "native_dropout_backward": operations.native_dropout_backward,
}
aten = Library()
