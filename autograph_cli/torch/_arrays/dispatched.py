"""Instances of classes with a `__torch_dispatch__`: tensors whose class computes the operations, beneath autograd."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._above import above
from .._core.base.op_namespace import operations
from .meta import Geometry, Meta

_ASKING = "utils._python_dispatch"


def ask(op: Any, args: Any, in_place: bool) -> Any:
    """Ask the classes of an operation's arguments to compute it: raw results, or None."""
    return above(_ASKING, "ask")(op, args, in_place)


def ask_for(name: str, *args: Any) -> Any:
    """Ask them for what is no operation of the engine, by its name in `torch.ops.aten`."""
    return above(_ASKING, "ask_for")(name, *args)


def made(name: str, run: Any, args: Any, named: Any) -> Any:
    """Ask the innermost mode for a function that makes a tensor of nothing: the tensor, or None."""
    return above(_ASKING, "made")(name, run, args, named)


def made_like(name: str, run: Any, args: Any, named: Any) -> Any:
    """Ask it, or the classes of the arguments, for one that makes a tensor like its first argument."""
    return above(_ASKING, "made_like")(name, run, args, named)


def default(func: Any, args: Any, kwargs: Any) -> Any:
    """Return what a class that is asked does by default."""
    return above(_ASKING, "default")(func, args, kwargs)


def _tensor(instance: Dispatched) -> Any:
    """Return the tensor of an instance."""
    return above("_core.tape.tensor", "make")(instance)


class Dispatched(Geometry):
    """The stand-in for an array: how an array would be laid out, the class, and the attributes, which copies share.

    `memory` is the array that an instance made by `as_subclass` is over; a wrapper has none. While one is alive,
    operations go through full dispatch and backward runs formulas as operations. Whoever reads elements past an
    operation
    gets a NotImplementedError.
    """

    __slots__ = ("__weakref__", "_geometry", "attributes", "kind", "memory")

    def __init__(self, kind: type, geometry: Any, memory: Any, attributes: dict[str, Any]) -> None:
        self.kind, self._geometry, self.memory, self.attributes = kind, geometry, memory, attributes

    base = None
    shape = property(lambda self: self._geometry.shape)

    def __len__(self) -> int:
        return len(self._geometry)

    def __getattr__(self, name: str) -> Any:
        raise self._refusal(name)

    def _refusal(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{name} reads the elements of a {self.kind.__name__}, whose class has a __torch_dispatch__; this is not "
            "available in autograph's engine: read the tensor that it holds"
        )

    def item(self) -> Any:
        """The number that the class says it is."""
        return ask_for("_local_scalar_dense", _tensor(self))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __add__(self, other: Any) -> Any:
        """The sum of two gradients."""
        return operations.add(_tensor(self), _tensor(other))._ag_raw

    def __radd__(self, other: Any) -> Any:
        return operations.add(_tensor(other), _tensor(self))._ag_raw

    def detached(self, tensor: Any) -> Any:
        """Return what the class makes of `tensor.detach()`."""
        return ask_for("detach", tensor)._ag_raw

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self._refusal("NumPy")

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = __iter__ = _refuse


def wrapper(kind: type, shape: Any, dtype: np.dtype[Any], strides: Any) -> Dispatched:
    """Return what an instance without memory has; `strides` in elements, or None."""
    steps = None if strides is None else [s * dtype.itemsize for s in strides]
    return Dispatched(kind, Meta(shape, dtype, steps)._geometry, None, {})
