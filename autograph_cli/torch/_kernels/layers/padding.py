"""Padding: images inside frames of constants, mirrored or repeated edges."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from ..._arrays import Array
from ..._core.base.memory_format import contiguous

Sizes = tuple[int, ...]
Frame = tuple[tuple[int, int], ...]


@functools.lru_cache(maxsize=256, typed=True)  # a width that is no whole number is refused, though it equals one
def _framing(shape: Sizes, *pad: int) -> tuple[Frame, tuple[slice, ...] | None]:
    """Return what is added before and behind each dimension, and what is kept of an array, if that is not all."""
    frame, inside = [(0, 0)] * len(shape), [slice(None)] * len(shape)
    for i in range(len(pad) // 2):
        left, right = pad[2 * i], pad[2 * i + 1]
        d = len(shape) - 1 - i
        if shape[d] + min(left, 0) + min(right, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        frame[d] = (max(left, 0), max(right, 0))
        inside[d] = slice(max(-left, 0), shape[d] - max(-right, 0))
    return tuple(frame), tuple(inside) if any(n < 0 for n in pad) else None


@functools.lru_cache(maxsize=256)
def _framed(shape: Sizes, frame: Frame) -> tuple[Sizes, tuple[slice, ...]]:
    """The shape of a framed array, and where in it the array is."""
    each = list(zip(frame, shape, strict=True))
    whole = tuple([before + n + behind for (before, behind), n in each])
    return whole, tuple([slice(before, before + n) for (before, _), n in each])


@functools.lru_cache(maxsize=256)
def reflected(n: int, left: int, right: int) -> Any:
    """Return which element of a line stands at each position of it and its mirrored edges."""
    position = np.abs(np.arange(-left, n + right))
    return np.where(position >= n, 2 * (n - 1) - position, position)


@functools.lru_cache(maxsize=256)
def replicated(n: int, left: int, right: int) -> Any:
    """The same, where the edges are the elements at the ends."""
    return np.clip(np.arange(-left, n + right), 0, n - 1)


class Padding:
    """Kernels that pad; `pad` counts from the last dimension, (left, right) each, negative where it crops."""

    xp: Any
    held: Any
    added_at: Any
    placed: Any

    def constant_pad_nd(self, a: Array, pad: Any, value: Any = 0) -> Any:
        value = self.held(value, a)
        frame, inside = _framing(a.shape, *pad)
        return self.framed(a if inside is None else a[inside], frame, value) if a.ndim else a.copy()

    def framed(self, a: Array, frame: Any, value: Any = 0) -> Any:
        """The array inside a frame: for each dimension how many elements of `value` stand before and behind it."""
        if a.__class__ is not np.ndarray:
            return self.xp.pad(a, frame, constant_values=value)
        shape, inside = _framed(a.shape, tuple(frame))
        order: Literal["F", "C"] = "F" if a.flags.fnc else "C"
        out = np.full(shape, value, a.dtype, order) if value else np.zeros(shape, a.dtype, order)
        out[inside] = a
        return out

    def _taken(self, a: Array, pad: Any, positions: Any) -> Any:
        for i in range(len(pad) // 2):
            d = a.ndim - 1 - i
            a = self.xp.take(a, self.placed(positions(a.shape[d], pad[2 * i], pad[2 * i + 1])), axis=d)
        return a

    def _put_back(self, grad: Array, sizes: Any, pad: Any, positions: Any) -> Any:
        for i in range(len(pad) // 2):
            d = grad.ndim - 1 - i
            lines = self.xp.moveaxis(grad, d, 0)
            found = self.placed(positions(sizes[d], pad[2 * i], pad[2 * i + 1]))
            start, end = pad[2 * i], pad[2 * i] + sizes[d]
            if start < 0 or end > len(lines):
                out = self.xp.zeros((sizes[d], *lines.shape[1:]), grad.dtype)
                self.added_at(out, (found,), lines)
            else:
                out = self.xp.ascontiguousarray(lines[start:end]) + 0
                self.added_at(out, (found[:start],), lines[:start])
                self.added_at(out, (found[end:],), lines[end:])
            grad = self.xp.moveaxis(out, 0, d)
        return contiguous(grad)

    def reflection_pad1d(self, a: Array, padding: Any) -> Any:
        return self._taken(a, padding, reflected)

    def reflection_pad1d_backward(self, grad: Array, a: Array, padding: Any) -> Any:
        return self._put_back(grad, a.shape, padding, reflected)

    def replication_pad1d(self, a: Array, padding: Any) -> Any:
        return self._taken(a, padding, replicated)

    def replication_pad1d_backward(self, grad: Array, a: Array, padding: Any) -> Any:
        return self._put_back(grad, a.shape, padding, replicated)

    reflection_pad2d = reflection_pad3d = reflection_pad1d
    reflection_pad2d_backward = reflection_pad3d_backward = reflection_pad1d_backward
    replication_pad2d = replication_pad3d = replication_pad1d
    replication_pad2d_backward = replication_pad3d_backward = replication_pad1d_backward
