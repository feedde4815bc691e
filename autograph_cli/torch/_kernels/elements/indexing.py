"""Elements by their positions: index, put, gather, scatter."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..._arrays.storages import empty_strided
from ..._core.base.errors import refused
from ..._core.base.memory_format import strides_of
from ..half_precision import widened
from ..variants import chosen

_FEW = 128
"""Elements for which it does not pay to work out where each is."""
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


@chosen
def all_below(index: Array, n: int) -> bool:
    """Return whether all integers of an array of NumPy's are from 0 to n - 1: read without their signs, negative ones
    are too large."""
    return bool(np.maximum.reduce(index.view(_UNSIGNED[index.itemsize]), axis=None) < n)


@functools.lru_cache(maxsize=16)
def _lines(shape: tuple[int, ...], index: tuple[int, ...], dim: int) -> tuple[Any, Any]:
    """Return where in memory each line along `dim` begins that an index of this shape goes along, and the step along
    it."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    begins: Any = np.zeros((1,) * len(shape), np.intp)
    for d, (n, step) in enumerate(zip(index, steps, strict=True)):
        if d != dim:
            begins = begins + (np.arange(n) * step).reshape(-1, *[1] * (len(shape) - d - 1))
    return begins, np.intp(steps[dim])


def _lie(a: Array, index: Array, dim: int) -> Any:
    """Return where in the memory of `a`, which is row by row, the elements are that an index along `dim` names."""
    begins, step = _lines(a.shape, index.shape, dim % a.ndim)
    return (index if step == 1 else index * step) + begins


