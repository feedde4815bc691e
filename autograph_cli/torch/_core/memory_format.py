"""In which order results lie in memory, where PyTorch's order is not the one that NumPy gives.

Strides decide whether a later `reshape` is a view, and so which node the graph has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import CATEGORY, FLOATING

ROW_BY_ROW = frozenset(
    (
        "cumsum",
        "cumprod",
        "logcumsumexp",
        "roll",
        "softmax",
        "log_softmax",
        "gather",
        "masked_fill_Scalar",
        "masked_fill_Tensor",
        "repeat",
        "stack",
        "tril",
        "triu",
        "sum_dim_IntList",
        "mean_dim",
        "prod_dim_int",
        "var",
        "std",
        "norm_ScalarOpt_dim",
        "amax",
        "amin",
        "logsumexp",
    )
)
"""Operations whose result lies row by row, however their argument lies."""
LIKE_FIRST = frozenset(("flip", "erf", "gelu", "sort", "sort_stable", "index_put"))
"""Operations whose (first) result lies as their first argument does."""

CHANNELS_LAST = frozenset(
    (
        "convolution",
        "max_pool2d_with_indices",
        "max_pool3d_with_indices",
        "avg_pool2d",
        "avg_pool3d",
        "_adaptive_avg_pool2d",
        "adaptive_max_pool2d",
        "upsample_nearest2d",
        "upsample_nearest3d",
        "upsample_bilinear2d",
        "upsample_bicubic2d",
        "native_group_norm",
        "reflection_pad2d",
        "replication_pad2d",
        "constant_pad_nd",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
    )
)
"""Operations on images whose result has its channels last in memory if their first argument has."""

NEW_MEMORY = frozenset(
    (
        "mode",
        "topk",
        "cummax",
        "cummin",
        "kthvalue",
        "nanmedian_dim",
        "median_dim",
        "median",
        "nanmedian",
        "index_select",
        "max_dim",
        "min_dim",
        "max",
        "min",
    )
)
"""More operations of which a single number must not be its own result, as others may look at its memory."""


IN_FLOAT32 = frozenset(("softmax", "log_softmax", "sigmoid", "addcmul", "addcdiv", "var", "std"))
"""Operations that compute with 16 bits as with 32, and round once."""


def _widened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def run(first: Any, *rest: Any) -> Any:
        kind = first.dtype
        if kind.itemsize != 2 or CATEGORY[kind] != FLOATING:
            return kernel(first, *rest)
        args = (x.astype(np.float32) if getattr(x, "dtype", None) == kind else x for x in (first, *rest))
        return kernel(*args).astype(kind)

    return run


def arranged(identifier: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose result lies as PyTorch's does, in memory of its own."""
    if identifier in IN_FLOAT32:
        kernel = _widened(kernel)
    if identifier in ROW_BY_ROW:
        return lambda first, *rest: _rows(kernel(_number(first), *rest))
    if identifier in LIKE_FIRST:
        return lambda first, *rest: _like(kernel(_number(first), *rest), first)
    if identifier in CHANNELS_LAST:
        return lambda first, *rest: _channels_last(kernel(first, *rest), first)
    if identifier in NEW_MEMORY:
        return lambda first, *rest: kernel(_number(first), *rest)
    return kernel


def _number(raw: Any) -> Any:
    return raw[()] if raw.__class__ is np.ndarray and not raw.ndim else raw


def is_channels_last(raw: Any) -> bool:
    """Whether the channels of images or volumes follow each other in memory."""
    if raw.ndim not in (4, 5) or raw.flags.c_contiguous:
        return False
    return bool(raw.transpose(0, *range(2, raw.ndim), 1).flags.c_contiguous)


def suggests_channels_last(raw: Any) -> bool:
    """Whether PyTorch takes an array's channels to be last in memory, by its strides, those of length 1 included."""
    if raw.ndim not in (4, 5):
        return False
    least = 0
    for dim in (1, *range(raw.ndim - 1, 1, -1), 0):
        stride = raw.strides[dim]
        if raw.shape[dim] == 0 or stride < least or (dim == 0 and least == raw.strides[1]):
            return False
        least = stride * raw.shape[dim] if raw.shape[dim] > 1 else stride
    return True


def _channels_last(result: Any, first: Any) -> Any:
    if not is_channels_last(first):
        return result
    if isinstance(result, tuple):
        return (*(_channels_last(r, first) for r in result),)
    if result.ndim != first.ndim:
        return result
    inner = (0, *range(2, result.ndim), 1)
    return result.transpose(inner).copy("C").transpose(0, result.ndim - 1, *range(1, result.ndim - 1))


def _rows(raw: Any) -> Any:
    return raw if raw.ndim < 2 or raw.flags.c_contiguous else raw.copy("C")


def _like(result: Any, first: Any) -> Any:
    if isinstance(result, tuple):
        return (*(_like(r, first) for r in result),)
    if first.ndim < 2 or first.flags.c_contiguous or result.shape != first.shape:
        return result
    made = empty_as(first, result.dtype)
    if made.strides == result.strides:
        return result
    made[...] = result
    return made


def empty_as(raw: Any, dtype: Any) -> Any:
    """New memory without gaps, its dimensions in the order in which they follow each other in `raw`."""
    if raw.ndim < 2 or raw.flags.c_contiguous:
        return np.empty(raw.shape, dtype)
    order = slowest_first(raw)
    return np.empty([raw.shape[d] for d in order], dtype).transpose(np.argsort(order))


def settled(raw: Any, *operands: Any) -> Any:
    """`raw` as PyTorch lays out what comes of several arrays: where their orders differ, the first one that tells decides.

    NumPy goes row by row then.
    """
    shape = raw.shape
    telling = [x for x in operands if x is not None and x.ndim and any(x.strides)]
    if not telling or (telling[0].shape == shape and telling[0].flags.c_contiguous):
        return raw
    aligned = [x if x.shape == shape else np.broadcast_to(x, shape) for x in telling]
    order = slowest_first(*aligned)
    if order == list(range(raw.ndim)) or not raw.size:
        return raw
    made = np.empty([shape[d] for d in order], raw.dtype).transpose(np.argsort(order))
    if made.strides == raw.strides:
        return raw
    made[...] = raw
    return made


def slowest_first(*raws: Any) -> list[int]:
    """The dimensions by falling stride; those that do not move stay where they are."""
    rank = raws[0].ndim
    order = list(range(rank))
    for i in range(rank - 2, -1, -1):
        here = i
        for there in range(i + 1, rank):
            told = (_wrong(raw, order[here], order[there]) for raw in raws)
            swap = next((found for found in told if found is not None), None)
            if swap is None:
                continue
            if not swap:
                break
            order[here], order[there] = order[there], order[here]
            here = there
    return order


def _wrong(raw: Any, outer: int, inner: int) -> bool | None:
    """Whether `inner` should come before `outer`; None where their strides do not tell."""
    a, b = raw.strides[outer], raw.strides[inner]
    if a == 0 or b == 0:
        return None
    if a != b:
        return bool(a < b)
    return True if raw.shape[inner] > raw.shape[outer] else None
