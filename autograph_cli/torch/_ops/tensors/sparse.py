"""Sparse tensors: how they are made, what they are made of, and their products, sums and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.sparse import Coo, Csr, Sparse
from ..._core.base.layout import sparse_coo, sparse_csr, strided
from ..._core.base.state import thread_state
from ..._core.operations.operation import OperationFunction, operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running import dispatch
from ..._core.tape.tensor import Tensor, make
from ..._kernels import cpu
from ..pointwise.arithmetic import no_derivative, scaled

_LAYOUTS = {Coo: "Sparse", Csr: "SparseCsr"}


def _run(function: OperationFunction, *args: Any) -> Tensor:
    """An operation that makes something sparse: through full dispatch, even where no sparse tensor is alive yet."""
    result: Tensor = dispatch.run(function.op, args)
    return result


# ---------------------------------------------------------------- operations

make_coo = operation(
    "_sparse_coo_tensor_with_dims_and_tensors(int[] size, bool coalesced, Tensor indices, Tensor values)",
    node="SparseCooTensorWithDimsAndTensorsBackward0",
    values=lambda f, grad, indices, result: f._sparse_gather(grad, indices),
)
make_csr = operation(
    "sparse_compressed_tensor(int[] size, Tensor crow, Tensor columns, Tensor values)",
    values=lambda f, grad, result: f._sparse_gather(grad, _positions(result)),
)
gather = operation(
    "_sparse_gather(Tensor self, Tensor indices)",
    self=lambda f, grad, indices, self_sizes: f._sparse_coo_tensor_with_dims_and_tensors(
        self_sizes, False, indices, grad
    ),
)
to_dense_op = operation(
    "_to_dense(Tensor self, ScalarType? dtype=None)",
    "of_sparse",
    node="ToDenseBackward0",
    self=lambda f, grad, self: f.sparse_mask(grad, self),
)
coalesce_op = operation("coalesce(Tensor self)", "of_sparse", self=lambda f, grad: grad)
values_op = operation("values(Tensor self)", "of_sparse", self=lambda f, grad, self: _with_values(f, self, grad))
to_sparse_op = operation(
    "_to_sparse(Tensor self, bool csr)",
    node="ToSparseBackward1",
    saved={"self_self_sym_blocksize_opt": lambda: None},
    self=lambda f, grad: _dense(f, grad),
)
to_rows_op = operation(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim)",
    node="ToSparseBackward0",
    saved={"self_self_sym_blocksize_opt": lambda: None},
    self=lambda f, grad: _dense(f, grad),
)
to_csr_op = operation(
    "to_sparse_csr(Tensor self)",
    self=lambda f, grad, self, result: f.sparse_mask(grad, self) if _is_sparse(self) else _dense(f, grad),
)
mask_op = operation("sparse_mask(Tensor self, Tensor mask)", "of_sparse", self=lambda f, grad: _dense(f, grad))
addmm_op = operation(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
    "addmm",
    node="SparseAddmmBackward0",
    self=lambda f, grad, beta: scaled(f, grad, beta),
    mat1=lambda f, grad, mat1, mat2, alpha: _masked(f, scaled(f, f.mm(grad, f.conj(f.t(mat2))), alpha), mat1),
    mat2=lambda f, grad, mat1, mat2, alpha: _masked(f, scaled(f, f.mm(f.conj(f.t(mat1)), grad), alpha), mat2),
)
matmul_op = operation(
    "_sparse_sparse_matmul(Tensor self, Tensor other)",
    "of_sparse",
    node="SparseSparseMatmulBackward0",
    self=lambda f, grad, self, other: _masked(f, f._sparse_sparse_matmul(grad, f.conj(f.t(other))), self),
    other=lambda f, grad, self, other: _masked(f, f._sparse_sparse_matmul(f.conj(f.t(self)), grad), other),
)
sum_op = operation(
    "_sparse_sum(Tensor self, int[] dim)",
    "of_sparse",
    node="SparseSumBackward0",
    self=lambda f, grad, self, dim: f._sparse_sum_backward(grad, self, dim),
)
operation(
    "_sparse_sum_backward(Tensor grad, Tensor self, int[] dim)",
    "of_sparse",
    grad=no_derivative("_sparse_sum_backward"),
)
softmax_op, log_softmax_op = (
    operation(
        f"_sparse_{name}(Tensor self, int dim)",
        "of_sparse",
        node=f"Sparse{node}Backward0",
        self=backward,
    )
    for name, node, backward in (
        ("softmax", "Softmax", lambda f, grad, result, dim: f._sparse_softmax_backward(grad, result, dim)),
        ("log_softmax", "LogSoftmax", lambda f, grad, result, dim: f._sparse_log_softmax_backward(grad, result, dim)),
    )
)
for _name in ("softmax", "log_softmax"):
    operation(
        f"_sparse_{_name}_backward(Tensor grad, Tensor output, int dim)",
        "of_sparse",
        saves_all=True,
        grad=no_derivative(f"_sparse_{_name}_backward"),
        output=no_derivative(f"_sparse_{_name}_backward"),
    )


def _raw(x: Any) -> Any:
    return getattr(x, "_ag_raw", x)


def _is_sparse(x: Any) -> bool:
    return isinstance(_raw(x), Sparse)


def _dense(f: Any, grad: Any) -> Any:
    return f._to_dense(grad) if _is_sparse(grad) else grad


def _masked(f: Any, grad: Any, like: Any) -> Any:
    return f.sparse_mask(grad, like) if _is_sparse(like) else _dense(f, grad)


def _positions(x: Any) -> Tensor:
    return make(_raw(x).coo().indices)


def _with_values(f: Any, like: Any, values: Any) -> Any:
    raw = _raw(like)
    if isinstance(raw, Csr):
        return f.sparse_compressed_tensor(raw.shape, make(raw.crow), make(raw.columns), values)
    return f._sparse_coo_tensor_with_dims_and_tensors(raw.shape, raw.coalesced, make(raw.indices), values)


# ---------------------------------------------------------------- made of indices and values


def _prepared(values: Any, dtype: Any) -> Tensor:
    made = values if isinstance(values, Tensor) else functions["tensor"](values)
    return made if dtype is None or made.dtype is dtype else made.to(dtype)


def _finished(made: Tensor, requires_grad: bool) -> Tensor:
    return made.detach().requires_grad_() if requires_grad else made


def _numbers(indices: Any) -> Any:
    raw = _raw(indices if isinstance(indices, Tensor) else functions["tensor"](indices))
    return raw.astype(np.int64)


@composite(method=False)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of which only the elements at `indices` (a column each) are kept; values at the same position add up.

    RuntimeError where indices, values and size do not fit together.

    >>> from autograph_cli import torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        shape = tuple(indices if size is None else size)
        empty = functions["empty"](0, dtype=dtype)
        return _finished(make(Coo(np.empty((len(shape), 0), np.int64), empty._ag_raw, shape, False)), requires_grad)
    positions, kept = _numbers(indices), _prepared(values, dtype)
    if positions.ndim != 2:
        if positions.ndim == 1 and size is not None:
            raise RuntimeError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
                f"{len(positions)}, dense_dim = {max(kept.ndim - 1, 0)}"
            )
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(positions.shape)}")
    if kept.ndim == 0:
        kept = kept.expand(positions.shape[1])
    shape = _checked_shape(positions, kept._ag_raw.shape, size)
    return _finished(_run(make_coo, shape, bool(is_coalesced), make(positions), kept), requires_grad)


def _checked_shape(positions: Any, values: tuple[int, ...], size: Any) -> tuple[int, ...]:
    """The shape of a tensor by coordinates, where everything fits."""
    count, dense = len(positions), values[1:]
    if positions.shape[1] != values[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {positions.shape[1]}, nnz from values: "
            f"{values[0]}"
        )
    low = positions.min(1, initial=0)
    if (low < 0).any():
        d = int(np.flatnonzero(low < 0)[0])
        raise RuntimeError(f"found negative index {low[d]} for dim {d}")
    needed = positions.max(1, initial=-1) + 1
    if size is None:
        return (*map(int, needed), *dense)
    shape = tuple(map(int, size))
    if len(shape) != count + len(dense):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {count}, "
            f"dense_dim = {len(dense)}"
        )
    for d in range(count):
        if needed[d] > shape[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index {needed[d] - 1}"
            )
    if shape[count:] != dense:
        raise RuntimeError(f"values has incorrect size, expected {[values[0], *shape[count:]]}, got {list(values)}")
    return shape


@composite(method=False)
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix whose kept elements stand row by row: those of row r from `crow_indices[r]` to `crow_indices[r + 1]`.

    RuntimeError where the indices, values and size do not fit together.
    """
    crow, columns, kept = _numbers(crow_indices), _numbers(col_indices), _prepared(values, dtype)
    if crow.ndim != 1 or columns.ndim != 1 or kept.ndim != 1:
        raise NotImplementedError("torch.sparse_csr_tensor: only plain matrices are available in autograph's engine")
    shape = (len(crow) - 1, int(columns.max(initial=-1)) + 1) if size is None else tuple(map(int, size))
    steps = np.diff(crow)
    if len(shape) != 2 or len(crow) != shape[0] + 1:
        raise RuntimeError(f"crow_indices.shape[-1] must be equal to nrows + 1 = {shape[0] + 1}, but got {len(crow)}")
    if crow[0] != 0 or (steps < 0).any() or crow[-1] != len(columns):
        raise RuntimeError("crow_indices must begin with 0, never fall, and end with nnz, the number of col_indices")
    if len(columns) != kept._ag_raw.shape[0]:
        raise RuntimeError(
            f"col_indices and values must have the same nnz, but got {len(columns)} and {kept._ag_raw.shape[0]}"
        )
    if len(columns) and not 0 <= columns.min() <= columns.max() < shape[1]:
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")
    return _finished(_run(make_csr, shape, make(crow), make(columns), kept), requires_grad)


