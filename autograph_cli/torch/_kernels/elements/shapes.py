"""Shapes: views, joins, copies in another order."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..._arrays.storages import as_strided_raw, in_shape, spanned, strided
from ..._core.base.dtypes import result_dtype
from ..reducing.selection import follows, largest_few, ordered, ranks, rejoined

MANY = 1 << 10
"""Elements from which the largest few are found without sorting all."""


def corners(shapes: Any) -> Any:
    """Yield where each block stands: first row, first column, rows, columns."""
    row = column = 0
    for shape in shapes:
        n, m = shape if len(shape) == 2 else (1, math.prod(shape))
        yield row, column, n, m
        row, column = row + n, column + m


def copy_of_view(kernel: str) -> Callable[..., Any]:
    """A kernel that copies what another one sees."""

    def run(f: Any, a: Array, *arguments: Any) -> Any:
        found = getattr(f, kernel)(f.xp.asarray(a), *arguments)
        return [x.copy("C") for x in found] if isinstance(found, (list, tuple)) else found.copy("C")[()]

    return run


KEPT = 1 << 14
"""Elements of a mask that is kept."""


@functools.lru_cache(maxsize=64)
def triangle(rows: int, columns: int, diagonal: int) -> Any:
    """Return where the elements of a matrix are on a diagonal or below."""
    return np.arange(diagonal, rows + diagonal)[:, None] >= np.arange(columns)


@functools.lru_cache(maxsize=1 << 12)
def _repeated(shape: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array that is repeated to a size: 0 along new dimensions and those of length 1."""
    lead = len(size) - len(shape)
    own = [s if n == m else 0 for s, n, m in zip(strides, shape, size[lead:], strict=True)]
    return (*[0] * lead, *own)


@functools.lru_cache(maxsize=1 << 10)
def _parts(length: int, size: int, dim: int) -> tuple[Any, ...]:
    """The indices of the parts, each of `size`, that a dimension is split into."""
    starts = range(0, length, size) if size and length else [0]
    return tuple([(*(slice(None),) * dim, slice(i, i + (size or length))) for i in starts])


