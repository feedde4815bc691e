"""NumPy's functions on arrays without memory: a rule for the shape, a miniature for the rest (see meta.py)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from . import Array
from .geometry import reduced_shape
from .meta import NO_COUNT, NO_DATA, Meta, enlarged, filled, miniature, shape_of

Rule = Callable[..., Any]
functions: dict[Any, Rule] = {}
"""The replacement of each NumPy function that is given an array without memory."""


def stands_for(*names: Any) -> Callable[[Rule], Rule]:
    """Use a function instead of NumPy's."""

    def register(rule: Rule) -> Rule:
        functions.update(dict.fromkeys(names, rule))
        return rule

    return register


def _small(args: tuple[Any, ...]) -> list[Any]:
    return [type(x)(map(miniature, x)) if isinstance(x, (list, tuple)) else miniature(x) for x in args]


def _shaped(function: Any, shape: Callable[..., tuple[int, ...]]) -> None:
    """A function whose result has a shape by rule, and is otherwise as its miniature."""

    def rule(*args: Any, out: Any = None, **options: Any) -> Any:
        small = function(*_small(args), **{k: miniature(v) for k, v in options.items()})
        return filled(out, enlarged(shape(*args, **options), small))

    functions[function] = rule


# ---------------------------------------------------------------- reductions


def _reduction(a: Array, axis: Any = None, dtype: Any = None, keepdims: bool = False, **_: Any) -> tuple[int, ...]:
    return reduced_shape(a.shape, axis, keepdims)


def _position(a: Array, axis: Any = None, keepdims: bool = False, **_: Any) -> tuple[int, ...]:
    return reduced_shape(a.shape, axis, keepdims)


def _spread(
    a: Array, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, **_: Any
) -> tuple[int, ...]:
    return reduced_shape(a.shape, axis, keepdims)


def _same(a: Array, *_: Any, **__: Any) -> tuple[int, ...]:
    return shape_of(a)


def _running(a: Array, axis: Any = None, dtype: Any = None) -> tuple[int, ...]:
    return shape_of(a) if axis is not None else (a.size,)


_function: Any
for _function in (np.sum, np.prod, np.mean):
    _shaped(_function, _reduction)
for _function in (np.max, np.min, np.any, np.all, np.argmax, np.argmin, np.count_nonzero):
    _shaped(_function, _position)
for _function in (np.var, np.std):
    _shaped(_function, _spread)
for _function in (np.cumsum, np.cumprod):
    _shaped(_function, _running)
for _function in (
    np.sort,
    np.argsort,
    np.flip,
    np.tril,
    np.triu,
    np.round,
    np.nan_to_num,
    np.roll,
    np.copy,
    np.isneginf,
    np.isposinf,
):
    _shaped(_function, _same)

# ---------------------------------------------------------------- elements side by side


def _together(*arrays: Any, **_: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*map(shape_of, arrays))


_shaped(np.where, _together)
_shaped(np.isclose, _together)
_shaped(np.clip, lambda a, low=None, high=None, **_: _together(a, low, high))


