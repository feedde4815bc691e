"""The array of a batched tensor: one sample's shape, dtype and strides, but no element."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np

from . import Array
from .lazy import memory_of
from .meta import Geometry

F = TypeVar("F", bound=Callable[..., Any])
NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
NO_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"


def whole(raw: Array) -> Any:
    """The array itself, or all samples of the one that it stands for: what a check that holds for every element may
    read."""
    return raw._whole if isinstance(raw, StandIn) else raw


class StandIn(Geometry):
    """One sample of the array `raw`, whose dimension `bdim` is the batch. RuntimeError for whatever needs its
    elements."""

    __slots__ = ("_geometry", "_whole")

    _geometry: Any

    def __init__(self, raw: Array, bdim: int) -> None:
        inner = isinstance(raw, StandIn)
        self._whole = raw._whole if inner else raw
        raw = memory_of(raw._geometry if inner else raw)
        if raw.shape[bdim]:
            self._geometry = raw[(slice(None),) * bdim + (0, ...)] if bdim else raw[0, ...]
        else:
            self._geometry = np.empty((*raw.shape[:bdim], *raw.shape[bdim + 1 :]), raw.dtype)

    shape = property(lambda self: self._geometry.shape, lambda self, shape: setattr(self._geometry, "shape", shape))

    def view(self) -> StandIn:
        """Another one, whose shape may be set."""
        return self._with_geometry(self._geometry.view())

    def reshape(self, size: Any, *, copy: bool | None = None) -> StandIn:
        """One of another shape, if that needs no copy; ValueError if it does."""
        if copy is not False:
            raise _refusal()
        return self._with_geometry(self._geometry.reshape(size, copy=False))

    def transpose(self, *axes: Any) -> StandIn:
        return self._with_geometry(self._geometry.transpose(*axes))

    def _with_geometry(self, geometry: Any) -> StandIn:
        result: StandIn = object.__new__(StandIn)
        result._geometry, result._whole = geometry, self._whole
        return result

    def __len__(self) -> int:
        return len(self._geometry)

    def item(self) -> Any:
        raise RuntimeError(NO_ITEM)

    def __bool__(self) -> bool:
        raise RuntimeError(NO_BRANCH)

    def tolist(self) -> Any:
        raise RuntimeError(NO_MEMORY)

    __int__ = __float__ = __complex__ = __index__ = item
    __array__ = tolist

    def __getattr__(self, name: str) -> Any:
        raise _refusal()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise _refusal()

    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = __iter__ = _refuse


MISSING = "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
_whys: dict[CodeType, str] = {}
"""The reason that is given for functions that cannot be batched, by their code."""


def cannot_batch(why: str) -> Callable[[F], F]:
    """Say, in PyTorch's words, why a function that reads the elements of arrays cannot be batched."""

    def decorate(run: F) -> F:
        _whys[run.__code__] = why
        return run

    return decorate


def dynamic_shape(name: str) -> str:
    """PyTorch's words where the shape of the result would differ from sample to sample."""
    return (
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{name}. {MISSING}"
    )


def _refusal() -> RuntimeError:
    """The error for what reads a batched tensor's elements, with the name of the function that does."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name.startswith(("<", "_refus")):
        frame = frame.f_back
    name = frame.f_code.co_name.strip("_") if frame is not None else "a function"
    while frame is not None and frame.f_code not in _whys:
        frame = frame.f_back
    if frame is not None:
        return RuntimeError(_whys[frame.f_code])
    return RuntimeError(
        f"vmap: {name} reads the elements of a batched tensor, which is not available in autograph's engine"
    )


def _operator(name: str) -> None:
    setattr(StandIn, name, StandIn._refuse)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    _operator(f"__{_name}__")
    _operator(f"__r{_name}__")
    _operator(f"__i{_name}__")
for _name in ("neg", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne"):
    _operator(f"__{_name}__")
