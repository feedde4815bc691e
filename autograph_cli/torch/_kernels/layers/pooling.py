"""Pooling: one pass over the image for each element of the window."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.meta import readable
from ..half_precision import NARROW, widened
from .lines import Line, Lines, weighted

Sizes = tuple[int, ...]
_FEW = 1 << 10
"""Windows for which one copy of all their elements costs less than a pass for each of them."""


@functools.lru_cache(maxsize=256)
def pooled_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool) -> Sizes:
    """The spatial shape that pooling gives; with `ceil`, windows may hang over the right edge."""
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        m = (span + (s - 1 if ceil else 0)) // s + 1
        out.append(m - 1 if ceil and (m - 1) * s >= n + p else m)
    return tuple(out)


@functools.lru_cache(maxsize=64)
def _frame(
    size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> list[tuple[int, int]] | None:
    """Return how many elements are added before and behind each dimension, so that every window is inside; None: there
    are enough."""
    each = zip(size, kernel, stride, padding, dilation, out, strict=True)
    frame = [(p, max((m - 1) * s + d * (k - 1) + 1 - n - p, 0)) for n, k, s, p, d, m in each]
    return frame if any(map(any, frame)) else None


@functools.lru_cache(maxsize=64)
def _windows(kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> list[Any]:
    """For each element of the window: its position, and the slices that take it from every window at once."""
    result = []
    for position in itertools.product(*map(range, kernel)):
        starts = (k * d for k, d in zip(position, dilation, strict=True))
        slices = (slice(i, i + (m - 1) * s + 1, s) for i, s, m in zip(starts, stride, out, strict=True))
        result.append((position, (..., *slices)))
    return result


@functools.lru_cache(maxsize=16)
def _inside(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> list[Any]:
    """For each element of the window: in which windows it is inside the image."""
    result = []
    for step in itertools.product(*map(range, kernel)):
        whole = np.ones(out, bool)
        for i, (n, k, s, p, d, m) in enumerate(zip(size, step, stride, padding, dilation, out, strict=True)):
            position = np.arange(m) * s - p + k * d
            whole &= ((position >= 0) & (position < n)).reshape(*[1] * i, m, *[1] * (len(out) - i - 1))
        result.append(whole)
    return result


@functools.lru_cache(maxsize=16)
def _positions(
    size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> tuple[Any, Any]:
    """Return how far each element of a window is from its first one in the flat image, and where that one is."""
    lines = [math.prod(size[i + 1 :]) for i in range(len(size))]
    shifts = [
        sum(k * d * n for k, d, n in zip(p, dilation, lines, strict=True))
        for p in itertools.product(*map(range, kernel))
    ]
    corners = np.zeros(out, "int64")
    for i, (s, p, m) in enumerate(zip(stride, padding, out, strict=True)):
        corners = corners + ((np.arange(m) * s - p) * lines[i]).reshape(*[1] * i, m, *[1] * (len(out) - i - 1))
    return np.array(shifts), corners


@functools.lru_cache(maxsize=64)
def _table(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Any:
    """The positions of each window's elements in the flat image, (windows, elements), what is outside replaced by the
    first one inside, which changes no maximum; None where a window has none inside."""
    inside = np.stack(_inside(size, kernel, stride, padding, dilation, out), -1)
    if not inside.any(-1).all():
        return None
    shifts, corners = _positions(size, kernel, stride, padding, dilation, out)
    positions = corners[..., None] + shifts
    first = np.take_along_axis(positions, inside.argmax(-1)[..., None], -1)
    return np.where(inside, positions, first).reshape(-1, len(shifts))


@functools.lru_cache(maxsize=16)
def _counts(
    dtype: Any, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: Any
) -> Any:
    """Return how many elements each window is divided by."""
    if divisor is not None:
        return dtype.type(divisor)
    total = np.ones(out, dtype)
    for i, (n, k, s, p, m) in enumerate(zip(size, kernel, stride, padding, out, strict=True)):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        total = total * (end - start).astype(dtype).reshape(*[1] * i, m, *[1] * (len(out) - i - 1))
    return total


def _bins(n: int, m: int) -> tuple[Any, Any]:
    i = np.arange(m)
    return i * n // m, -(-(i + 1) * n // m)


@functools.lru_cache(maxsize=16)
def _members(n: int, m: int) -> Any:
    """The positions in each bin, (m, longest); short bins repeat their last element."""
    start, end = _bins(n, m)
    return np.minimum(start[:, None] + np.arange(int((end - start).max()) if m else 1), end[:, None] - 1)


@functools.lru_cache(maxsize=16)
def _bin_members(size: Sizes, many: Sizes) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """For each place in a bin: the positions of the elements there, and in which bins it is inside (None: in all); and
    the lengths of the bins in each dimension."""
    members = [_members(n, m) for n, m in zip(size, many, strict=True)]
    lengths = [end - start for start, end in (_bins(n, m) for n, m in zip(size, many, strict=True))]
    laid = [length.reshape(-1, *[1] * (len(many) - i - 1)) for i, length in enumerate(lengths)]
    tables = []
    for place in itertools.product(*(range(table.shape[1]) for table in members)):
        inside = functools.reduce(np.logical_and, (k < length for k, length in zip(place, laid, strict=True)))
        indices = np.ix_(*(table[:, k] for k, table in zip(place, members, strict=True)))
        tables.append((indices, None if inside.all() else inside))
    return tables, laid


@functools.lru_cache(maxsize=16)
def _averaging(n: int, m: int, dtype: Any) -> Line:
    """The line of n elements that get their share of m averages of bins."""
    start, end = _bins(n, m)
    lengths = end - start
    bins = np.arange(m).repeat(lengths)
    position = np.arange(len(bins)) - (np.cumsum(lengths) - lengths - start)[bins]
    return weighted(position, bins, 1 / lengths[bins], n, m, dtype)


class Pooling(Lines):
    """Kernels over the last dimensions of images: (..., spatial)."""

    xp: Any
    where: Any
    number: Any
    matmul: Any
    framed: Any
    placed: Any
    may_hold_nan: Any

    def _framed(
        self, a: Array, value: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
    ) -> Any:
        """The image inside a frame of `value`, wide enough for every window."""
        lead = a.ndim - len(kernel)
        frame = _frame(a.shape[lead:], kernel, stride, padding, dilation, out)
        return a if frame is None else self.framed(a, [*[(0, 0)] * lead, *frame], value)

    def max_pool(self, a: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool) -> Any:
        """The largest element of each window, and its position in the flattened image."""
        size = a.shape[-len(kernel) :]
        out = pooled_size(size, kernel, stride, padding, dilation, ceil)
        if a.__class__ is np.ndarray and math.prod(a.shape[: -len(kernel)]) * math.prod(out) < _FEW:
            result = self._max_of_few(a, out, _table(size, kernel, stride, padding, dilation, out))
            if result is not None:
                return result
        lowest = -math.inf if a.dtype.kind not in "iub" else self.xp.iinfo(a.dtype).min
        framed = self._framed(a, lowest, kernel, stride, padding, dilation, out)
        candidates = [framed[window] for _, window in _windows(kernel, stride, dilation, out)]
        best = candidates[0].copy()
        for candidate in candidates[1:]:
            self.xp.maximum(best, candidate, out=best)
        inside = None
        if framed is not a:
            inside = [self.placed(table) for table in _inside(size, kernel, stride, padding, dilation, out)]
        shifts, corners = map(self.placed, _positions(size, kernel, stride, padding, dilation, out))
        places = self.xp.take(shifts, self._chosen(best, candidates, inside)) + corners
        whole = best.__class__ is np.ndarray and best.all()  # a GPU is not asked
        if best.dtype.kind == "f" and readable(best) and not whole:  # of zeros the first one, with its sign
            lead = best.shape[: -len(size)]
            flat = a.reshape(*lead, math.prod(size))
            best = self.xp.take_along_axis(flat, places.reshape(*lead, math.prod(out)), -1).reshape(best.shape)
        return best, places

    def _max_of_few(self, a: Array, out: Sizes, table: Any) -> Any:
        """The largest element of each window and where it is; None where what is no number may be in the way."""
        if table is None:
            return None
        lead = a.shape[: a.ndim - len(out)]
        windows = a.reshape(-1, math.prod(a.shape[len(lead) :])).take(table, 1)
        chosen = windows.argmax(-1)
        best = np.take_along_axis(windows, chosen[..., None], -1)[..., 0]
        total = np.add.reduce(best, axis=None)
        if total != total:
            return None
        places = table[np.arange(len(table)), chosen]
        return best.reshape(*lead, *out), places.reshape(*lead, *out)

    def _chosen(self, best: Any, candidates: list[Any], inside: list[Any] | None) -> Any:
        """Return which element of its window each maximum is: the first that equals it, or the last that is no number.

        Small integers and maxima instead of selections, which cost ten times as much.
        """
        many = len(candidates)
        kind = self.xp.dtype("uint8" if many < 255 else "int64").type
        code = self.xp.zeros(best.shape, kind)
        for k, candidate in enumerate(candidates):
            match = candidate == best
            match = match if inside is None else match & inside[k]
            self.xp.maximum(code, match * kind(many - k), out=code)
        code = kind(many) - code
        if best.dtype.kind in "fV" and readable(best) and self.may_hold_nan(best):
            for k, candidate in enumerate(candidates):
                code = self.xp.where(self.xp.isnan(candidate), kind(k), code)
        return code

    def contiguous_as(self, grad: Array, like: Any) -> Any:
        return self.xp.ascontiguousarray(grad)

    @widened
    def put_planes(self, grad: Array, sizes: Sizes, indices: Array, dims: int) -> Any:
        """Zeros of `sizes` with `grad` added at flat positions of each plane: the adjoint of picking."""
        plane = math.prod(sizes[-dims:])
        planes = math.prod(sizes[:-dims])
        lines = self.xp.arange(planes).reshape(-1, 1) * plane
        flat = indices.reshape(planes, math.prod(indices.shape[len(sizes) - dims :])) + lines
        total = self.xp.zeros(planes * plane, grad.dtype)
        self.xp.add.at(total, flat.ravel(), grad.ravel())
        return total.reshape(sizes)

    def max_pool2d_with_indices(
        self, a: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
    ) -> Any:
        return self.max_pool(a, kernel, stride, padding, dilation, ceil)

    max_pool3d_with_indices = max_pool2d_with_indices

    def max_pool2d_with_indices_backward(self, grad: Array, a: Array, indices: Array) -> Any:
        return self.put_planes(grad, a.shape, indices, 2)

    def max_pool3d_with_indices_backward(self, grad: Array, a: Array, indices: Array) -> Any:
        return self.put_planes(grad, a.shape, indices, 3)

    adaptive_max_pool2d_backward = fractional_max_pool2d_backward = max_pool2d_with_indices_backward
    adaptive_max_pool3d_backward = fractional_max_pool3d_backward = max_pool3d_with_indices_backward

    def max_unpool(self, a: Array, indices: Array, size: Sizes) -> Any:
        lead = a.shape[: a.ndim - len(size)]
        planes, plane = math.prod(lead), math.prod(size)
        out = self.xp.zeros((planes, plane), a.dtype)
        length = math.prod(a.shape[len(lead) :])
        out[self.xp.arange(planes).reshape(-1, 1), indices.reshape(planes, length)] = a.reshape(planes, length)
        return out.reshape(*lead, *size)

    max_unpool2d = max_unpool3d = max_unpool

    # ---------------------------------------------------------------- averages

    @widened
    def avg_pool(
        self, a: Array, kernel: Any, stride: Any, padding: Any, ceil: bool, include_pad: bool, divisor: Any
    ) -> Any:
        size, one = a.shape[-len(kernel) :], (1,) * len(kernel)
        out = pooled_size(size, kernel, stride, padding, one, ceil)
        framed = self._framed(a, 0, kernel, stride, padding, one, out)
        total: Any = None
        for _, window in _windows(kernel, stride, one, out):
            if total is None:
                total = framed[window].copy()
            else:
                total += framed[window]
        counts = self.placed(_counts(a.dtype, size, kernel, stride, padding, out, include_pad, divisor))
        if a.dtype.kind == "f" or a.dtype in NARROW:
            return total / counts
        return self.xp.sign(total) * self.xp.sign(counts) * (abs(total) // abs(counts))  # as C divides

    avg_pool2d = avg_pool3d = avg_pool

    @widened
    def avg_pool_backward(
        self, grad: Array, a: Array, kernel: Any, stride: Any, padding: Any, ceil: bool, include_pad: bool, divisor: Any
    ) -> Any:
        size, out = a.shape[-len(kernel) :], grad.shape[-len(kernel) :]
        share = grad / self.placed(_counts(grad.dtype, size, kernel, stride, padding, out, include_pad, divisor))
        return self._window_shares(share, size, kernel, stride, padding)

    def _window_shares(self, share: Any, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Any:
        """Images of a spatial `size` in which each element has the sum of the shares of its windows."""
        one, out, lead = (1,) * len(kernel), share.shape[-len(kernel) :], share.shape[: -len(kernel)]
        framed = self._framed(self.xp.zeros((*lead, *size), share.dtype), 0, kernel, stride, padding, one, out)
        for _, window in _windows(kernel, stride, one, out):
            framed[window] += share
        inside = (..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))
        return self.xp.ascontiguousarray(framed[inside])

    avg_pool2d_backward = avg_pool3d_backward = avg_pool_backward

    # ---------------------------------------------------------------- adaptive: bins of nearly equal length

    @widened
    def _adaptive_avg_pool2d(self, a: Array, size: Any) -> Any:
        """The mean of each bin: the sum of its elements in their order, over its length in each dimension."""
        tables, lengths = _bin_members(a.shape[-len(size) :], tuple(size))
        total = self.xp.zeros((*a.shape[: -len(size)], *size), a.dtype)
        for indices, inside in tables:
            part = a[(..., *map(self.placed, indices))]
            total = total + (part if inside is None else self.where(self.placed(inside), part, self.number(0, a)))
        for length in lengths:
            total = total / self.placed(length.astype(a.dtype))
        return total

    @widened
    def _adaptive_avg_pool2d_backward(self, grad: Array, a: Array) -> Any:
        return self._averaged_back(grad, a, 2)

    @widened
    def _adaptive_avg_pool3d_backward(self, grad: Array, a: Array) -> Any:
        return self._averaged_back(grad, a, 3)

    _adaptive_avg_pool3d = _adaptive_avg_pool2d

    def _averaged_back(self, grad: Array, a: Array, dims: int) -> Any:
        pairs = zip(a.shape[-dims:], grad.shape[-dims:], strict=True)
        return self.along(grad, [_averaging(n, m, grad.dtype) for n, m in pairs])

    def adaptive_max_pool2d(self, a: Array, size: Any) -> Any:
        pairs = zip(a.shape[-len(size) :], size, strict=True)
        return self.max_of_lines(a, [self.placed(_members(*pair)) for pair in pairs])

    adaptive_max_pool3d = adaptive_max_pool2d

    def max_of_lines(self, a: Array, lines: Any) -> Any:
        """The largest element of each window; `lines[d]` (windows, elements) holds its positions along dimension d."""
        dims = len(lines)
        spatial = a.shape[-dims:]
        positions = self.xp.zeros((1,) * (2 * dims), "int64")
        for i, line in enumerate(lines):
            shape = [1] * (2 * dims)
            shape[i], shape[dims + i] = line.shape[-2:]
            positions = positions + line.reshape(*line.shape[:-2], *shape) * math.prod(spatial[i + 1 :])
        out = positions.shape[-2 * dims : -dims]
        positions = positions.reshape(*positions.shape[: -2 * dims], *out, math.prod(positions.shape[-dims:]))
        flat = a.reshape(*a.shape[:-dims], math.prod(spatial))
        if positions.ndim == dims + 1:
            windows = flat[..., positions]
        else:
            lined = positions.reshape(*flat.shape[:-1], math.prod(positions.shape[flat.ndim - 1 :]))
            windows = self.xp.take_along_axis(flat, lined, -1).reshape(positions.shape)
        best = windows.argmax(-1)[..., None]
        positions = self.xp.broadcast_to(positions, windows.shape)
        return (
            self.xp.take_along_axis(windows, best, -1)[..., 0],
            self.xp.take_along_axis(positions, best, -1)[..., 0],
        )

    def fractional_max_pool2d(self, a: Array, kernel: Any, size: Any, samples: Any) -> Any:
        """Windows at pseudo-random distances; `samples` (N, C, dimensions) holds the last dimension's number first."""
        dims, lead = len(size), a.shape[: a.ndim - len(size)]
        lines = []
        for i, (n, k, m) in enumerate(zip(a.shape[-dims:], kernel, size, strict=True)):
            u = samples[..., dims - 1 - i if dims == 2 else i].reshape(-1, 1)
            step = a.dtype.type((n - k) / (m - 1)) if m > 1 else a.dtype.type(0)
            start = ((self.xp.arange(m) + u) * step).astype("int64") - (u * step).astype("int64")
            start[:, -1:] = n - k
            lines.append((start[..., None] + self.xp.arange(k)).reshape(*lead, m, k))
        return self.max_of_lines(a, lines)

    fractional_max_pool3d = fractional_max_pool2d
