"""Images at other positions: resizing by a matrix per dimension, sampling at the points of a grid."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._core.streams.generator import _multiply_add as multiply_add
from .lines import Line, weighted

Sizes = tuple[int, ...]
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, REFLECTION = 0, 2
RESIZINGS = {
    "upsample_nearest1d": "nearest",
    "upsample_nearest2d": "nearest",
    "upsample_nearest3d": "nearest",
    "_upsample_nearest_exact1d": "nearest_exact",
    "_upsample_nearest_exact2d": "nearest_exact",
    "_upsample_nearest_exact3d": "nearest_exact",
    "upsample_linear1d": "linear",
    "upsample_bilinear2d": "linear",
    "upsample_trilinear3d": "linear",
    "upsample_bicubic2d": "cubic",
    "_upsample_bilinear2d_aa": "linear_aa",
    "_upsample_bicubic2d_aa": "cubic_aa",
}
"""The operations that resize, and how each finds its weights."""


def cubic(x: Any, a: float, xp: Any) -> Any:
    """Keys' cubic kernel at distances `x`."""
    x = xp.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x < 1, near, xp.where(x < 2, far, 0.0))


def _step(n: int, m: int, corners: bool, scale: float | None) -> float:
    """Return how far apart the positions of two neighbouring results are."""
    if corners:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else n / m


@functools.lru_cache(maxsize=256)
def nearest_positions(n: int, m: int, scale: float | None, exact: bool) -> Any:
    """Return which of n elements each of m results is."""
    step = _step(n, m, False, scale)
    position = (np.arange(m) + (0.5 if exact else 0.0)) * step
    return np.minimum(np.floor(position).astype("int64"), n - 1)


def _taps(mode: str, n: int, m: int, corners: bool, scale: float | None) -> tuple[Any, Any]:
    """The positions (m, taps) that make each result, and their weights."""
    if mode.startswith("nearest"):
        return nearest_positions(n, m, scale, mode == "nearest_exact")[:, None], np.ones((m, 1))
    step, at = _step(n, m, corners, scale), np.arange(m)
    position = at * step if corners else (at + 0.5) * step - 0.5
    if mode == "linear":
        position = np.maximum(position, 0.0)
        low = np.minimum(position.astype("int64"), n - 1)
        rest = np.clip(position - low, 0.0, 1.0)
        return np.stack([low, np.minimum(low + 1, n - 1)], 1), np.stack([1 - rest, rest], 1)
    low = np.floor(position).astype("int64")
    shift = np.arange(-1, 3)
    weights = cubic((position - low)[:, None] - shift, -0.75, np)
    return np.clip(low[:, None] + shift, 0, n - 1), weights


def _smooth_matrix(mode: str, n: int, m: int, corners: bool, scale: float | None) -> Any:
    """The matrix (m, n) of a filter as wide as the results are apart, so that no element is skipped."""
    step = _step(n, m, corners, scale)
    width = max(step, 1.0)
    support = (1.0 if mode == "linear" else 2.0) * width
    center = (np.arange(m) + 0.5) * step
    first = np.maximum((center - support + 0.5).astype("int64"), 0)
    last = np.minimum((center + support + 0.5).astype("int64"), n)
    position = np.arange(n)
    distance = (position + 0.5 - center[:, None]) / width
    weights = np.maximum(1 - np.abs(distance), 0.0) if mode == "linear" else cubic(distance, -0.5, np)
    weights = np.where((position >= first[:, None]) & (position < last[:, None]), weights, 0.0)
    return weights / weights.sum(1, keepdims=True)


@functools.lru_cache(maxsize=64)
def resizing(mode: str, n: int, m: int, corners: bool, scale: float | None, dtype: Any, back: bool = False) -> Line:
    """The line of m results that n elements are resized to; `back`, that of the elements by the results."""
    if mode.endswith("_aa"):
        matrix = _smooth_matrix(mode[:-3], n, m, corners, scale)
        results, elements = np.nonzero(matrix)
        weights = matrix[results, elements]
    else:
        positions, each = _taps(mode, n, m, corners, scale)
        results, elements, weights = np.arange(m).repeat(positions.shape[1]), positions.ravel(), each.ravel()
    if back:
        return weighted(elements, results, weights, n, m, dtype)
    return weighted(results, elements, weights, m, n, dtype)