# ---------------------------------------------------------------- what they are made of


def _coo(tensor: Tensor, name: str) -> Coo:
    if not isinstance(tensor._ag_raw, Coo):
        layout = _LAYOUTS.get(tensor._ag_raw.__class__, "Strided")
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout}")
    return tensor._ag_raw


def _csr(tensor: Tensor, name: str) -> Csr:
    if not isinstance(tensor._ag_raw, Csr):
        layout = _LAYOUTS.get(tensor._ag_raw.__class__, "Strided")
        raise RuntimeError(f"{name} expected sparse row compressed tensor layout but got {layout}")
    return tensor._ag_raw


def _fact(name: str, ask: Callable[[Tensor], Any], doc: str) -> None:
    def run(self: Tensor) -> Any:
        return ask(self)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = doc
    composite(function=False, name=name)(run)


def _need_coalesced(tensor: Tensor, what: str) -> Coo:
    coo = _coo(tensor, what)
    if not coo.coalesced:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")
    return coo


def _count(tensor: Tensor) -> int:
    if not _is_sparse(tensor):
        raise NotImplementedError(
            "Could not run 'aten::_nnz' with arguments from the 'CPU' backend: the tensor is dense"
        )
    return len(tensor._ag_raw.values)


_fact("_indices", lambda x: make(_coo(x, "_indices").indices), "Where the kept elements are, a column each.")
_fact("_values", lambda x: make(_coo(x, "_values").values), "The kept elements.")
_fact("_nnz", _count, "How many elements are kept.")
_fact("indices", lambda x: make(_need_coalesced(x, "indices").indices), "Where the kept elements are, each once.")
_fact("is_coalesced", lambda x: _coo(x, "is_coalesced").coalesced, "Whether each place is there once, in order.")
_fact("sparse_dim", lambda x: len(_coo(x, "sparse_dim").indices), "In how many dimensions elements are left out.")
_fact("dense_dim", lambda x: x.ndim - len(_coo(x, "dense_dim").indices), "The dimensions of one kept element.")
_fact("crow_indices", lambda x: make(_csr(x, "crow_indices").crow), "Where each row begins, and the last one ends.")
_fact("col_indices", lambda x: make(_csr(x, "col_indices").columns), "The columns of the kept elements.")