@stands_for(np.zeros_like, np.ones_like, np.empty_like, np.full_like)
def _like(a: Array, *value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Meta:
    if not isinstance(a, Meta):
        return Meta(a.shape, dtype or a.dtype)
    if value and dtype is None and len(value) > 1:
        dtype = value[1]
    return enlarged(a.shape if shape is None else shape, np.empty_like(miniature(a), dtype=dtype, order=order))


@stands_for(np.real)
def _real(a: Array) -> Any:
    return a.real


@stands_for(np.imag)
def _imag(a: Array) -> Any:
    return a.imag


@stands_for(np.iscomplexobj)
def _is_complex(a: Array) -> bool:
    return bool(a.dtype.kind == "c")


@stands_for(np.result_type)
def _result_type(*args: Any) -> Any:
    return np.result_type(*(a.dtype if isinstance(a, Meta) else a for a in args))


@stands_for(np.shape)
def _shape(a: Array) -> tuple[int, ...]:
    return shape_of(a)


@stands_for(np.ndim)
def _ndim(a: Array) -> int:
    return len(shape_of(a))


@stands_for(np.size)
def _size(a: Array, axis: Any = None) -> int:
    return math.prod(shape_of(a)) if axis is None else shape_of(a)[axis]


# ---------------------------------------------------------------- views


@stands_for(np.swapaxes)
def _swapaxes(a: Array, b: int, c: int) -> Any:
    return a.swapaxes(b, c)


@stands_for(np.transpose)
def _transpose(a: Array, axes: Any = None) -> Any:
    return a.transpose(axes)


@stands_for(np.moveaxis)
def _moveaxis(a: Array, source: Any, destination: Any) -> Any:
    return a._view(np.moveaxis(a._geometry, source, destination))


@stands_for(np.expand_dims)
def _expand_dims(a: Array, axis: Any) -> Any:
    return a._view(np.expand_dims(a._geometry, axis))


@stands_for(np.squeeze)
def _squeeze(a: Array, axis: Any = None) -> Any:
    return a.squeeze(axis)


@stands_for(np.diagonal)
def _diagonal(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return a.diagonal(offset, axis1, axis2)


@stands_for(np.flip)
def _flip(a: Array, axis: Any = None) -> Any:
    return a._view(np.flip(a._geometry, axis))


@stands_for(np.rot90)
def _rot90(a: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    return a._view(np.rot90(a._geometry, k, axes))


@stands_for(np.broadcast_to)
def _broadcast_to(a: Array, shape: Any, subok: bool = False) -> Any:
    return a._view(np.broadcast_to(a._geometry, shape))


@stands_for(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*map(shape_of, args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@stands_for(np.split, np.array_split)
def _split(a: Array, positions: Any, axis: int = 0) -> list[Any]:
    if isinstance(positions, int):
        positions = [a.shape[axis] // positions * i for i in range(1, positions)]
    bounds = [0, *map(int, positions), a.shape[axis]]
    return [_along(a, axis, i, j) for i, j in pairwise(bounds)]


def _along(a: Array, axis: int, start: int | None, end: int | None) -> Any:
    index = (*(slice(None),) * (axis % a.ndim), slice(start, end))
    return a[index]


@stands_for(np.reshape)
def _reshape(a: Array, shape: Any, order: str = "C", **_: Any) -> Any:
    return a.reshape(shape)


@stands_for(np.ravel)
def _ravel(a: Array, order: str = "C") -> Any:
    return a.ravel()


@stands_for(np.lib.stride_tricks.sliding_window_view)
def _sliding_window_view(a: Array, shape: Any, axis: Any = None, **_: Any) -> Any:
    return a._view(np.lib.stride_tricks.sliding_window_view(a._geometry, shape, axis))


@stands_for(np.may_share_memory, np.shares_memory)
def _shares_memory(a: Array, b: Array, max_work: Any = None) -> bool:
    """Return whether two views are on each other; the first and the last byte tell, as in NumPy's quick answer."""
    if not isinstance(a, Meta) or not isinstance(b, Meta) or a.memory is not b.memory:
        return False
    return bool(np.may_share_memory(a._geometry, b._geometry))


# ---------------------------------------------------------------- joined, repeated, chosen


def _joined(arrays: Any, axis: Any = 0, **_: Any) -> tuple[int, ...]:
    if axis is None:
        return (sum(math.prod(shape_of(a)) for a in arrays),)
    shape = list(shape_of(arrays[0]))
    shape[axis] = sum(shape_of(a)[axis] for a in arrays)
    return tuple(shape)


def _stacked(arrays: Any, axis: int = 0, **_: Any) -> tuple[int, ...]:
    shape = list(shape_of(arrays[0]))
    shape.insert(axis % (len(shape) + 1), len(arrays))
    return tuple(shape)


_shaped(np.concatenate, _joined)
_shaped(np.stack, _stacked)


@stands_for(np.tile)
def _tile(a: Array, reps: Any) -> Meta:
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    rank = max(len(reps), a.ndim)
    sizes = zip((1,) * (rank - len(reps)) + reps, (1,) * (rank - a.ndim) + a.shape, strict=True)
    return Meta(tuple(n * m for n, m in sizes), a.dtype)


@stands_for(np.repeat)
def _repeat(a: Array, repeats: Any, axis: Any = None) -> Meta:
    if axis is None:
        a, axis = a.reshape(-1), 0
    if isinstance(repeats, Meta):
        raise NotImplementedError(NO_DATA)
    shape = list(a.shape)
    counts = np.broadcast_to(repeats, (shape[axis],))
    shape[axis] = int(counts.sum())
    return Meta(tuple(shape), a.dtype)


@stands_for(np.pad)
def _pad(a: Array, widths: Any, mode: str = "constant", **_: Any) -> Meta:
    widths = np.broadcast_to(widths, (a.ndim, 2))
    return Meta(
        tuple(n + int(before) + int(after) for n, (before, after) in zip(a.shape, widths, strict=True)), a.dtype
    )


@stands_for(np.take)
def _take(a: Array, indices: Array, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = a.reshape(-1), 0
    shape = (*a.shape[:axis], *shape_of(indices), *a.shape[axis % a.ndim + 1 :])
    return filled(out, Meta(shape, a.dtype))


@stands_for(np.take_along_axis)
def _take_along_axis(a: Array, indices: Array, axis: int = -1) -> Meta:
    others = [list(x.shape) for x in (a, indices)]
    for shape in others:
        shape[axis] = 1
    shape = list(np.broadcast_shapes(*others))
    shape[axis] = indices.shape[axis]
    small = np.take_along_axis(miniature(a), miniature(indices, 0), axis)
    return enlarged(tuple(shape), small)


@stands_for(np.put_along_axis, np.copyto, np.fill_diagonal, np.put, np.place, np.putmask)
def _write(*_: Any, **__: Any) -> None:
    """Nothing to do: no element is kept."""


@stands_for(np.searchsorted)
def _searchsorted(a: Array, v: Any, side: str = "left", sorter: Any = None) -> Meta:
    return Meta(shape_of(v), np.int64)


@stands_for(np.isin)
def _isin(a: Array, b: Array, assume_unique: bool = False, invert: bool = False, **_: Any) -> Meta:
    return Meta(shape_of(a), bool)


@stands_for(np.histogram)
def _histogram(a: Array, bins: Any = 10, *_: Any, **__: Any) -> tuple[Meta, Meta]:
    count = bins if isinstance(bins, int) else len(bins) - 1
    return Meta((count,), np.int64), Meta((count + 1,), a.dtype)


@stands_for(np.delete)
def _delete(a: Array, positions: Any, axis: int = 0) -> Meta:
    shape = list(a.shape)
    shape[axis] -= np.size(positions)
    return Meta(tuple(shape), a.dtype)


@stands_for(np.diff)
def _diff(a: Array, n: int = 1, axis: int = -1, **_: Any) -> Any:
    for _step in range(n):
        a = _along(a, axis, 1, None) - _along(a, axis, None, -1)
    return a


# ---------------------------------------------------------------- products


@stands_for(np.dot)
def _dot(a: Array, b: Array, out: Any = None) -> Any:
    if not shape_of(a) or not shape_of(b):
        return a * b
    shape = (*shape_of(a)[:-1], *shape_of(b)[:-2], *shape_of(b)[-1:]) if len(shape_of(b)) > 1 else shape_of(a)[:-1]
    return filled(out, enlarged(shape, np.dot(miniature(a), miniature(b))))


@stands_for(np.outer)
def _outer(a: Array, b: Array, out: Any = None) -> Any:
    shape = (math.prod(shape_of(a)), math.prod(shape_of(b)))
    return filled(out, enlarged(shape, np.outer(miniature(a), miniature(b))))


@stands_for(np.cross)
def _cross(a: Array, b: Array, axis: int) -> Any:
    shape = list(np.broadcast_shapes(a.shape, b.shape))
    found = Meta((*shape[:axis], *shape[axis + 1 :], shape[axis]), np.result_type(a.dtype, b.dtype))
    return _moveaxis(found, -1, axis)


@stands_for(np.tensordot)
def _tensordot(a: Array, b: Array, axes: Any = 2) -> Meta:
    pairs = (range(a.ndim - axes, a.ndim), range(axes)) if isinstance(axes, int) else axes
    gone, lost = ([d % x.ndim for d in dims] for x, dims in zip((a, b), pairs, strict=True))
    kept = [n for d, n in enumerate(a.shape) if d not in gone] + [n for d, n in enumerate(b.shape) if d not in lost]
    return Meta(tuple(kept), np.result_type(a.dtype, b.dtype))


@stands_for(np.einsum)
def _einsum(*operands: Any, **_: Any) -> Meta:
    """`einsum(a, dims of a, b, dims of b, ..., dims of the result)`."""
    arrays, terms = operands[0:-1:2], operands[1:-1:2]
    sizes: dict[int, int] = {}
    for term, x in zip(terms, arrays, strict=True):
        for d, n in zip(term, shape_of(x), strict=True):
            sizes[d] = n if sizes.get(d, 1) == 1 else sizes[d]
    return Meta(tuple(sizes[d] for d in operands[-1]), np.result_type(*(x.dtype for x in arrays)))


# ---------------------------------------------------------------- linear algebra, transforms


def _columns(shape: tuple[int, ...], dtype: Any) -> Meta:
    return Meta(shape, dtype)


def _real_of(dtype: Any) -> Any:
    return np.empty(0, dtype).real.dtype


@stands_for(np.linalg.inv, np.linalg.cholesky)
def _square(a: Array, **_: Any) -> Meta:
    return Meta(a.shape, a.dtype)


@stands_for(np.linalg.det)
def _det(a: Array) -> Meta:
    return Meta(a.shape[:-2], a.dtype)


@stands_for(np.linalg.slogdet)
def _slogdet(a: Array) -> tuple[Meta, Meta]:
    return Meta(a.shape[:-2], a.dtype), Meta(a.shape[:-2], _real_of(a.dtype))


@stands_for(np.linalg.solve)
def _solve(a: Array, b: Array) -> Meta:
    if b.ndim == 1:
        return Meta((*a.shape[:-2], b.shape[-1]), b.dtype)
    return Meta((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)


@stands_for(np.linalg.qr)
def _qr(a: Array, mode: str = "reduced") -> Any:
    *batch, m, n = a.shape
    if mode == "raw":
        return Meta((*batch, n, m), a.dtype), Meta((*batch, min(m, n)), a.dtype)
    k = min(m, n) if mode != "complete" else m
    r = Meta((*batch, k, n), a.dtype)
    return r if mode == "r" else (Meta((*batch, m, k), a.dtype), r)


@stands_for(np.linalg.svd)
def _svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    *batch, m, n = a.shape
    values = Meta((*batch, min(m, n)), _real_of(a.dtype))
    if not compute_uv:
        return values
    k, j = (m, n) if full_matrices else (min(m, n),) * 2
    return Meta((*batch, m, k), a.dtype), values, Meta((*batch, j, n), a.dtype)


@stands_for(np.linalg.svdvals)
def _svdvals(a: Array) -> Meta:
    return Meta((*a.shape[:-2], min(a.shape[-2:])), _real_of(a.dtype))


@stands_for(np.linalg.eigh)
def _eigh(a: Array, UPLO: str = "L") -> tuple[Meta, Meta]:
    return Meta(a.shape[:-1], _real_of(a.dtype)), Meta(a.shape, a.dtype)


@stands_for(np.linalg.eigvalsh)
def _eigvalsh(a: Array, UPLO: str = "L") -> Meta:
    return Meta(a.shape[:-1], _real_of(a.dtype))


@stands_for(np.linalg.eig)
def _eig(a: Array) -> tuple[Meta, Meta]:
    kind = np.result_type(a.dtype, np.complex64)
    return Meta(a.shape[:-1], kind), Meta(a.shape, kind)


@stands_for(np.linalg.eigvals)
def _eigvals(a: Array) -> Meta:
    return Meta(a.shape[:-1], np.result_type(a.dtype, np.complex64))


def _transform(name: str, half: bool, real: bool) -> None:
    function = getattr(np.fft, name)

    def shape(a: Array, s: Any = None, axes: Any = None, **_: Any) -> tuple[int, ...]:
        found = list(a.shape)
        axes = tuple(range(a.ndim)) if axes is None else tuple(axes)
        for d, n in zip(axes, s or (), strict=False):
            found[d] = n if n != -1 else found[d]
        if half:
            found[axes[-1]] = found[axes[-1]] // 2 + 1
        if real and not s:
            found[axes[-1]] = 2 * (found[axes[-1]] - 1)
        return tuple(found)

    def rule(a: Array, s: Any = None, axes: Any = None, norm: Any = None) -> Meta:
        return enlarged(shape(a, s, axes), function(miniature(a), None, axes, norm))

    functions[function] = rule
    functions[getattr(np.fft, name[:-1])] = lambda a, axis, norm: rule(a, None, (axis,), norm)


for _name, _half, _real_result in (
    ("fftn", False, False),
    ("ifftn", False, False),
    ("rfftn", True, False),
    ("irfftn", False, True),
):
    _transform(_name, _half, _real_result)


@stands_for(np.nonzero)
def _nonzero(a: Array) -> Any:
    raise NotImplementedError(NO_COUNT)


@stands_for(np.array_equal, np.allclose, np.flatnonzero, np.argwhere, np.unique, np.bincount)
def _depends_on_elements(*_: Any, **__: Any) -> Any:
    raise NotImplementedError(NO_DATA)
