"""Shapes and strides of results, worked out without elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.base.errors import refused


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of an array in C order, as NumPy gives them."""
    return ordered_strides(shape, itemsize, range(len(shape)))


def ordered_strides(shape: tuple[int, ...], itemsize: int, order: Any) -> tuple[int, ...]:
    """Strides in bytes of a dense array whose dimensions are stored in `order`, the outermost first."""
    strides, step = [0] * len(shape), itemsize
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def reshaped_strides(shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of a view of another shape, as NumPy gives them; None where only a copy has that shape."""
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    made: list[int] = []
    while old and len(made) < len(new):
        length, step = old.pop(0)
        block, wanted = [new[len(made)]], new[len(made)]
        while wanted != length:
            if wanted < length:
                block.append(new[len(made) + len(block)])
                wanted *= block[-1]
            else:
                n, s = old.pop(0)
                if step != n * s:
                    return None
                length, step = length * n, s
        made += [step * math.prod(block[i + 1 :]) for i in range(len(block))]
    return (*made, *[made[-1] if made else 0] * (len(new) - len(made)))


def reshaped_shape(size: int, shape: Any) -> tuple[int, ...]:
    """The shape that is asked for, with its -1 worked out."""
    asked = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    known = math.prod(n for n in asked if n != -1)
    result = tuple(size // max(known, 1) if n == -1 else n for n in asked)
    if math.prod(result) != size or asked.count(-1) > 1:
        raise refused(ValueError, f"cannot reshape array of size {size} into shape {asked}")
    return result


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of `a @ b`."""
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else -1]:
        raise refused(ValueError, f"matmul: shapes {a} and {b} do not fit")
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: bool = False) -> tuple[int, ...]:
    """The shape after a reduction over `axis` (None: all)."""
    if axis is None:
        axes = set(range(len(shape)))
    else:
        axes = {d % len(shape) if shape else 0 for d in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)