@functools.lru_cache(maxsize=256)
def _even_points(n: int, corners: bool, dtype: np.dtype[Any]) -> Any:
    """`n` points from -1 to 1, or in the middles of as many parts, rounded as PyTorch's `linspace` rounds: the gradient
    at a pixel depends on its side."""
    if n == 1:
        return np.zeros(1, dtype)
    step = float(dtype.type(2) / dtype.type(n - 1))
    up = multiply_add(np.arange(n, dtype=np.float64), step, -1.0)
    line = np.where(np.arange(n) < n // 2, up, -up[::-1]).astype(dtype)
    return line if corners else line * dtype.type(n - 1) / dtype.type(n)


class Interpolate:
    """Kernels of resizing and grid sampling; images are (N, C, ...)."""

    xp: Any
    along: Any
    placed: Any

    # ---------------------------------------------------------------- resizing

    def resize(self, mode: str, a: Array, size: Sizes, corners: bool, scales: Any) -> Any:
        dims = len(size)
        lengths = list(zip(a.shape[-dims:], size, scales, strict=True))
        if mode.startswith("nearest"):
            for back, (n, m, scale) in enumerate(reversed(lengths), 1):
                positions = self.placed(nearest_positions(n, m, scale, mode == "nearest_exact"))
                a = self.xp.take(a, positions, axis=-back)
            return a
        if a.dtype == "uint8":
            return self._resize_bytes(mode, a, lengths, corners)
        return self.along(a, [resizing(mode, n, m, corners, s, a.dtype) for n, m, s in lengths])

    def _resize_bytes(self, mode: str, a: Array, lengths: Any, corners: bool) -> Any:
        """Line by line in whole numbers, as PyTorch does: the last dimension first, bytes again in between."""
        for back, (n, m, scale) in enumerate(reversed(lengths), 1):
            if n == m:
                continue
            matrix = self.placed(resizing(mode, n, m, corners, scale, np.dtype(float)).whole(n))
            digits = next((d for d in range(22) if int(0.5 + matrix.max() * (1 << (d + 1))) >= 1 << 15), 22)
            scaled = matrix * (1 << digits)
            weights = self.xp.trunc(scaled + self.xp.where(scaled < 0, -0.5, 0.5))
            sums = self.xp.moveaxis(a, -back, -1).astype(float) @ weights.T + (1 << (digits - 1))
            made = self.xp.clip(self.xp.floor(sums / (1 << digits)), 0, 255).astype(a.dtype)
            a = self.xp.moveaxis(made, -1, -back)
        return a

    def resize_back(self, mode: str, grad: Array, sizes: Sizes, corners: bool, scales: Any) -> Any:
        dims = len(scales)
        lengths = zip(sizes[-dims:], grad.shape[-dims:], scales, strict=True)
        return self.along(grad, [resizing(mode, n, m, corners, s, grad.dtype, True) for n, m, s in lengths])

    # ---------------------------------------------------------------- grids

    def _reflected_at(self, x: Any, low: float, high: float) -> tuple[Any, Any]:
        """A coordinate mirrored into [low, high], and the sign of its slope."""
        if low == high:
            return self.xp.zeros_like(x), self.xp.zeros_like(x)
        span, sign = high - low, self.xp.where(x < low, -1.0, 1.0)
        x = self.xp.abs(x - low)
        turns = self.xp.floor(x / span)
        rest = x - turns * span
        even = turns % 2 == 0
        return self.xp.where(even, rest + low, span - rest + low), self.xp.where(even, sign, -sign)

    def _bounded(self, x: Any, n: int, padding: int, corners: bool) -> tuple[Any, Any]:
        """A coordinate as the padding sees it, and its slope."""
        slope = self.xp.ones_like(x)
        if padding == REFLECTION:
            x, slope = self._reflected_at(x, 0.0 if corners else -0.5, n - 1.0 if corners else n - 0.5)
        if padding != ZEROS:
            slope = self.xp.where((x <= 0) | (x >= n - 1), 0.0, slope)
            x = self.xp.clip(x, 0, n - 1)
        return x, slope

    def _line_taps(self, g: Any, n: int, mode: int, padding: int, corners: bool, slopes: bool) -> tuple[Any, Any, Any]:
        """Along one dimension: the positions of the taps, whether they are inside, and weights with two derivatives,
        which are not right where no slopes are asked for."""
        xp = self.xp
        scale = (n - 1) / 2 if corners else n / 2
        x = (g + 1) * scale if corners else ((g + 1) * n - 1) / 2
        if mode != BICUBIC:
            x, slope = self._bounded(x, n, padding, corners)
            slope = slope * scale
        if mode == NEAREST:
            positions, one = [xp.rint(x)], xp.ones_like(x)
            zero = xp.zeros_like(x) if slopes else one
            weights = [(one, zero, zero)]
        elif mode == BILINEAR:
            low = xp.floor(x)
            positions, zero = [low, low + 1], xp.zeros_like(x)
            weights = [(low + 1 - x, -slope, zero), (x - low, slope, zero)]
        else:
            low = xp.floor(x)
            positions = [self._bounded(low + k, n, padding, corners)[0] for k in (-1, 0, 1, 2)]
            distances = [x - low - k for k in (-1, 0, 1, 2)]
            weights = [self._cubic_tap(x, scale) if slopes else (cubic(x, -0.75, xp), x, x) for x in distances]
        inside = [(p >= 0) & (p <= n - 1) for p in positions]
        return [xp.where(i, p, 0).astype("int64") for p, i in zip(positions, inside, strict=True)], inside, weights

    def _cubic_tap(self, distance: Any, scale: float, a: float = -0.75) -> tuple[Any, Any, Any]:
        x, sign, near = self.xp.abs(distance), self.xp.sign(distance), self.xp.abs(distance) < 1
        first = self.xp.where(near, (3 * (a + 2) * x - 2 * (a + 3)) * x, (3 * a * x - 10 * a) * x + 8 * a)
        second = self.xp.where(near, 6 * (a + 2) * x - 2 * (a + 3), 6 * a * x - 10 * a)
        return cubic(distance, a, self.xp), first * sign * scale, second * scale * scale

    def _corners_of(self, a: Array, grid: Any, mode: int, padding: int, corners: bool, slopes: bool = True) -> Any:
        """For each combination of taps: flat positions (N, points), whether they count, and the weights of each
        dimension."""
        n, size = grid.shape[0], a.shape[2:]
        flat = grid.reshape(n, math.prod(grid.shape[1:-1]), len(size))
        lines = []
        for d, m in enumerate(size):
            line = self._line_taps(flat[..., len(size) - 1 - d], m, mode, padding, corners, slopes)
            step = math.prod(size[d + 1 :])
            lines.append([(p * step if step > 1 else p, i, w) for p, i, w in zip(*line, strict=True)])
        for taps in itertools.product(*lines):
            positions, inside, weights = zip(*taps, strict=True)
            together = functools.reduce(operator.and_, inside).astype(a.dtype)
            yield functools.reduce(operator.add, positions), together, weights

    def _weight(self, weights: Any, *by: int) -> Any:
        """The product of the weights of all dimensions, differentiated by the dimensions `by`."""
        return functools.reduce(operator.mul, (w[by.count(d)] for d, w in enumerate(weights)))

    def _cells(self, planes: int, position: Any, size: int) -> Any:
        """Return where flat positions (N, points) are in `planes` planes (N * C) of this size, laid out flat."""
        starts = (self.xp.arange(planes) * size).reshape(len(position), planes // max(len(position), 1), 1)
        return starts + position[:, None]

    def _read(self, a: Array, position: Any) -> Any:
        """The elements (N, C, points) at flat positions (N, points)."""
        cells = self._cells(math.prod(a.shape[:2]), position, math.prod(a.shape[2:]))
        return self.xp.take(a.reshape(-1), cells)

    def _add_at(self, total: Any, position: Any, values: Any) -> None:
        """Add values (N, C, points) to planes (N * C, ...) laid out flat."""
        planes = math.prod(values.shape[:2])
        cells = self._cells(planes, position, total.size // max(planes, 1))
        self.xp.add.at(total, cells.reshape(-1), self.xp.ascontiguousarray(values).reshape(-1))

    def grid_sampler(self, a: Array, grid: Any, mode: int, padding: int, corners: bool) -> Any:
        out: Any = 0
        for position, inside, weights in self._corners_of(a, grid, mode, padding, corners, False):
            out = out + self._read(a, position) * (self._weight(weights) * inside)[:, None].astype(a.dtype)
        return out.reshape(*a.shape[:2], *grid.shape[1:-1])

    def grid_sampler_backward(
        self, grad: Array, a: Array, grid: Any, mode: int, padding: int, corners: bool, mask: Array
    ) -> Any:
        dims, points = a.ndim - 2, math.prod(grid.shape[1:-1])
        flat = grad.reshape(*grad.shape[:2], points)
        image = self.xp.zeros(a.size, a.dtype)
        by_grid = self.xp.zeros((grid.shape[0], points, dims), grid.dtype)
        for position, inside, weights in self._corners_of(a, grid, mode, padding, corners):
            if mask[0]:
                self._add_at(image, position, flat * (self._weight(weights) * inside)[:, None])
            if mask[1]:
                seen = self.xp.add.reduce(self._read(a, position) * flat, axis=1) * inside
                for d in range(dims):
                    by_grid[..., dims - 1 - d] += self._weight(weights, d) * seen
        return image.reshape(a.shape) if mask[0] else self.xp.empty(0, grad.dtype), by_grid.reshape(grid.shape)

    def grid_sampler_twice(
        self, by_image: Any, by_grid: Any, grad: Array, a: Array, grid: Any, mode: int, padding: int, corners: bool
    ) -> Any:
        """The gradients of `grid_sampler_backward` by the gradient, the image and the grid."""
        dims, points = a.ndim - 2, math.prod(grid.shape[1:-1])
        flat = grad.reshape(*grad.shape[:2], points)
        out, image = self.xp.zeros_like(flat), self.xp.zeros(a.size, a.dtype)
        positions = self.xp.zeros((grid.shape[0], points, dims), grid.dtype)
        steps = None if by_grid is None else by_grid.reshape(positions.shape)[..., ::-1]
        for position, inside, weights in self._corners_of(a, grid, mode, padding, corners):
            if by_image is not None:
                pulled = self._read(by_image, position)
                out += pulled * (self._weight(weights) * inside)[:, None]
                seen = self.xp.add.reduce(pulled * flat, axis=1) * inside
                for d in range(dims):
                    positions[..., dims - 1 - d] += self._weight(weights, d) * seen
            if steps is not None:
                move = sum(self._weight(weights, d) * steps[..., d] for d in range(dims)) * inside
                value = self._read(a, position)
                out += value * move[:, None]
                self._add_at(image, position, flat * move[:, None])
                seen = self.xp.add.reduce(value * flat, axis=1) * inside
                for d in range(dims):
                    bend = sum(self._weight(weights, d, e) * steps[..., e] for e in range(dims))
                    positions[..., dims - 1 - d] += bend * seen
        return out.reshape(grad.shape), image.reshape(a.shape), positions.reshape(grid.shape)

    grid_sampler_2d_backward = grid_sampler_3d_backward = grid_sampler_backward
    grid_sampler_2d_twice = grid_sampler_3d_twice = grid_sampler_twice

    def _base_grid(self, size: Sizes, corners: bool, dtype: Any) -> Any:
        """The points (..., coordinates and 1) of an untransformed grid."""
        dims = len(size) - 2
        base = self.xp.ones((*size[2:], dims + 1), dtype)
        for d, n in enumerate(size[2:]):
            line = self.placed(_even_points(n, corners, np.dtype(dtype)))
            base[..., dims - 1 - d] = line.reshape(-1, *[1] * (dims - 1 - d))
        return base

    def affine_base(self, grad: Array, size: Sizes, corners: bool) -> Any:
        """The points of an untransformed grid as columns, for every element of the batch."""
        columns = self._base_grid(size, corners, grad.dtype).reshape(-1, len(size) - 1).T
        return self.xp.broadcast_to(columns, (size[0], *columns.shape))

    def affine_grid_generator(self, theta: Any, size: Sizes, corners: bool) -> Any:
        base = self._base_grid(size, corners, theta.dtype)
        rows = base.reshape(-1, base.shape[-1]) @ theta.swapaxes(1, 2)
        return rows.reshape(size[0], *size[2:], len(size) - 2)

    # ---------------------------------------------------------------- pixel shuffles

    def pixel_shuffle(self, a: Array, r: int) -> Any:
        *lead, c, h, w = a.shape
        cells = a.reshape(*lead, c // (r * r), r, r, h, w)
        k = len(lead)
        order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
        return cells.transpose(order).reshape(*lead, c // (r * r), h * r, w * r)

    def pixel_unshuffle(self, a: Array, r: int) -> Any:
        *lead, c, h, w = a.shape
        cells = a.reshape(*lead, c, h // r, r, w // r, r)
        k = len(lead)
        order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
        return cells.transpose(order).reshape(*lead, c * r * r, h // r, w // r)

    def channel_shuffle(self, a: Array, groups: int) -> Any:
        n, c, *size = a.shape
        return a.reshape(n, groups, c // groups, *size).swapaxes(1, 2).reshape(a.shape)


def _resizing(name: str, mode: str) -> None:
    def resize(self: Any, a: Array, size: Sizes, corners: bool, scales: Any) -> Any:
        return self.resize(mode, a, size, corners, scales)

    def back(self: Any, grad: Array, sizes: Sizes, corners: bool, scales: Any) -> Any:
        return self.resize_back(mode, grad, sizes, corners, scales)

    setattr(Interpolate, name, resize)
    setattr(Interpolate, f"{name}_backward", back)


for _name, _mode in RESIZINGS.items():
    _resizing(_name, _mode)
