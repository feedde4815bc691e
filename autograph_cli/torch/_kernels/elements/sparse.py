"""Operations on sparse arrays; those that are not here are refused, as PyTorch refuses most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..._arrays.sparse import Coo, Csr, Sparse, add
from ..variants import chosen


class SparseArrays:
    """Kernels that take dense arrays and sparse ones, and what those for sparse arrays say of a dense one."""

    def _sparse_coo_tensor_with_dims_and_tensors(
        self, size: Any, coalesced: bool, indices: Array, values: Array
    ) -> Any:
        return Coo(indices, values, tuple(size), coalesced)

    def sparse_compressed_tensor(self, size: Any, crow: Array, columns: Array, values: Array) -> Any:
        return Csr(crow, columns, values, tuple(size))

    def _sparse_gather(self, a: Array, indices: Array) -> Any:
        """The elements of `a` at positions along its first dimensions."""
        kept = indices.shape[0]
        return gathered(a, Coo(indices, np.empty((indices.shape[1], *a.shape[kept:]), a.dtype), a.shape))

    def _to_sparse(self, a: Array, csr: bool) -> Any:
        return to_sparse(a, csr, a.ndim)

    def _to_sparse_sparse_dim(self, a: Array, sparse_dim: int) -> Any:
        return to_sparse(a, False, sparse_dim)

    def to_sparse_csr(self, a: Array) -> Any:
        return to_sparse(a, True, 2)

    def of_sparse(self, *args: Any) -> Any:
        raise RuntimeError("this operation is for sparse tensors")


rules: dict[str, Callable[..., Any]] = {}
"""By the operation's name: a function of the kernels and of the operation's arguments."""


def computed(op: Any, kernels: Any, kernel: Callable[..., Any], raws: list[Any]) -> Any:
    """Return what an operation makes of arguments of which some are sparse; NotImplementedError where there is no
    rule."""
    if op.zero_to_zero:
        a = raws[0] if op.linear or isinstance(raws[0], Csr) else raws[0].coalesce()
        return a.with_values(kernel(a.values, *raws[1:]))
    rule = rules.get(op.identifier) or rules.get(op.name) or vars(SparseArrays).get(op.identifier)
    if rule is None:
        layout = "SparseCsrCPU" if any(isinstance(raw, Csr) for raw in raws) else "SparseCPU"
        raise NotImplementedError(
            f"Could not run 'aten::{op.name}' with arguments from the '{layout}' backend: sparse tensors have few "
            "operations, use tensor.to_dense()"
        )
    return rule(kernels, *raws)


def rule(*names: str) -> Callable[[Any], Any]:
    """Return what operations of these names do with sparse arrays."""

    def keep(function: Any) -> Any:
        rules.update(dict.fromkeys(names, function))
        return function

    return keep


def as_first(result: Coo, first: Any) -> Sparse:
    """A result, kept as the first argument is."""
    return Csr.of(result) if isinstance(first, Csr) else result


# ---------------------------------------------------------------- element by element


@rule("add")
def _add(f: Any, a: Array, b: Array, alpha: Any = 1) -> Any:
    if isinstance(a, Sparse) and not isinstance(b, Sparse):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    b = b.with_values(b.values * np.asarray(alpha, b.dtype)) if alpha != 1 else b
    return add(a, b) if isinstance(a, Sparse) else a + b.dense()


@rule("sub")
def _sub(f: Any, a: Array, b: Array, alpha: Any = 1) -> Any:
    if not isinstance(b, Sparse):
        return _add(f, a, b)
    return _add(f, a, -b, alpha)


@rule("mul")
def _mul(f: Any, a: Array, b: Array) -> Any:
    if not isinstance(a, Sparse):
        a, b = b, a
    if not isinstance(b, Sparse):
        return _scaled(a, b)
    x, y = a.coo().coalesce(), b.coo().coalesce()
    if x.shape != y.shape or len(x.indices) != len(y.indices):
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            "dimensions, and shape of sparse dimensions"
        )
    _, i, j = np.intersect1d(x.flat(), y.flat(), assume_unique=True, return_indices=True)
    return as_first(Coo(x.indices[:, i], x.values[i] * y.values[j], x.shape, True), a)


def _scaled(a: Array, b: Array) -> Any:
    """A sparse array times a dense one that it broadcasts to no other shape with."""
    if not b.ndim:
        return a.with_values(a.values * b)
    x = a.coo().coalesce()
    if many_dims.broadcast_shapes(a.shape, b.shape) != a.shape:
        raise NotImplementedError(
            "a sparse tensor times a dense one of a larger shape is not available in autograph's engine"
        )
    return as_first(Coo(x.indices, x.values * np.broadcast_to(b, a.shape)[tuple(x.indices)], x.shape, True), a)


@rule("mul_Scalar")
def _mul_scalar(f: Any, a: Array, number: Any) -> Any:
    return a.with_values(f.mul_Scalar(a.values, number))


@rule("div")
def _div(f: Any, a: Array, b: Array, *mode: Any) -> Any:
    if not isinstance(a, Sparse) or isinstance(b, Sparse) or b.ndim:
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor "
            f"(got shape {list(b.shape)} for divisor)"
        )
    return a.with_values(f.div_Tensor_mode(a.values, b, *mode) if mode and mode[0] else f.div(a.values, b))


@rule("pow_Tensor_Scalar")
def _pow(f: Any, a: Array, exponent: Any) -> Any:
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    a = a if isinstance(a, Csr) else a.coalesce()
    return a.with_values(f.pow_Tensor_Scalar(a.values, exponent))


@rule("threshold_backward")
def _threshold_backward(f: Any, grad: Array, result: Any, *rest: Any) -> Any:
    if not isinstance(result, Sparse):
        raise RuntimeError("the gradient of a sparse relu needs its sparse result")
    kept = result.with_values((result.values > 0).astype(grad.dtype))
    return _mul(f, kept, grad)


@rule("conj", "_conj", "alias", "positive")
def _same(f: Any, a: Array, *rest: Any) -> Any:
    return a.with_values(np.conjugate(a.values)) if a.dtype.kind == "c" and not rest else a


@rule("clone")
def _clone(f: Any, a: Array, *rest: Any) -> Any:
    return a.copy()


@rule("_to_copy")
def _to_copy(f: Any, a: Array, dtype: Any, *rest: Any) -> Any:
    return a.astype(getattr(dtype, "numpy", dtype))


@rule("zeros_like", "zero")
def _zeros_like(f: Any, a: Array, *rest: Any) -> Any:
    return a.nothing()


# ---------------------------------------------------------------- shapes


@rule("t")
def _t(f: Any, a: Array) -> Any:
    return _permute(f, a, (1, 0) if a.ndim == 2 else (0,))


@rule("transpose")
def _transpose(f: Any, a: Array, dim0: int, dim1: int) -> Any:
    order = list(range(a.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return _permute(f, a, order)


@rule("permute")
def _permute(f: Any, a: Array, order: Any) -> Any:
    x, kept = a.coo(), len(a.coo().indices)
    if sorted(order[:kept]) != list(range(kept)) or list(order[kept:]) != list(range(kept, a.ndim)):
        raise RuntimeError("transpositions between sparse and dense dimensions are not supported.")
    moved = Coo(x.indices[list(order[:kept])], x.values, tuple(a.shape[d] for d in order))
    return as_first(moved, a)


@rule("unsqueeze")
def _unsqueeze(f: Any, a: Array, dim: int) -> Any:
    shape = (*a.shape[:dim], 1, *a.shape[dim:])
    if dim > len(a.indices):
        return Coo(a.indices, np.expand_dims(a.values, dim - len(a.indices) + 1), shape, a.coalesced)
    return Coo(np.insert(a.indices, dim, 0, axis=0), a.values, shape, a.coalesced)


@rule("squeeze_dim")
def _squeeze(f: Any, a: Array, dim: int) -> Any:
    return _select(f, a, dim, 0) if a.shape[dim] == 1 else a


@rule("select")
def _select(f: Any, a: Array, dim: int, index: int) -> Any:
    x, shape = a.coo(), (*a.shape[:dim], *a.shape[dim + 1 :])
    if dim >= len(x.indices):
        return Coo(x.indices, np.take(x.values, index, dim - len(x.indices) + 1), shape, x.coalesced)
    at = x.indices[dim] == index
    if len(x.indices) == 1:
        return x.values[at].sum(0)
    return Coo(np.delete(x.indices[:, at], dim, 0), x.values[at], shape, x.coalesced)


@rule("index_select")
def _index_select(f: Any, a: Array, dim: int, index: Any) -> Any:
    shape = (*a.shape[:dim], index.size, *a.shape[dim + 1 :])
    if dim >= len(a.indices):
        return Coo(a.indices, np.take(a.values, index, dim - len(a.indices) + 1), shape, a.coalesced)
    position, wanted = np.nonzero(a.indices[dim][:, None] == index.reshape(1, -1))
    order = np.argsort(wanted, kind="stable")
    position, wanted = position[order], wanted[order]
    indices = a.indices[:, position].copy()
    indices[dim] = wanted
    return Coo(indices, a.values[position], shape)


@rule("cat")
def _cat(f: Any, arrays: Any, dim: int) -> Any:
    for i, a in enumerate(arrays):
        if not isinstance(a, Coo):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
    start, moved = 0, []
    for a in arrays:
        if dim >= len(a.indices):
            raise NotImplementedError("torch.cat of sparse tensors along a dense dimension is not available")
        indices = a.indices.copy()
        indices[dim] += start
        start += a.shape[dim]
        moved.append(indices)
    shape = (*arrays[0].shape[:dim], start, *arrays[0].shape[dim + 1 :])
    return Coo(np.concatenate(moved, 1), np.concatenate([a.values for a in arrays]), shape)


@rule("stack")
def _stack(f: Any, arrays: Any, dim: int) -> Any:
    return _cat(f, [_unsqueeze(f, a, dim) for a in arrays], dim)


# ---------------------------------------------------------------- sums and norms


@rule("sum")
def _sum(f: Any, a: Array, *rest: Any) -> Any:
    if len(rest) <= 1:
        return f.sum(a.values, None, False, *rest)
    return summed(f, a.coo(), *rest)


def summed(f: Any, a: Array, dims: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """The sum over some dimensions, sparse as long as a sparse one is left."""
    kept = len(a.indices)
    gone = sorted(d % a.ndim for d in (range(a.ndim) if dims is None or dims == () else dims))
    inside = tuple(d - kept + 1 for d in gone if d >= kept)
    values = f.sum(a.values, inside, keepdim, dtype) if inside else a.values
    left = [d for d in range(kept) if d not in gone]
    if not left and not keepdim:
        return f.sum(values, (0,), False, dtype)
    indices = a.indices.copy()
    indices[[d for d in gone if d < kept]] = 0
    shape = [1 if d in gone else n for d, n in enumerate(a.shape)]
    if not keepdim:
        indices, shape = indices[left], [n for d, n in enumerate(a.shape) if d not in gone]
    return Coo(indices, values, tuple(shape)).coalesce()


@rule("linalg_vector_norm", "norm", "norm_Scalar", "norm_all")
def _norm(f: Any, a: Array, *rest: Any) -> Any:
    if rest and rest[0] not in (None, 2, 2.0):
        raise NotImplementedError("of sparse tensors there is the 2-norm only")
    values = a.coo().coalesce().values
    return np.sqrt((values * values.conj()).real.sum())


# ---------------------------------------------------------------- products


def rows_times(a: Sparse, b: Array) -> Any:
    """The product of a sparse matrix and a dense one (or a vector)."""
    x = a.coo()
    order = slice(None) if x.coalesced else np.argsort(x.indices[0], kind="stable")
    rows, columns, values = x.indices[0][order], x.indices[1][order], x.values[order]
    result = np.zeros((a.shape[0], *b.shape[1:]), np.result_type(a.dtype, b.dtype))
    if len(rows) and b.size:
        add_rows(result, *map(np.ascontiguousarray, (rows, b, columns, values)))
    return result


@chosen
def add_rows(out: Array, owners: Array, table: Array, indices: Array, factors: Array) -> bool:
    """Add row `indices[i]` of a table, times `factors[i]`, to row `owners[i]` of `out`."""
    parts = factors.reshape(-1, *(1,) * (table.ndim - 1)) * table[indices]
    width = parts.size // len(owners)
    cells = owners[:, None] * width + np.arange(width)
    np.add.at(out.reshape(-1), cells.reshape(-1), parts.reshape(-1))
    return True


def times(a: Array, b: Array) -> Any:
    """The product of two matrices of which one, or both, are sparse."""
    if not isinstance(b, Sparse):
        return rows_times(a, b)
    if not isinstance(a, Sparse):
        turned = b.coo()
        return rows_times(Coo(turned.indices[::-1], turned.values, b.shape[::-1]), a.T).T
    return as_first(_both_sparse(a.coo(), b.coo().coalesce()), a)


def _both_sparse(x: Coo, y: Coo) -> Coo:
    """Each element of the one beside those of the other's row that it meets."""
    counts = np.bincount(y.indices[0], minlength=y.shape[0])
    begin = np.cumsum(counts) - counts
    met = counts[x.indices[1]]
    left = np.repeat(np.arange(len(met)), met)
    within = np.arange(len(left)) - np.repeat(np.cumsum(met) - met, met)
    right = begin[x.indices[1][left]] + within
    indices = np.stack([x.indices[0][left], y.indices[1][right]])
    return Coo(indices, x.values[left] * y.values[right], (x.shape[0], y.shape[1])).coalesce()