@composite(function=False)
def values(self: Tensor) -> Tensor:
    """The kept elements, each position once."""
    if not isinstance(self._ag_raw, Csr):
        _need_coalesced(self, "values")
    return values_op(self)


@composite(function=False)
def coalesce(self: Tensor) -> Tensor:
    """The same with each position once, in order."""
    return self if _coo(self, "coalesce").coalesced else coalesce_op(self)


# ---------------------------------------------------------------- to other layouts


@composite(function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The same values as an ordinary tensor; itself where it is one."""
    if not _is_sparse(self):
        return self if dtype is None else self.to(dtype)
    made = to_dense_op(self)
    return made if dtype is None else made.to(dtype)


def _check_sparse_dim(raw: Sparse, sparse_dim: int) -> None:
    have = len(raw.indices) if isinstance(raw, Coo) else 2
    if sparse_dim != have:
        start, wanted = "to_sparse: conversion from Sparse", "self.sparse_dim()"
        if isinstance(raw, Csr):
            start, wanted = "sparse_compressed_to_sparse: conversion from SparseCsr", "2"
        raise RuntimeError(f"{start} to Sparse with sparse_dim argument !={wanted} is not supported")


@composite(function=False)
def to_sparse(self: Tensor, sparse_dim: Any = None, *, layout: Any = None, **options: Any) -> Tensor:
    """The elements that are not zero, by coordinates; with `layout=torch.sparse_csr`, row by row.

    Of a dense tensor the last `ndim - sparse_dim` dimensions stay whole.
    """
    if isinstance(sparse_dim, type(strided)):
        sparse_dim, layout = None, sparse_dim
    if layout not in (None, sparse_coo, sparse_csr) or options:
        raise NotImplementedError(
            f"Tensor.to_sparse: layout {layout or options} is not available in autograph's engine"
        )
    if layout is sparse_csr:
        return self if isinstance(self._ag_raw, Csr) else _run(to_sparse_op, self, True)
    if isinstance(self._ag_raw, Sparse) and sparse_dim is not None:
        _check_sparse_dim(self._ag_raw, sparse_dim)
    if isinstance(self._ag_raw, Coo):
        return self
    if sparse_dim is None:
        return _run(to_sparse_op, self, False)
    if self.ndim and not 0 < sparse_dim <= self.ndim:
        raise RuntimeError(f"sparse_dim argument must be in [1, {self.ndim}] range, but {sparse_dim} is given")
    return _run(to_rows_op, self, sparse_dim)


@composite(function=False)
def to_sparse_coo(self: Tensor) -> Tensor:
    """The elements that are not zero, by coordinates."""
    return to_sparse(self)


@composite(function=False)
def to_sparse_csr(self: Tensor, dense_dim: Any = None) -> Tensor:
    """The elements of a matrix that are not zero, row by row."""
    if dense_dim:
        raise NotImplementedError("Tensor.to_sparse_csr: dense dimensions are not available in autograph's engine")
    return self if isinstance(self._ag_raw, Csr) else _run(to_csr_op, self)


@composite(function=False)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return what the tensor has in the positions that a sparse one keeps."""
    if not _is_sparse(mask):
        raise RuntimeError("sparse_mask: the mask must be a sparse tensor")
    if self._ag_raw.shape != mask._ag_raw.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    return mask_op(self, mask)


# ---------------------------------------------------------------- torch.sparse


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of which the first is sparse, or the second, or both."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError("torch.sparse.mm: both must be matrices")
    if _is_sparse(mat1) and _is_sparse(mat2):
        return matmul_op(mat1, mat2)
    return addmm(functions["zeros"]((), dtype=mat1.dtype), mat1, mat2, beta=0)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), where mat1 is sparse."""
    if mat1._ag_raw.shape[1] != mat2._ag_raw.shape[0]:
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {mat1._ag_raw.shape[1]}, got {mat2._ag_raw.shape[0]}"
        )
    return addmm_op(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all kept elements, or along dimensions, which stays sparse as long as a sparse one is left."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        total: Tensor = functions["sum"](values(coalesce(input)) if isinstance(input._ag_raw, Coo) else values(input))
        return total
    _coo(input, "sum")
    dims = tuple(d % input.ndim for d in ((dim,) if isinstance(dim, int) else dim))
    return sum_op(input, dims)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The softmax over the kept elements along a dimension: those left out count as minus infinity."""
    input = input if dtype is None else input.to(dtype)
    _coo(input, "softmax")
    return softmax_op(input, dim % input.ndim)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    input = input if dtype is None else input.to(dtype)
    _coo(input, "log_softmax")
    return log_softmax_op(input, dim % input.ndim)


# ---------------------------------------------------------------- gradients of embeddings


def _embedding_sparse_backward(grad: Tensor, indices: Tensor, *options: Any) -> Tensor:
    if thread_state.grad and grad.requires_grad:
        raise NotImplementedError("sparse gradients cannot be recorded (create_graph=True) in autograph's engine yet")
    return make(cpu.embedding_sparse_backward(grad._ag_raw, indices._ag_raw, *options))


operations.embedding_sparse_backward = _embedding_sparse_backward


def no_rows(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Coo:
    """A sparse zero."""
    return Coo(np.empty((1, 0), np.int64), np.empty((0, *shape[1:]), dtype), shape)
