"""Compiled variants of kernels that are several compiled passes, or one under conditions (see `variants.py`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import Array
from .._compiled import compiled
from . import cpu
from .blockwise import BLOCK
from .elementwise.gaussian import ERF_BY_POINT, NARROW_ARRAY, ROOT
from .matrices import lapack
from .reducing.selection import follows

_elements: Any = compiled("_kernels.fast_elements")
_indexing: Any = compiled("_kernels.fast_indexing")
_joining: Any = compiled("_kernels.fast_joining")
_order: Any = compiled("_kernels.fast_order")
_passes: Any = compiled("_kernels.fast_pointwise")
_products: Any = compiled("_kernels.fast_products")
_reductions: Any = compiled("_kernels.fast_reductions")
_selection: Any = compiled("_kernels.fast_selection")
_special: Any = compiled("_kernels.fast_special")
_tables: Any = compiled("_kernels.fast_tables")
_WHOLE = 1 << 53
"""float64 holds smaller whole numbers exactly."""
_LIMITS = (float, int, type(None))
_MOST = 65504
"""Every floating dtype holds numbers up to it."""

# ---------------------------------------------------------------- element by element


def hypot(a: Array, b: Array) -> Any:
    return _passes.hypot(a, b) if a.dtype.char == "f" else None


def relu(a: Array) -> Any:
    return _passes.clamp(a, p=0, q=math.inf)


def between(a: Array, low: Any, high: Any) -> Any:
    return _passes.clamp(a, p=low, q=high) if low == low and high == high else None


def clamp(a: Array, low: Any, high: Any) -> Any:
    if low.__class__ not in _LIMITS or high.__class__ not in _LIMITS:
        return None
    if (low is None or -_MOST <= low <= _MOST) and (high is None or -_MOST <= high <= _MOST):
        return _passes.clamp(a, p=-math.inf if low is None else low, q=math.inf if high is None else high)
    return None


def threshold_backward(grad: Array, a: Array, threshold: Any) -> Any:
    return _passes.threshold_backward(grad, a, p=threshold)


def leaky_relu(a: Array, negative_slope: Any = 0.01) -> Any:
    return _passes.leaky_relu(a, p=negative_slope) if 0 <= negative_slope <= 1 else None


def _prelu_kernel(a: Array, weight: Array) -> Any:
    if weight.size != 1 or weight.dtype != a.dtype:
        return None
    return _passes.prelu(a, p=weight.reshape(())[()])


def silu_backward(grad: Array, a: Array) -> Any:
    power = np.negative(a)
    np.exp(power, out=power)
    return _passes.silu_backward(grad, a, power, out=power)


def softplus(a: Array, beta: Any = 1, threshold: Any = 20) -> Any:
    if not -_MOST <= threshold <= _MOST:
        return None
    if beta == 1:
        return _special.softplus(a, threshold)
    scaled = np.exp(a * cpu.number(beta, a))
    cpu.log_of_one_more(scaled, scaled)
    return _passes.softplus(a, scaled, p=beta, q=threshold, out=scaled)


def softplus_backward(grad: Array, a: Array, beta: Any, threshold: Any) -> Any:
    if not -_MOST <= threshold <= _MOST:
        return None
    power = np.exp(a * cpu.number(beta, a))
    return _passes.softplus_backward(grad, a, power, beta, threshold, power)


def elu(a: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    return _special.elu(a, alpha * scale, scale, input_scale)


def elu_backward(grad: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Array) -> Any:
    if is_result:
        return None
    power = _passes.elu_low(x, p=input_scale)
    np.exp(power, out=power)
    weight = cpu.number(alpha * scale, x) * cpu.number(input_scale, x)
    return _passes.elu_backward(grad, x, power, weight, scale, power)


# ---------------------------------------------------------------- the error function


def _library(name: str, x: Array, series: Any) -> Any:
    run = getattr(_special, name, None)
    return None if run is None else run(x)


def error_function(a: Array) -> Any:
    return _special.erf(a, ERF_BY_POINT)


erf = error_function


def _erf_of_root(a: Array) -> Any:
    """erf(a / sqrt(2))."""
    if a.itemsize == 8:
        return _special.erf(a, ERF_BY_POINT, math.sqrt(0.5))
    inner = _passes.artanh_erf(a, NARROW_ARRAY, p=math.sqrt(0.5))
    return np.tanh(inner, out=inner)


def gelu(a: Array, approximate: str = "none") -> Any:
    if a.size > BLOCK:
        return None
    return _gelu_tanh(a) if approximate == "tanh" else _gelu(a)


def _gelu(a: Array) -> Any:
    found = _erf_of_root(a)
    return _passes.gelu_tanh(a, found, out=found)


def _gelu_backward(grad: Array, a: Array) -> Any:
    slope = _passes.square_scaled(a, p=-0.5)
    np.exp(slope, out=slope)
    return _passes.gelu_backward(grad, a, _erf_of_root(a), p=1 / math.sqrt(2 * math.pi), out=slope)


def _gelu_inner(a: Array) -> Any:
    inner = _passes.gelu_inner(a, p=ROOT * 0.044715, q=ROOT)
    return np.tanh(inner, out=inner)


def _gelu_tanh(a: Array) -> Any:
    return _special.gelu_tanh(a, ROOT * 0.044715, ROOT)


def _gelu_tanh_backward(grad: Array, a: Array) -> Any:
    t = _gelu_inner(a)
    return _passes.gelu_tanh_backward(grad, a, t, ROOT * 3 * 0.044715, ROOT, t)


# ---------------------------------------------------------------- losses


def _smooth_l1(a: Array, target: Array, beta: float) -> Any:
    return _passes.smooth_l1(a, target, p=beta)


def _huber(a: Array, target: Array, delta: float) -> Any:
    return _passes.huber(a, target, p=delta)


def _logits_losses(a: Array, target: Array) -> Any:
    low = _passes.minus_size(a)
    np.exp(low, out=low)
    cpu.log_of_one_more(low, low)
    return _passes.logits_loss(a, low, target, out=low)


def _entries(a: Array, positions: Array) -> Any:
    found = _indexing.gather(a, 1, positions[:, None])
    return None if found is None else found.reshape(positions.shape)


# ---------------------------------------------------------------- many elements to one, and in order


def total(a: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reductions.total(a, dim, keepdim) if dtype is None else None


def mean(a: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reductions.mean(a, dim, keepdim) if dtype is None else None


def var(a: Array, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return _reductions.var(a, None if dim is None else tuple(dim), correction, keepdim)


def std(a: Array, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return _reductions.std(a, None if dim is None else tuple(dim), correction, keepdim)


def norm(a: Array, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reductions.norm(a, None if dim == () else dim, keepdim) if ord == 2 and dtype is None else None


def amax(a: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return _reductions.extreme(a, dim, keepdim, True) if a.ndim else None


def amin(a: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return _reductions.extreme(a, dim, keepdim, False) if a.ndim else None


def cumsum(a: Array, dim: int, dtype: Any = None) -> Any:
    return _order.accumulated(a, dim, False) if dtype is None or dtype == a.dtype else None


def cumprod(a: Array, dim: int, dtype: Any = None) -> Any:
    return _order.accumulated(a, dim, True) if dtype is None or dtype == a.dtype else None


def _is_last(a: Array, dim: int) -> bool:
    return a.ndim > 0 and dim in (-1, a.ndim - 1)


def sort(a: Array, dim: int, descending: bool) -> Any:
    return _order.sorted_rows(a, descending) if _is_last(a, dim) else None


def topk(a: Array, k: int, dim: int, largest: bool, sorted: bool = True) -> Any:
    return _order.topk(a, k, largest) if _is_last(a, dim) and (sorted or not follows(a)) else None


def kthvalue(a: Array, k: int, dim: int, keepdim: bool) -> Any:
    return _order.kth(a, k - 1, keepdim, False) if _is_last(a, dim) else None


def median_dim(a: Array, dim: int, keepdim: bool) -> Any:
    return _order.kth(a, (a.shape[dim] - 1) // 2, keepdim, True) if _is_last(a, dim) else None


def _modes(rows: Array) -> Any:
    if rows.itemsize == 8 and rows.dtype.kind != "f" and (rows.min() <= -_WHOLE or rows.max() >= _WHOLE):
        return None
    return _selection.modes(np.ascontiguousarray(rows, np.float64))


def _running_extreme(better: Any, a: Array, dim: int) -> Any:
    return _elements.running(a, dim, better is np.maximum)


# ---------------------------------------------------------------- positions and parts


def nonzero(a: Array) -> Any:
    found = _indexing.nonzero(a if a.dtype == bool else a != 0)
    return None if found is None else found.T


def tril(a: Array, diagonal: int = 0) -> Any:
    return _indexing.triangle(a, diagonal, True)


def triu(a: Array, diagonal: int = 0) -> Any:
    return _indexing.triangle(a, diagonal, False)


def _values_at(out: Array, a: Array, indices: Any, values: Any, accumulate: bool) -> Any:
    return out if not accumulate and _indexing.put(out, indices, values) else None


def added_at(out: Array, positions: Any, values: Any) -> Any:
    if [p for p in positions[:-1] if p.__class__ is not slice]:
        return None
    return _indexing.add_slices(out, len(positions) - 1, positions[-1], values) or None


def stack(arrays: Any, dim: int = 0) -> Any:
    return _joining.joined(arrays, dim, True)


# ---------------------------------------------------------------- rows of tables


def _bags(weight: Array, owner: Array, places: Array, factors: Any, bags: int) -> Any:
    out = np.zeros((bags, *weight.shape[1:]), weight.dtype)
    return out if _tables.add_rows(out, owner, weight, places, factors) else None


def _largest(weight: Array, owner: Array, places: Array, factors: Any, bags: int) -> Any:
    if factors is not None:
        return None
    positions = np.zeros((bags, *weight.shape[1:]), np.int64)
    out = np.zeros(positions.shape, weight.dtype)
    return (out, positions) if _tables.largest_rows(out, positions, owner, weight, places) else None


def _cdist_forward(x: Array, y: Array, p: float) -> Any:
    return _tables.distances(np.ascontiguousarray(x), np.ascontiguousarray(y), p)


def _pdist_forward(a: Array, p: float = 2) -> Any:
    return _tables.distances(a, a, p, True)


def _channels_last(a: Array) -> Any:
    """Planes (N, C, ...) as rows of C channels."""
    n, c, *size = a.shape
    return np.ascontiguousarray(a.reshape(n, c, math.prod(size)).swapaxes(1, 2)).reshape(-1, c)


def _taps(a: Array, grid: Array, mode: int, padding: int, corners: bool) -> Iterator[tuple[Any, Any, Any]]:
    """The cells of an image around each point, the points, and how much each cell counts, in flat lists."""
    size = math.prod(a.shape[2:])
    for position, inside, weights in cpu._corners_of(a, grid, mode, padding, corners, False):
        cells = (position + np.arange(len(position))[:, None] * size).reshape(-1)
        factors = np.ascontiguousarray(cpu._weight(weights) * inside, a.dtype).reshape(-1)
        yield cells, np.arange(position.size), factors


def grid_sampler(a: Array, grid: Array, mode: int, padding: int, corners: bool) -> Any:
    points = math.prod(grid.shape[1:-1])
    if a.dtype.char not in "fd" or not a.size or not points:
        return None
    rows, out = _channels_last(a), np.zeros((a.shape[0] * points, a.shape[1]), a.dtype)
    for cells, each, factors in _taps(a, grid, mode, padding, corners):
        _tables.add_rows(out, each, rows, cells, factors)
    planes = np.ascontiguousarray(out.reshape(a.shape[0], points, -1).swapaxes(1, 2))
    return planes.reshape(*a.shape[:2], *grid.shape[1:-1])


def grid_sampler_backward(
    grad: Array, a: Array, grid: Array, mode: int, padding: int, corners: bool, mask: Array
) -> Any:
    points = math.prod(grid.shape[1:-1])
    if mask[1] or not grad.dtype == a.dtype == grid.dtype or a.dtype.char not in "fd" or not a.size or not points:
        return None
    rows = _channels_last(grad.reshape(*grad.shape[:2], points))
    out = np.zeros((a.shape[0] * math.prod(a.shape[2:]), a.shape[1]), a.dtype)
    for cells, each, factors in _taps(a, grid, mode, padding, corners):
        _tables.add_rows(out, cells, rows, each, factors)
    made = np.ascontiguousarray(out.reshape(a.shape[0], -1, a.shape[1]).swapaxes(1, 2)).reshape(a.shape)
    return made, np.zeros(grid.shape, grid.dtype)


# ---------------------------------------------------------------- matrices


def addmm(a: Array, x: Array, y: Array, beta: Any = 1, alpha: Any = 1) -> Any:
    return _products.product_added(a, x, y) if beta == 1 == alpha else None


def linalg_cholesky_ex(a: Array, upper: bool = False) -> Any:
    found = None if upper else lapack.quickly("cholesky", a)
    return None if found is None else (found, cpu._no_failure(a))


def linalg_qr(a: Array, mode: str = "reduced") -> Any:
    return lapack.quickly("qr", a) if mode == "reduced" else None


def lu_factor(a: Array) -> Any:
    return lapack.quickly("factored", a)


def lu_unpack(lu: Array, pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    return lapack.quickly("unpacked", lu, pivots) if unpack_data and unpack_pivots else None