@rule("mm", "_sparse_sparse_matmul")
def _mm(f: Any, a: Array, b: Array) -> Any:
    return times(a, b)


@rule("mv")
def _mv(f: Any, a: Array, b: Array) -> Any:
    return rows_times(a, b)


@rule("bmm")
def _bmm(f: Any, a: Array, b: Array) -> Any:
    if isinstance(b, Sparse):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    return np.stack([rows_times(_select(f, a, 0, i), b[i]) for i in range(a.shape[0])])


@rule("addmm", "_sparse_addmm")
def _addmm(f: Any, c: Any, a: Array, b: Array, beta: Any = 1, alpha: Any = 1) -> Any:
    product = times(a, b)
    if isinstance(product, Sparse):
        return add(_mul_scalar(f, c, beta), _mul_scalar(f, product, alpha))
    return f.add(f.mul_Scalar(c, beta) if beta != 1 else c, f.mul_Scalar(product, alpha) if alpha != 1 else product)


# ---------------------------------------------------------------- softmax over the elements that are kept


def by_group(a: Coo, dim: int) -> Any:
    """For each kept element a number of the row along `dim` that it belongs to."""
    if dim >= len(a.indices):
        raise NotImplementedError("torch.sparse.softmax along a dense dimension is not available in autograph's engine")
    others = np.delete(a.indices, dim, 0)
    return (
        np.unique(others, axis=1, return_inverse=True)[1].reshape(-1)
        if len(others)
        else np.zeros(a.indices.shape[1], int)
    )