class Shapes:
    """Kernels that move elements without computing."""

    xp: Any
    picked: Any
    placed: Any
    sum: Any

    def view(self, a: Array, size: Any) -> Any:
        try:
            return in_shape(a, tuple(size))
        except (AttributeError, ValueError):
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous subspaces). Use .reshape(...) instead."
            ) from None

    def reshape(self, a: Array, size: Any) -> Any:
        return a.reshape(size)

    def expand(self, a: Array, size: Any) -> Any:
        size = tuple(size)
        if a.__class__ is np.ndarray and a.shape == size:
            return a.view()
        if isinstance(a, np.generic):
            a = self.xp.asarray(a)
        strides = _repeated(a.shape, a.strides, size)
        if a.__class__ is np.ndarray and a.flags.c_contiguous:
            # The constructor takes a fraction of the time of as_strided.
            return np.ndarray(size, a.dtype, a, 0, strides)
        return strided(a, size, strides)

    def permute(self, a: Array, dims: Any) -> Any:
        return a.transpose(dims)

    def transpose(self, a: Array, dim0: int, dim1: int) -> Any:
        return a.swapaxes(dim0, dim1) if a.ndim else a.view()

    def t(self, a: Array) -> Any:
        return a.T

    def unsqueeze(self, a: Array, dim: int) -> Any:
        shape = a.shape
        if 1 not in shape and a.__class__ is self.xp.ndarray and (dim < len(shape) or a.flags.c_contiguous):
            # `reshape` gives the new dimension the stride that PyTorch gives it; an index gives it none, but leaves the
            # others alone.
            return a.reshape((*shape[:dim], 1, *shape[dim:]))
        return a[(slice(None),) * dim + (None, ...)]

    def unsqueeze_in_place(self, a: Array, dim: int) -> Any:
        return self.unsqueeze(a, dim)

    def squeeze(self, a: Array) -> Any:
        return a.squeeze() if a.ndim else a.view()

    def squeeze_dim(self, a: Array, dim: int) -> Any:
        return a.squeeze(dim) if a.ndim and a.shape[dim] == 1 else a.view()

    def squeeze_dims(self, a: Array, dim: Any) -> Any:
        return a.squeeze(tuple(d for d in dim if a.shape[d] == 1)) if a.ndim else a.view()

    def sum_to_size(self, grad: Array, sizes: Any) -> Any:
        lead = grad.ndim - len(sizes)
        axes = (*range(lead), *(i + lead for i, n in enumerate(sizes) if n == 1 and grad.shape[i + lead] != 1))
        return self.sum(grad, axes).reshape(sizes)

    def select_backward(self, grad: Array, sizes: Any, dim: int, index: int) -> Any:
        out = self.xp.zeros(sizes, grad.dtype)
        out[(slice(None),) * dim + (index,)] = grad
        return out

    def slice_backward(self, grad: Array, sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
        out = self.xp.zeros(sizes, grad.dtype)
        out[(slice(None),) * dim + (slice(start, end, step),)] = grad
        return out

    def diagonal(self, a: Array, offset: int, dim1: int, dim2: int) -> Any:
        window = a.diagonal(max(-a.shape[dim1], min(offset, a.shape[dim2])), dim1, dim2)
        if window.__class__ is np.ndarray:
            window.flags.writeable = a.flags.writeable
        return window

    def diagonal_backward(self, grad: Array, sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
        out = self.xp.zeros(sizes, grad.dtype)
        self.diagonal(out, offset, dim1, dim2)[...] = grad
        return out

    def as_strided_backward(self, grad: Array, size: Any, stride: Any, offset: Any, sizes: Any, strides: Any) -> Any:
        # The window may be before the input or reach beyond it.
        before, offset = max(-(offset or 0), 0), max(offset or 0, 0)
        reach = max(spanned(sizes, strides, before), spanned(size, stride, offset))
        memory = self.xp.zeros(reach, grad.dtype)
        positions = as_strided_raw(self.xp.arange(reach), tuple(size), tuple(stride), offset)
        if len(set(positions.ravel().tolist())) == positions.size:
            memory[positions] = grad
        else:
            many_dims.at(self.xp.add, memory, (positions,), grad)
        return as_strided_raw(memory, tuple(sizes), tuple(strides), before)

    def select(self, a: Array, dim: int, index: int) -> Any:
        return a[(slice(None),) * dim + (index, ...)]

    def slice(self, a: Array, dim: int, start: int, end: int, step: int) -> Any:
        return a[(slice(None),) * dim + (slice(start, end, step), ...)]

    def as_strided(self, a: Array, size: Any, stride: Any, offset: Any) -> Any:
        return as_strided_raw(a, tuple(size), tuple(stride), offset or 0)

    def reshape_alias(self, a: Array, size: Any, stride: Any) -> Any:
        """A window; `reshape` asks for the strides that the array has in that shape anyway."""
        if a.__class__ is np.ndarray:
            try:
                result = in_shape(a, tuple(size))
            except (AttributeError, ValueError):
                return self.as_strided(a, size, stride, 0)
            if result.strides == tuple([s * a.itemsize for s in stride]):
                return result
        return self.as_strided(a, size, stride, 0)

    def alias(self, a: Array) -> Any:
        return a.view()

    def contiguous(self, a: Array) -> Any:
        return self.xp.ascontiguousarray(a) if a.ndim else a

    def cat(self, arrays: Any, dim: int = 0) -> Any:
        full = [a for a in arrays if a.shape != (0,)] or arrays
        return _row_major(self.xp.concatenate(self.alike(full, arrays), axis=dim))

    def stack(self, arrays: Any, dim: int = 0) -> Any:
        new = (slice(None),) * dim + (None,)
        return _row_major(self.xp.concatenate([a[new] for a in self.alike(arrays, arrays)], axis=dim))

    def alike(self, arrays: Any, known: Any) -> Any:
        """Arrays in the common dtype of all that are `known`."""
        kind = known[0].dtype
        if not [a for a in known if a.dtype is not kind]:
            return arrays
        common = result_dtype(*known)
        return [a.astype(common) for a in arrays]

    def flip(self, a: Array, dims: Any) -> Any:
        back = slice(None, None, -1)
        return a[tuple([back if d in dims else slice(None) for d in range(a.ndim)])].copy() if a.ndim else a.copy()

    def split(self, a: Array, split_size: int, dim: int) -> Any:
        return [a[part] for part in _parts(a.shape[dim], split_size, dim)]

    def split_with_sizes(self, a: Array, split_sizes: Any, dim: int) -> Any:
        ends = [sum(split_sizes[: i + 1]) for i in range(len(split_sizes))]
        return [self.slice(a, dim, end - n, end, 1) for n, end in zip(split_sizes, ends, strict=True)]

    def unsafe_split(self, a: Array, split_size: int, dim: int) -> Any:
        return [part.copy() for part in self.split(a, split_size, dim)]

    def unsafe_split_with_sizes(self, a: Array, split_sizes: Any, dim: int) -> Any:
        return [part.copy() for part in self.split_with_sizes(a, split_sizes, dim)]

    def block_diag(self, arrays: Any) -> Any:
        blocks = list(corners(a.shape for a in arrays))
        row, column, n, m = blocks[-1]
        out = self.xp.zeros((row + n, column + m), result_dtype(*arrays))
        for a, (row, column, n, m) in zip(arrays, blocks, strict=True):
            out[row : row + n, column : column + m] = a
        return out

    def narrow_copy(self, a: Array, dim: int, start: int, length: int) -> Any:
        return self.slice(a, dim, start, start + length, 1).copy()

    def unbind(self, a: Array, dim: int) -> Any:
        before = (slice(None),) * dim
        return [a[(*before, i, ...)] for i in range(a.shape[dim])]

    def windows(self, a: Array, dim: int, size: int, step: int) -> Any:
        """Windows along a dimension, as a new last one."""
        if a.ndim == 0:
            return self.xp.reshape(a, (1,))[:size]
        count = (a.shape[dim] - size) // step + 1
        shape = (*a.shape[:dim], count, *a.shape[dim + 1 :], size)
        strides = (*a.strides[:dim], a.strides[dim] * step, *a.strides[dim + 1 :], a.strides[dim])
        if a.__class__ is np.ndarray and a.flags.c_contiguous:
            return np.ndarray(shape, a.dtype, a, 0, strides)
        return strided(a, shape, strides)

    def unfold_backward(self, grad: Array, sizes: Any, dim: int, size: int, step: int) -> Any:
        if not sizes:
            return grad.reshape(())[()]
        out = self.xp.zeros(sizes, grad.dtype)
        if size <= step:
            self.windows(out, dim, size, step)[...] = grad
            return out
        for i in range(size):
            reach = i + (grad.shape[dim] - 1) * step + 1
            self.slice(out, dim, i, reach, step)[...] += grad[..., i]
        return out

    def _with_window(self, a: Array, src: Array, window: Any) -> Any:
        """A copy of `a`, with `src` where `window` looks."""
        out = self.xp.array(a)
        part = window(out)
        if part.shape != src.shape:
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
                f"{list(part.shape)}"
            )
        part[...] = src
        return out

    def slice_scatter(self, a: Array, src: Array, *window: Any) -> Any:
        return self._with_window(a, src, lambda out: self.slice(out, *window))

    def select_scatter(self, a: Array, src: Array, *window: Any) -> Any:
        return self._with_window(a, src, lambda out: self.select(out, *window))

    def diagonal_scatter(self, a: Array, src: Array, *window: Any) -> Any:
        return self._with_window(a, src, lambda out: self.diagonal(out, *window))

    def as_strided_scatter(self, a: Array, src: Array, *window: Any) -> Any:
        return self._with_window(a, src, lambda out: self.as_strided(out, *window))

    def rot90(self, a: Array, k: int, dims: Any) -> Any:
        """A plane turned by `k` quarters; an odd number of them is a transposed view of a mirrored copy."""
        if k % 2 == 0:
            return self.xp.rot90(a, k, dims).copy()
        return self.xp.swapaxes(self.xp.flip(a, dims[k % 4 == 1]).copy("K"), *dims)

    def roll(self, a: Array, shifts: Any, dims: Any) -> Any:
        if len(dims) != 1 or not a.size:
            return self.xp.roll(a, shifts, dims or None) if a.ndim else a.copy()
        (dim,), n = dims, a.shape[dims[0]]
        start = -shifts[0] % n
        return self.xp.concatenate((self.slice(a, dim, start, n, 1), self.slice(a, dim, 0, start, 1)), axis=dim)

    def tril(self, a: Array, diagonal: int = 0) -> Any:
        return self.xp.where(self.below(a.shape, diagonal), a, a.dtype.type(0))

    def triu(self, a: Array, diagonal: int = 0) -> Any:
        return self.xp.where(self.below(a.shape, diagonal - 1), a.dtype.type(0), a)

    def below(self, shape: tuple[int, ...], diagonal: int) -> Any:
        """Return where the elements of matrices are on a diagonal or below."""
        rows, columns = shape[-2:]
        made = triangle if rows * columns <= KEPT else triangle.__wrapped__
        return self.placed(made(rows, columns, diagonal))

    def repeat(self, a: Array, repeats: Any) -> Any:
        return self.xp.tile(a, repeats)

    def diagonal_copy(self, a: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        return self.diagonal(a, offset, dim1, dim2).copy()

    def diag_embed(self, a: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
        n, ndim = a.shape[-1] + abs(offset), a.ndim + 1
        first, second = sorted((dim1 % ndim, dim2 % ndim))
        sizes = list(a.shape[:-1])
        sizes.insert(first, n)
        sizes.insert(second, n)
        out = self.xp.zeros(sizes, a.dtype)
        self.diagonal(out, offset, dim1 % ndim, dim2 % ndim)[...] = a
        return out

    def sort(self, a: Array, dim: int, descending: bool) -> Any:
        if a.ndim == 0:
            return a.copy()[()], self.xp.zeros((), "int64")[()]
        keys = ordered(a)
        if descending:
            back = self.xp.flip(many_dims.along(self.xp.argsort, self.xp.flip(keys, dim), dim, kind="stable"), dim)
            positions = a.shape[dim] - 1 - back
        else:
            positions = many_dims.along(self.xp.argsort, keys, dim, kind="stable")
        return self.picked(a, positions, dim), positions.astype("int64")

    def topk(self, a: Array, k: int, dim: int, largest: bool, sorted: bool = True) -> Any:
        few = self._few_of_many(a, k, dim, largest)
        if few is not None:
            return few
        values, positions = self.sort(a, dim, largest)
        if a.ndim == 0:
            return values, positions
        if k and follows(a) and (not sorted or self._tied(values, k, dim)):
            keys = -ranks(a, dim) if largest else ranks(a, dim)
            positions = rejoined([largest_few(row, k, sorted) for row in keys.tolist()], a, dim)
            return self.picked(a, positions, dim), positions
        return self.slice(values, dim, 0, k, 1).copy(), self.slice(positions, dim, 0, k, 1).copy()

    def _tied(self, values: Any, k: int, dim: int) -> bool:
        """Return whether one of the first `k` values, which are in order, equals the next one."""
        first, second = self.slice(values, dim, 0, k, 1), self.slice(values, dim, 1, k + 1, 1)
        first = self.slice(first, dim, 0, second.shape[dim], 1)
        return bool(((first == second) | ((first != first) & (second != second))).any())

    def _few_of_many(self, a: Array, k: int, dim: int, largest: bool) -> Any:
        """`topk` by a partition, where that is worth it; None where a tie lets several answers be right that PyTorch's
        steps tell apart, or one is with an element that is left out."""
        if a.__class__ is not np.ndarray or a.dtype.kind != "f" or not 0 < 4 * k <= a.shape[dim] or a.size < MANY:
            return None
        n = a.shape[dim]
        chosen = many_dims.along(self.xp.argpartition, a, dim, n - k if largest else k - 1)
        chosen = self.slice(chosen, dim, n - k, n, 1) if largest else self.slice(chosen, dim, 0, k, 1)
        chosen.sort(dim)
        values = self.picked(a, chosen, dim)
        inside = a >= values.min(dim, keepdims=True) if largest else a <= values.max(dim, keepdims=True)
        if self.xp.count_nonzero(inside) != values.size:
            return None
        order = many_dims.along(self.xp.argsort, -values if largest else values, dim, kind="stable")
        values, chosen = self.picked(values, order, dim), self.picked(chosen, order, dim)
        if follows(a) and (self.slice(values, dim, 1, k, 1) == self.slice(values, dim, 0, k - 1, 1)).any():
            return None
        return values, chosen

    def steps(self, start: int, end: int, step: int) -> Any:
        return self.xp.arange(start, end, step)

    def zeros_of(self, size: Any, like: Any) -> Any:
        return self.xp.zeros(size, like.dtype)

    def zeros(self, size: Any, dtype: Any) -> Any:
        return self.xp.zeros(size, dtype)

    def ones(self, size: Any, dtype: Any) -> Any:
        return self.xp.ones(size, dtype)

    def full(self, size: Any, value: Any, dtype: Any) -> Any:
        return self.xp.full(size, value, dtype)

    def zeros_like(self, a: Array) -> Any:
        return self.xp.zeros(a.shape, a.dtype)[()] if a.flags.c_contiguous else self.xp.zeros_like(a)

    def ones_like(self, a: Array) -> Any:
        return self.xp.ones(a.shape, a.dtype)[()] if a.flags.c_contiguous else self.xp.ones_like(a)


def _row_major(raw: Array) -> Any:
    """Rows one after the other, as PyTorch lays out what it joins; images (4 and 5 dimensions) may keep their
    format."""
    return raw if raw.flags.c_contiguous or raw.ndim in (4, 5) else raw.copy("C")
