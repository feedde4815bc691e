"""PyTorch's errors for indices that do not fit."""

from __future__ import annotations

import functools

import numpy as np

from ..._arrays.backends import ELSEWHERE
from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.base import dtypes
from ..._core.base.errors import refused
from ..._core.tape.tensor import Tensor
from ..._kernels.elements.indexing import all_below

Sizes = tuple[int, ...]
_KINDS = (np.dtype(np.int64), np.dtype(np.int32))


def check_index(name: str, index: Tensor) -> None:
    """Raise PyTorch's error for an index that is no vector."""
    if index.ndim > 1:
        raise refused(IndexError, f"{name}: Index is supposed to be a vector")


def slices(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Raise PyTorch's errors for slices of `source` that do not fit those of `input` that a vector names."""
    i, s = index._ag_raw, source._ag_raw
    if i.ndim > 1:
        shown = f"dim: {i.ndim} with type: {dtypes.cpp_name(i.dtype)} and size: {list(i.shape)}"
        raise refused(IndexError, f"{name}: Index is supposed to be a vector, but got {shown}")
    if i.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}: Expected dtype int32/int64 for index but got: {dtypes.cpp_name(i.dtype)}")
    if s.dtype != input._ag_raw.dtype:
        kinds = [dtypes.cpp_name(x._ag_raw.dtype) for x in (input, source)]
        raise RuntimeError(f"{name}: self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    if dim and dim >= s.ndim:
        raise RuntimeError(f"{name}: Indexing dim {dim} is out of bounds of the source tensor with dim {s.ndim}")
    n = s.shape[dim] if s.ndim else 1
    if i.size != n:
        raise RuntimeError(
            f"{name}: Number of indices ({i.size}) should be equal to source.size(dim): ({n}), for dim: {dim}"
        )
    mine, theirs = input._ag_raw.shape, s.shape
    if mine and theirs:
        mine, theirs = mine[:dim] + mine[dim + 1 :], theirs[:dim] + theirs[dim + 1 :]
    if mine != theirs:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input._ag_raw.shape)} source.shape = {list(s.shape)}"
        )


def along(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    """Raise PyTorch's errors for an index (and a source) that do not fit `gather` or `scatter` along `dim`."""
    i, a = index._ag_raw, input._ag_raw
    if i.dtype not in _KINDS and i.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src._ag_raw.dtype != a.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if not i.size:
        return
    if max(i.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {'self' if src is not None else 'input'} tensor"
        )
    if src is not None and max(i.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if not _is_inside(i.shape, a.shape, dim, None if src is None else src._ag_raw.shape):
        raise RuntimeError(_too_large(name, input, dim, index, src))
    within(input, dim, index, RuntimeError)


OUT_OF_BOUNDS = "index {index} is out of bounds for dimension {dim} with size {n}"
OUT_OF_RANGE = "index out of range in self"


def within(
    input: Tensor, dim: int, index: Tensor, kind: type[Exception], text: str = OUT_OF_BOUNDS, *, from_end: bool = False
) -> None:
    """Raise an error with this text for the first position that `input` has not along `dim`; some are counted from the
    end."""
    a, i = input._ag_raw, whole(index._ag_raw)
    n = a.shape[dim] if a.ndim else 1
    if not i.size or (i.__class__ is np.ndarray and all_below(i, n)):
        return
    low = -n if from_end else 0
    if i.__class__ in ELSEWHERE or not readable(i) or (i.min() >= low and i.max() < n):
        return
    wrong = i[(i < low) | (i >= n)].flat[0]
    raise refused(kind, text.format(index=wrong, dim=dim, n=n))


def within_select(input: Tensor, dim: int, index: Tensor) -> None:
    """Raise PyTorch's errors for slices that `index_select` cannot find, which it does in two ways."""
    a = input._ag_raw
    if a.ndim < 2 or (dim != 1 and a.size):
        return within(input, dim, index, IndexError, OUT_OF_RANGE)
    if a.shape[dim] == 0 and index._ag_raw.size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    return within(input, dim, index, RuntimeError, "INDICES element is out of DATA bounds, id={index} axis_dim={n}")


@functools.lru_cache(maxsize=256)
def _is_inside(shape: Sizes, of: Sizes, dim: int, src: Sizes | None) -> bool:
    """Return whether an index of `shape` is no larger than what it reads, but along `dim`, and than what is written."""
    read = all(n <= m for d, (n, m) in enumerate(zip(shape, of, strict=False)) if d != dim)
    return read and (src is None or all(n <= m for n, m in zip(shape, src or (1,), strict=False)))


def _too_large(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None) -> str:
    shape, mine = list(index._ag_raw.shape), list(input._ag_raw.shape)
    if src is not None:
        return (
            f"Expected index {shape} to be no larger than self {mine} apart from dimension {dim} and to be no larger "
            f"size than src {list(src._ag_raw.shape)}"
        )
    if name == "gather":
        d = next(d for d, (n, m) in enumerate(zip(shape, mine, strict=True)) if d != dim and n > m)
        return (
            f"Size does not match at dimension {d} expected index {shape} to be no larger than self {mine} apart "
            f"from dimension {dim}"
        )
    return f"Expected index {shape} to be no larger than self {mine} apart from dimension {dim}"