def group_sums(values: Any, groups: Any) -> Any:
    """At each element the sum over its group."""
    totals = np.zeros((groups.max(initial=-1) + 1, *values.shape[1:]), values.dtype)
    many_dims.at(np.add, totals, (groups,), values)
    return totals[groups]


def softmax(a: Coo, dim: int, log: bool) -> Coo:
    """The softmax over the kept elements of each row along `dim`, or its logarithm."""
    a = a.coalesce()
    groups = by_group(a, dim)
    tops = np.full((groups.max(initial=-1) + 1, *a.values.shape[1:]), -np.inf, a.dtype)
    many_dims.at(np.maximum, tops, (groups,), a.values)
    shifted = a.values - tops[groups]
    sums = group_sums(np.exp(shifted), groups)
    return a.with_values(shifted - np.log(sums) if log else np.exp(shifted) / sums)


@rule("_sparse_softmax")
def _softmax(f: Any, a: Coo, dim: int) -> Coo:
    return softmax(a, dim, False)


@rule("_sparse_log_softmax")
def _log_softmax(f: Any, a: Coo, dim: int) -> Coo:
    return softmax(a, dim, True)


@rule("_sparse_softmax_backward")
def _softmax_backward(f: Any, grad: Array, result: Coo, dim: int) -> Coo:
    g = gathered(grad, result)
    return result.with_values(result.values * (g - group_sums(g * result.values, by_group(result, dim))))