class Indexing:
    """Kernels that read and write by index."""

    xp: Any
    chosen: Any
    held: Any
    cast: Any

    def index(self, a: Array, indices: Array) -> Any:
        try:
            rows = len(indices) == 1 and a.__class__ is np.ndarray and a.flags.c_contiguous
            if rows and indices[0].dtype.kind == "i":
                return a.take(indices[0], 0)  # half the time of brackets
            result = a[self._whole(indices)]
        except IndexError:
            if (unread := self._unread(a, indices)) is not None:
                return self.index(a, unread)
            raise self._index_error(a, indices) from None
        strides = [step for n, step in zip(a.shape, a.strides, strict=True) if n != 1]
        if result.ndim < 2 or any(map(operator.lt, strides, strides[1:])):
            return result
        return result.ravel().reshape(result.shape)

    def _whole(self, indices: Array) -> Any:
        return tuple(slice(None) if i is None else i for i in indices)

    def _unread(self, a: Array, indices: Array) -> Any:
        """Return positions within bounds in place of others, where they name no element, so that PyTorch reads none;
        None elsewhere."""
        if a.size or len(indices) > a.ndim:
            return None
        given = [(p, n) for p, n in zip(indices, a.shape, strict=False) if p is not None and p.size]
        if not all(n for _, n in given) or all(((p >= -n) & (p < n)).all() for p, n in given):
            return None
        return [None if p is None else p * 0 for p in indices]

    def _index_error(self, a: Array, indices: Array) -> IndexError:
        """Return what is wrong with indices that the backend refused."""
        shapes = [i.shape for i in indices if i is not None]
        try:
            many_dims.broadcast_shapes(*shapes)
        except ValueError:
            shown = ", ".join(str(list(s)) for s in shapes)
            return refused(
                IndexError, f"shape mismatch: indexing tensors could not be broadcast together with shapes {shown}"
            )
        if any(p is not None and p.size and not n for p, n in zip(indices, a.shape, strict=False)):
            return refused(IndexError, "index is out of bounds for dimension with size 0")
        for dim, (positions, n) in enumerate(zip(indices, a.shape, strict=False)):
            wrong = [] if positions is None else positions[(positions < -n) | (positions >= n)].ravel().tolist()
            if wrong:
                return refused(IndexError, f"index {wrong[0]} is out of bounds for dimension {dim} with size {n}")
        return refused(IndexError, f"too many indices for tensor of dimension {a.ndim}")

    def index_put(self, a: Array, indices: Array, values: Any, accumulate: bool = False) -> Any:
        return self._values_at(a.copy(), a, indices, values, accumulate)

    def index_put_in_memory(self, a: Array, indices: Array, values: Any, accumulate: bool = False) -> Any:
        """The same in a copy of the memory under `a`, where one position may stand for several elements."""
        out = empty_strided(a.shape, strides_of(a), a.dtype)
        out[...] = a
        return self._values_at(out, a, indices, values, accumulate)

    def _values_at(self, out: Any, a: Array, indices: Array, values: Any, accumulate: bool) -> Any:
        positions = self._whole(indices)
        try:
            if values.size > 1 and values.shape[0] == 1 and values.ndim > a[positions].ndim:
                raise ValueError
            if accumulate:
                self.added_at(out, positions, values)
            else:
                out[positions] = values
        except IndexError:
            if (unread := self._unread(a, indices)) is not None:
                return self._values_at(out, a, unread, values, accumulate)
            raise self._index_error(a, indices) from None
        except ValueError:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
                f"shape {list(a[positions].shape)}"
            ) from None
        return out

    index_put_impl = index_put

    def gather(self, a: Array, dim: int, index: Any) -> Any:
        if not index.size:
            return self.xp.empty(index.shape, a.dtype)
        row, along = self._row(a), self._row(index)
        lie = self._places(row, along, dim)
        found = row[self._indices_along(along, dim)] if lie is None else row.reshape(-1).take(lie)
        return found if index.ndim else found[0]

    def _places(self, a: Array, index: Array, dim: int) -> Any:
        """Return where in the memory of `a` the elements are that an index along `dim` names; None where that is not
        simple."""
        if a.__class__ is not np.ndarray or not a.flags.c_contiguous or index.dtype.kind != "i":
            return None
        if not all_below(index, a.shape[dim]):
            return None
        return _lie(a, index, dim)

    def picked(self, a: Array, positions: Any, dim: int) -> Any:
        """The elements at positions along `dim`, which are known to be within bounds."""
        if a.__class__ is np.ndarray and a.flags.c_contiguous:
            return a.reshape(-1).take(_lie(a, positions, dim))
        return a[self._indices_along(positions, dim)]

    def added_at(self, out: Any, positions: Any, values: Any) -> None:
        """`out[positions] += values`, also where positions repeat: many times faster in one dimension than in
        several."""
        several = out.ndim > 1 and values.dtype == out.dtype
        lie = self._positions(out, positions, values.size) if several else None
        if lie is None:
            many_dims.at(self.xp.add, out, positions, values)
            return
        lead = [n for p, n in zip(positions, out.shape, strict=False) if p.__class__ is slice]
        rest = positions[len(lead) :]
        there = rest[0].shape if len(rest) == 1 else many_dims.broadcast_shapes(*(p.shape for p in rest))
        shape = (*lead, *there, *out.shape[len(positions) :])
        every = values if values.shape == shape else self.xp.broadcast_to(values, shape)
        self.xp.add.at(out.reshape(-1), lie.reshape(-1), every.reshape(-1))

    def _positions(self, a: Array, positions: Any, count: int) -> Any:
        """Return where what `a[positions]` reads is in the memory of `a`, with all its elements last; None where that
        is not simple."""
        lead = sum(1 for p in positions if p.__class__ is slice)
        rest = positions[lead:]
        if count < _FEW or a.__class__ is not np.ndarray or not a.flags.c_contiguous or (lead and len(rest) != 1):
            return None
        tail = math.prod(a.shape[len(positions) :])
        lie: Any = 0
        step = tail
        for p, n in zip(reversed(rest), a.shape[lead : len(positions)][::-1], strict=True):
            if p.__class__ is not np.ndarray or p.dtype.kind not in "iu" or not p.size:
                return None
            if not all_below(p, n):
                if p.min() < -n or p.max() >= n:
                    return None
                p = p % n
            p = p.astype(np.intp, copy=False)
            lie, step = lie + (p if step == 1 else p * step), step * n
        if tail > 1:
            lie = lie[..., None] + self.xp.arange(tail)
        if lead:
            before = math.prod(a.shape[:lead])
            lie = self.xp.arange(before).reshape(-1, *[1] * lie.ndim) * step + lie
        return lie

    def _row(self, a: Array) -> Any:
        """A number as a row of one."""
        return a if a.ndim else self.xp.reshape(a, (1,))

    def _indices_along(self, index: Any, dim: int) -> Any:
        last = index.ndim - 1
        lines = [self.xp.arange(n).reshape(-1, *[1] * (last - d)) for d, n in enumerate(index.shape)]
        lines[dim] = index
        return tuple(lines)

    def _written(self, a: Array, dim: int, index: Any, src: Array, write: Any) -> Any:
        """A copy of `a`, changed by `write(copy, positions, values)`."""
        if not index.size:
            return a.copy()
        index = index.copy()  # NumPy checks positions before it writes, and another thread may change them
        out = self._row(a.copy())
        index = self._row(index)
        values = src
        if getattr(src, "ndim", 0) and src.shape != index.shape:
            values = src[tuple([slice(n) for n in index.shape])]
        lie = self._places(out, index, dim)
        if lie is None:
            write(out, self._indices_along(index, dim), values)
        else:
            write(out.reshape(-1), (lie.reshape(-1),), values.reshape(-1) if getattr(values, "ndim", 0) else values)
        return out if a.ndim else out[0]

    def _put(self, out: Any, positions: Any, values: Any) -> None:
        lie = self._positions(out, positions, getattr(values, "size", 0)) if out.ndim > 1 else None
        if lie is None or lie.shape != values.shape:
            out[positions] = values
        else:
            out.reshape(-1)[lie.reshape(-1)] = values.reshape(-1)

    def scatter_src(self, a: Array, dim: int, index: Any, src: Array) -> Any:
        return self._written(a, dim, index, src, self._put)

    def scatter_value(self, a: Array, dim: int, index: Any, value: Any) -> Any:
        return self.scatter_src(a, dim, index, self.held(value, a))

    @widened
    def scatter_add(self, a: Array, dim: int, index: Any, src: Array) -> Any:
        return self._written(a, dim, index, src, self.added_at)

    _ufuncs = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}

    def _reduce_into(self, out: Any, positions: Any, values: Any, reduce: str, include_self: bool) -> None:
        if not include_self:
            start = {"prod": 1, "amax": self._lowest(out), "amin": self._highest(out)}.get(reduce, 0)
            out[positions] = start
        many_dims.at(getattr(self.xp, self._ufuncs[reduce]), out, positions, values)
        if reduce == "mean":
            counts = self.xp.ones(out.shape, "int64")
            if not include_self:
                counts[positions] = 0
            many_dims.at(self.xp.add, counts, positions, 1)
            counts = self.xp.maximum(counts, 1)
            out[...] = out / counts if out.dtype.kind not in "iu" else out // counts

    def _lowest(self, a: Array) -> Any:
        return self.xp.iinfo(a.dtype).min if a.dtype.kind in "iu" else False if a.dtype.kind == "b" else -self.xp.inf

    def _highest(self, a: Array) -> Any:
        return self.xp.iinfo(a.dtype).max if a.dtype.kind in "iu" else True if a.dtype.kind == "b" else self.xp.inf

    def scatter_reduce_two(
        self, a: Array, dim: int, index: Any, src: Array, reduce: str, include_self: bool = True
    ) -> Any:
        return self._written(a, dim, index, src, lambda out, at, x: self._reduce_into(out, at, x, reduce, include_self))

    def scatter_reduce(self, a: Array, dim: int, index: Any, src: Any, reduce: str) -> Any:
        return self.scatter_reduce_two(a, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])

    def _slices(self, a: Array, dim: int, index: Any, source: Any, write: Any) -> Any:
        """A copy of `a`, whose slices that `index` names are changed."""
        if not a.size:
            return a.copy()
        out = self._row(a.copy())
        index = self._row(index)
        write(out, (slice(None),) * dim + (index,), source)
        return out if a.ndim else out[0]

    def index_select(self, a: Array, dim: int, index: Any) -> Any:
        return self.xp.take(a, self._row(index), axis=dim) if a.ndim else a

    def index_add(self, a: Array, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
        source = source if alpha == 1 else source * source.dtype.type(alpha)
        return self._slices(a, dim, index, self._broad(a, dim, index, source), self.added_at)

    def _broad(self, a: Array, dim: int, index: Any, source: Any) -> Any:
        """A source of no dimension stands for one slice."""
        return (
            source
            if source.ndim or a.ndim < 2
            else self.xp.broadcast_to(source, (*a.shape[:dim], 1, *a.shape[dim + 1 :]))
        )

    def index_fill_int_Scalar(self, a: Array, dim: int, index: Any, value: Any) -> Any:
        return self.index_fill_int_Tensor(a, dim, index, self.held(value, a))

    def index_fill_int_Tensor(self, a: Array, dim: int, index: Any, value: Any) -> Any:
        return self._slices(a, dim, index, value, self._put)

    def index_copy(self, a: Array, dim: int, index: Any, source: Any) -> Any:
        return self._slices(a, dim, index, source, self._put)

    def index_reduce(self, a: Array, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
        return self._slices(
            a, dim, index, source, lambda out, at, x: self._reduce_into(out, at, x, reduce, include_self)
        )

    def distinct(self, index: Any) -> Any:
        return self.xp.unique(index)

    def take(self, a: Array, index: Any) -> Any:
        found = a.reshape(-1)[index]
        return found if found.ndim < 2 else self.xp.ascontiguousarray(found)

    def put(self, a: Array, index: Any, source: Any, accumulate: bool = False) -> Any:
        out = a.copy().reshape(-1)
        if accumulate:
            self.xp.add.at(out, self.xp.reshape(index, (-1,)), self.xp.reshape(source, (-1,)))
        else:
            out[self.xp.reshape(index, (-1,))] = self.xp.reshape(source, (-1,))
        return out.reshape(a.shape)[()]

    def clipped(self, a: Array, indices: Array) -> Any:
        """Indices inside of `a`: whatever they read beyond it is masked."""
        return [None if i is None else self.xp.clip(i, -n, n - 1) for i, n in zip(indices, a.shape, strict=False)]

    def _unsafe_masked_index(self, a: Array, mask: Array, indices: Array, fill: Any) -> Any:
        return self.xp.where(mask, self.index(a, self.clipped(a, indices)), a.dtype.type(fill))[()]

    def _unsafe_masked_index_put_accumulate(self, a: Array, mask: Array, indices: Array, values: Any) -> Any:
        kept = self.xp.where(mask, values, values.dtype.type(0))
        return self.index_put(a, self.clipped(a, indices), kept, True)

    def copy(self, a: Array, src: Array) -> Any:
        made = src if src.dtype == a.dtype else self.cast(src, a.dtype)
        return made if made.shape == a.shape else self.xp.broadcast_to(made, a.shape)

    def copied(self, grad: Array, sizes: Any, dtype: Any) -> Any:
        return grad

    def fill_Scalar(self, a: Array, value: Any) -> Any:
        return self.xp.full(a.shape, self.held(value, a), a.dtype)

    def fill_Tensor(self, a: Array, value: Any) -> Any:
        return self.xp.full(a.shape, value, a.dtype)

    def masked_fill_Scalar(self, a: Array, mask: Array, value: Any) -> Any:
        return self.chosen(mask, self.held(value, a), a)

    def masked_fill_Tensor(self, a: Array, mask: Array, value: Any) -> Any:
        return self.xp.where(mask, value.astype(a.dtype), a)[()]

    def masked_select(self, a: Array, mask: Array) -> Any:
        a, mask = many_dims.broadcast_arrays(self.xp, a, mask)
        return a[mask]

    def masked_scatter(self, a: Array, mask: Array, source: Any) -> Any:
        a, mask = many_dims.broadcast_arrays(self.xp, a, mask)
        out = a.copy()
        count = int(mask.sum())
        if count > source.size:
            raise RuntimeError("Number of elements of source < number of ones in mask")
        out[mask] = source.reshape(-1)[:count]
        return out

    def masked_scatter_backward(self, grad: Array, mask: Array, sizes: Any) -> Any:
        return self.padded(self.masked_select(grad, mask), sizes)

    def padded(self, values: Any, sizes: Any) -> Any:
        out = self.xp.zeros(sizes, values.dtype)
        out.reshape(-1)[: values.size] = values
        return out

    def nonzero(self, a: Array) -> Any:
        kept = (a if a.ndim else a.reshape(1)) != 0  # NumPy counts before it writes, and another thread may change `a`
        positions = kept.nonzero()
        if not a.ndim:
            return self.xp.zeros((len(positions[0]), 0), "int64")
        return self.xp.concatenate([p[None] for p in positions]).T
