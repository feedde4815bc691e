"""Norms of vectors and matrices, condition and rank."""

from __future__ import annotations

import math
from typing import Any

from ..._core.arguments.arg_check import Handed, hands_on
from ..._core.base import dims, dtypes
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms.vmap_fallback import per_sample
from ..matrices._matrix import check_floating, check_matrix
from ..matrices.decompositions import svdvals
from ..matrices.solvers import inv_ex_op, tolerances
from ..pointwise import arithmetic
from ..shaping import views
from .reductions import sum_dim, vector_norm as vector_norm_op

finite_op = operation(
    "nan_to_num.finite(Tensor self, float nan)",
    node="NanToNumBackward0",
    pointwise=True,
    self=lambda f, grad, self: grad * f.cast_like(f.isfinite(self), grad),
)


def _numpy(dtype: Any) -> Any:
    return None if dtype is None else dtypes.numpy_dtype(dtype)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of all elements, or of vectors along `dim`.

    >>> from autograph_cli import torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, -4.0]), 1)
    tensor(7.)
    """
    check_floating_or_low("linalg.vector_norm", x)
    folded = None if dim is None else dims.wrap_all(dim, x.ndim)
    shape = x._ag_raw.shape
    if ord < 0 or math.isinf(ord):
        for d in folded or range(x.ndim):
            if shape and shape[d] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {float(ord):g} norm on an empty tensor because the "
                    "operation does not have an identity"
                    if not folded
                    else f"linalg.vector_norm cannot compute the {float(ord):g} norm on the dimension {d} because this "
                    "dimension is empty and "
                    "the operation does not have an identity"
                )
    _check_norm_dtype("linalg.vector_norm", x, dtype)
    return vector_norm_op(x, ord, folded, keepdim, dtype=_numpy(dtype))


def check_floating_or_low(name: str, x: Tensor) -> None:
    if dtypes.CATEGORY[x._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {dtypes.cpp_name(x._ag_raw.dtype)}"
        )


def _check_norm_dtype(name: str, x: Tensor, dtype: Any) -> None:
    if dtype is None:
        return
    if dtype.category < dtypes.FLOATING:
        text = f"dtype should be floating point or complex, but got {dtypes.cpp_name(dtype.numpy)}"
        raise RuntimeError(f"{name}: {text}")
    if dtype.is_complex != x.dtype.is_complex:
        side = "complex" if x.dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {side} for {side} inputs, but got {dtypes.cpp_name(dtype.numpy)}")
    kind = x._ag_raw.dtype
    if dtypes.promote(kind, dtype.numpy) != dtype.numpy:
        raise RuntimeError(
            f"{name}: the dtype of the input ({dtypes.cpp_name(kind)}) should be convertible without narrowing to the "
            f"specified dtype ({dtypes.cpp_name(dtype.numpy)})"
        )


@autocasts("")
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of matrices: by all elements ('fro'), singular values (2, -2, 'nuc'), rows (inf) or columns (1)."""
    name = "linalg.matrix_norm"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    check_floating_or_low(name, A)
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(
            f"{name}: dim must be a 2-tuple. Got {'' if isinstance(dim, int) else ' '.join(map(str, dim))}"
        )
    first, second = (int(dims.wrap(d, A.ndim)) for d in dim)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    _check_norm_dtype(name, A, dtype)
    if ord == "fro":
        return vector_norm_op(A, 2, (first, second), keepdim, dtype=_numpy(dtype))
    if ord == "nuc" or ord in (2, -2):
        return _spectral(A, ord, first, second, keepdim, dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if abs(ord) not in (1, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if abs(ord) == 1:
        first, second = second, first
    # Sums over `second`, then an extreme over `first`.
    first -= first > second and not keepdim
    sums = vector_norm_op(A, 1.0, (second,), keepdim, dtype=_numpy(dtype))
    result: Tensor = functions["amax" if ord > 0 else "amin"](sums, first, keepdim)
    return result


def _spectral(A: Tensor, ord: Any, first: int, second: int, keepdim: bool, dtype: Any) -> Tensor:
    n = A.ndim
    order = (*(d for d in range(n) if d not in (first, second)), first, second)
    x = A if dtype is None or A.dtype is dtype else operations._to_copy(A, dtype.numpy)
    values = svdvals(views.permute_op(x, order))
    if ord == "nuc":
        result = sum_dim(values, dims.wrap_all(-1, values.ndim), keepdim)
    else:
        result = functions["amax" if ord > 0 else "amin"](values, -1, keepdim)
    if not keepdim:
        return result
    result = views.unsqueeze(result, -1)
    back = (*order[:-2], n - 2, n - 1)
    return views.permute_op(result, tuple(order.index(d) for d in range(n))) if back else result


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of a vector, or of a matrix if `ord` is given and A (or `dim`) has two dimensions."""
    folded = None if dim is None else ((dim,) if isinstance(dim, int) else tuple(dim))
    if folded is not None and ord is not None and len(folded) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(folded)}")
    if isinstance(ord, str):
        if folded is not None and len(folded) != 2:
            raise RuntimeError(f"linalg.norm: If ord is a string, dim must have length 2. Got {list(folded)}")
        if folded is None and A.ndim > 2:
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
            )
        return matrix_norm(A, ord, (0, 1) if folded is None else folded, keepdim, dtype=dtype)
    if ord is not None:
        if folded is None and A.ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
            )
        if (folded is None and A.ndim == 2) or (folded is not None and len(folded) == 2):
            return matrix_norm(A, ord, (0, 1) if folded is None else folded, keepdim, dtype=dtype)
        return vector_norm(A, ord, folded, keepdim, dtype=dtype)
    return vector_norm(A, 2.0, folded, keepdim, dtype=dtype)


def _norm_of(input: Any, p: Any = "fro", dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Handed:
    folded = [dim] if isinstance(dim, int) else dim
    named = {"dtype": dtype}
    if isinstance(p, str) and not (p == "fro" and (folded is None or len(folded) <= 2)):
        return (
            "linalg",
            "matrix_norm",
            (input, p, list(range(input._ag_raw.ndim)) if folded is None else folded, keepdim),
            named,
        )
    return "linalg", "vector_norm", (input, 2 if p == "fro" else 2.0 if p is None else p, folded, keepdim), named


@composite(name="norm", out=True)
@hands_on(_norm_of)
def legacy_norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of all elements, or over `dim`; 'fro' and 'nuc' as in `torch.linalg.matrix_norm`."""
    folded = (dim,) if isinstance(dim, int) else dim
    if p == "fro" and (dim is None or len(folded) <= 2):
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if isinstance(p, str):
        return matrix_norm(input, p, tuple(range(input._ag_raw.ndim)) if dim is None else folded, keepdim, dtype=dtype)
    return vector_norm(input, 2.0 if p is None else p, dim, keepdim, dtype=dtype)


@composite(method=False, out=True)
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over `dim`, over all dimensions without one."""
    return vector_norm(input, 2, dim, keepdim)


@composite(method=False, out=True)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of the matrices that the two dimensions `dim` span."""
    return matrix_norm(input, "nuc", dim, keepdim)


@autocasts("fp32")
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return how much a solution with A can magnify errors: norm(A) * norm(inverse(A))."""
    check_floating("linalg.cond", A)
    if p in (None, 2, -2):
        values = svdvals(A)
        n, last = values._ag_raw.shape[-1], dims.wrap(-1, values.ndim)
        largest, smallest = (views.slice_op(values, last, i, i + 1, 1) for i in (0, n - 1))
        ratio = arithmetic.true_divide(smallest, largest) if p == -2 else arithmetic.true_divide(largest, smallest)
        return views.squeeze_dim(ratio, last)
    check_matrix(f"linalg.cond(ord={p})", A)
    if p == "nuc":
        values = svdvals(A)
        over = (values.ndim - 1,)
        inverted = sum_dim(operations.reciprocal(values), over)
        return arithmetic.mul(sum_dim(values, over), inverted)
    if p not in ("fro", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    inverse, info = inv_ex_op(A)
    failed = info > 0
    inverse.masked_fill_(failed.unsqueeze(-1).unsqueeze(-1), math.inf)
    return finite_op(arithmetic.mul(matrix_norm(A, p), matrix_norm(inverse, p)), math.inf)


@per_sample
@autocasts("fp32")
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Return how many singular values exceed the tolerances."""
    check_matrix("linalg.eigh" if hermitian and A.ndim > 1 else "linalg.matrix_rank", A, square=hermitian)
    f, raw = kernels(A._ag_raw), A._ag_raw
    low, relative = (getattr(tol, "_ag_raw", tol), 0.0) if tol is not None else tolerances(A, atol, rtol)
    if not raw.size:
        return make(f.xp.zeros(raw.shape[:-2], "int64")[()])
    values = abs(f.linalg_eigh(raw, "L", False)[0]) if hermitian else f.linalg_svd(raw, False, False)[1]
    return make((values > f.cut(values.max(-1, keepdims=True), low, relative)).sum(-1).astype("int64"))