@rule("_sparse_log_softmax_backward")
def _log_softmax_backward(f: Any, grad: Array, result: Coo, dim: int) -> Coo:
    g = gathered(grad, result)
    return result.with_values(g - np.exp(result.values) * group_sums(g, by_group(result, dim)))


# ---------------------------------------------------------------- from one layout to another


def gathered(a: Array, like: Coo) -> Any:
    """The values that an array has in the positions that another keeps; zero where it keeps none itself."""
    if not isinstance(a, Sparse):
        return np.asarray(a)[tuple(like.indices)]
    x = a.coo().coalesce()
    flat, wanted = x.flat(), like.flat()
    at = np.searchsorted(flat, wanted)
    result = np.zeros(like.values.shape, a.dtype)
    hit = at < len(flat)
    hit[hit] = flat[at[hit]] == wanted[hit]
    result[hit] = x.values[at[hit]]
    return result


@rule("_to_dense")
def _to_dense(f: Any, a: Array, dtype: Any = None) -> Any:
    return a.dense() if dtype is None else a.dense().astype(getattr(dtype, "numpy", dtype))


@rule("coalesce")
def _coalesce(f: Any, a: Coo) -> Coo:
    return a.coalesce()


@rule("values")
def _values(f: Any, a: Array) -> Any:
    return a.values


@rule("sparse_mask")
def _sparse_mask(f: Any, a: Array, mask: Array) -> Any:
    # A position that the mask keeps twice is one position.
    kept = mask.coalesce() if isinstance(mask, Coo) else mask.coo()
    return (kept if isinstance(mask, Coo) else mask).with_values(gathered(a, kept))


def to_sparse(a: Array, csr: bool, sparse_dim: int) -> Any:
    """An array by coordinates, or row by row; of a dense one what is not zero is kept."""
    if not isinstance(a, Sparse):
        filled = (
            (np.asarray(a) != 0).reshape(*a.shape[:sparse_dim], -1).any(-1)
            if sparse_dim < a.ndim
            else np.asarray(a) != 0
        )
        indices = np.stack(np.nonzero(filled)).astype(np.int64)
        a = Coo(indices, np.asarray(a)[tuple(indices)], a.shape, True)
    if csr and a.ndim != 2:
        raise RuntimeError(f"to_sparse_csr: only matrices can be kept row by row, but got {a.ndim} dimensions")
    if csr:
        return a if isinstance(a, Csr) else Csr.of(a)
    return a if isinstance(a, Coo) else a.coo().coalesce()


@rule("_sparse_sum")
def _sparse_sum(f: Any, a: Array, dim: Any) -> Any:
    return summed(f, a.coo(), dim)


@rule("_sparse_sum_backward")
def _sparse_sum_backward(f: Any, grad: Array, a: Array, dim: Any) -> Any:
    """The gradient of each row at the positions that were kept."""
    gone = {d % a.ndim for d in dim}
    x = a.coo().coalesce()
    whole = grad.dense() if isinstance(grad, Sparse) else np.asarray(grad)
    for d in sorted(gone):
        whole = np.expand_dims(whole, d)
    return x.with_values(np.ascontiguousarray(np.broadcast_to(whole, a.shape)[tuple(x.indices)]))
