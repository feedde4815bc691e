"""Products of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._core.base import dims
from ..._core.base.dtype_checks import same_for_addmm, same_for_addmv, same_for_product, same_scalar
from ..._core.base.dtypes import cpp_name
from ..._core.operations import flops
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor, Wrapped
from ..._core.transforms import batching_rules
from ..pointwise import arithmetic
from ..shaping import broadcasting, views

mm = operation(
    "mm(Tensor self, Tensor mat2)",
    float8="numbers",
    linear="each",
    autocast="lower_precision_fp",
    batch=batching_rules.mm,
    flops=flops.product(0),
    self=lambda f, grad, mat2, self_sizes, self_strides, total: mm_left(f, grad, mat2, self_sizes, self_strides, total),
    mat2=lambda f, grad, self, mat2_sizes, mat2_strides, total: mm_right(
        f, grad, self, mat2_sizes, mat2_strides, total
    ),
)
mv = operation(
    "mv(Tensor self, Tensor vec)",
    linear="each",
    batch=batching_rules.mv,
    self=lambda f, grad, vec: f.ger(grad, f.conj(vec)),
    vec=lambda f, grad, self: f.mv(f.t(f.conj(self)), grad),
)
dot = operation(
    "dot(Tensor self, Tensor tensor)",
    linear="each",
    refuses={"b": "dot"},
    batch=batching_rules.dot,
    self=lambda f, grad, tensor: grad * f.conj(tensor),
    tensor=lambda f, grad, self: grad * f.conj(self),
)
bmm = operation(
    "bmm(Tensor self, Tensor mat2)",
    linear="each",
    autocast="lower_precision_fp",
    batch=batching_rules.mm,
    flops=flops.product(0),
    self=lambda f, grad, mat2: f.bmm(grad, f.conj(f.transpose(mat2, 1, 2))),
    mat2=lambda f, grad, self: f.bmm(f.conj(f.transpose(self, 1, 2)), grad),
)
addmm = operation(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
    autocast="lower_precision_fp",
    batch=batching_rules.addmm,
    flops=flops.product(1),
    self=lambda f, grad, beta: arithmetic.scaled(f, grad, beta),
    mat1=lambda f, grad, mat2, mat1_sizes, mat1_strides, alpha: arithmetic.scaled(
        f, mm_left(f, grad, mat2, mat1_sizes, mat1_strides), alpha
    ),
    mat2=lambda f, grad, mat1, mat2_sizes, mat2_strides, alpha: arithmetic.scaled(
        f, mm_right(f, grad, mat1, mat2_sizes, mat2_strides), alpha
    ),
)


def mm_left(f: Any, grad: Any, right: Any, sizes: Any, strides: Any, total: Any = None) -> Any:
    """grad @ right.T, laid out as the left factor is; `total` with it added, if there is one."""
    if _column_major(sizes, strides):
        return f.t(f.mm(f.conj(right), f.t(grad)))
    return _added(f, total, grad, f.conj(f.t(right)))


def mm_right(f: Any, grad: Any, left: Any, sizes: Any, strides: Any, total: Any = None) -> Any:
    """left.T @ grad, laid out as the right factor is; `total` with it added, if there is one."""
    if _column_major(sizes, strides):
        return f.t(f.mm(f.t(grad), f.conj(left)))
    return _added(f, total, f.conj(f.t(left)), grad)


def _added(f: Any, total: Any, left: Any, right: Any) -> Any:
    if total is not None and f.add_product(total, left, right):
        return total
    return f.mm(left, right)


def _column_major(sizes: Any, strides: Any) -> bool:
    return bool(strides[0] == 1 and strides[1] == sizes[0])


@composite(name="mm", out=True)
@autocasts("lower_precision_fp")
def mm_(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    if input._ag_raw.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2._ag_raw.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _fits(input, mat2)
    same_for_product(input, mat2)
    return mm(input, mat2)


def _fits(a: Tensor, b: Tensor) -> None:
    if a._ag_raw.shape[-1] != b._ag_raw.shape[0]:
        (n, m), (k, p) = a._ag_raw.shape, b._ag_raw.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{m} and {k}x{p})")


@composite(method=False)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: the name that scripts use for a sparse first one, which PyTorch takes dense as
    well."""
    return mm_(input, mat2)


@composite(method=False)
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Another name of `mm`."""
    return mm_(input, mat2)


@composite(name="mv", out=True)
def mv_(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector."""
    if input._ag_raw.ndim != 2 or vec._ag_raw.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {1}, {input.ndim}, {vec.ndim}")
    if input._ag_raw.shape[1] != vec._ag_raw.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input._ag_raw.shape[0]}), mat "
            f"({input._ag_raw.shape[0]}x{input._ag_raw.shape[1]}), vec ({vec._ag_raw.shape[0]})"
        )
    same_for_addmv(vec, input, vec)
    return mv(input, vec)


@composite(name="dot", out=True)
@autocasts("")
def dot_(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors."""
    check_dot(input, tensor)
    return dot(input, tensor)


def check_dot(input: Tensor, tensor: Tensor) -> None:
    """Raise PyTorch's error for what has no inner product."""
    if input._ag_raw.ndim != 1 or tensor._ag_raw.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input._ag_raw.dtype != tensor._ag_raw.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {cpp_name(input._ag_raw.dtype)} and "
            f"{cpp_name(tensor._ag_raw.dtype)}"
        )
    if input._ag_raw.shape != tensor._ag_raw.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(input._ag_raw.shape)} and src "
            f"{list(tensor._ag_raw.shape)} to "
            f"have the same number of elements, but got {input._ag_raw.size} and {tensor._ag_raw.size} "
            "elements respectively"
        )


@composite(name="bmm", out=True)
@autocasts("lower_precision_fp")
def bmm_(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of matrices, batch by batch."""
    if input._ag_raw.ndim != 3 or mat2._ag_raw.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input._ag_raw.ndim != 3 else "batch2 must be a 3D tensor")
    (b, _n, m), (c, k, _p) = input._ag_raw.shape, mat2._ag_raw.shape
    if b != c or m != k:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {m}] but got: [{c}, {k}]."
        )
    same_scalar(input, mat2)
    return bmm(input, mat2)


@composite(out=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Every product of an element of one vector with one of the other."""
    if input._ag_raw.ndim != 1 or vec2._ag_raw.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument {'self' if input.ndim != 1 else 'vec2'}, but got "
            f"{max(input.ndim, vec2.ndim)}-D"
        )
    return arithmetic.mul(views.reshape(input, (input._ag_raw.size, 1)), vec2)


@composite(out=True)
@autocasts("lower_precision_fp")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, composed as PyTorch composes it for each pair of dimensions.

    >>> from autograph_cli import torch
    >>> torch.matmul(torch.eye(2), torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    n, m = input._ag_raw.ndim, other._ag_raw.ndim
    if n == 2 == m:
        return _mm(input, other)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot_(input, other)
    if n == 2 and m == 1:
        return mv_(input, other)
    if n == 1 and m == 2:
        return views.squeeze_in_place(_mm(views.unsqueeze_op(input, 0), other), 0)
    if n == m == 3:
        input, other = _without_single_batch(input, other)
        n, m = input._ag_raw.ndim, other._ag_raw.ndim
    if (n > 2) != (m > 2) and _should_fold(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _without_single_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Take a batch of a single matrix that needs a gradient as that matrix, where it is one of two batches."""
    left, right = a._ag_raw.shape, b._ag_raw.shape
    if (left[0] == 1) != (right[0] == 1):
        if right[0] == 1 and b.requires_grad:
            return a, views.squeeze_dim(b, 0)
        if left[0] == 1 and a.requires_grad:
            return views.squeeze_dim(a, 0), b
    return a, b


def _should_fold(a: Tensor, b: Tensor) -> bool:
    """Return whether a batch can be folded into the rows of one product with a matrix or a vector without a copy (or
    must, for a gradient)."""
    n, m = a._ag_raw.ndim, b._ag_raw.ndim
    big, small = (a, b) if n > m else (b, a)
    if small.requires_grad:
        return True
    if n == 2:
        return False
    if big._ag_raw.size == 0:
        return True
    shape, strides = big._ag_raw.shape, big._ag_raw.strides
    return all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(big.ndim - 2))


def _folded(a: Tensor, b: Tensor) -> Tensor:
    swapped = b.ndim > a.ndim
    if swapped:
        big = views.transpose(b, -2, -1)
        small = views.t_op(a) if a.ndim == 2 else a
    else:
        big, small = a, b
    shape = big._ag_raw.shape
    rows = views.reshape(big, (math.prod(shape[:-1]), shape[-1]))
    if small.ndim == 1:
        return views.unsafe_view(mv_(rows, small), shape[:-1])
    out = views.unsafe_view(_mm(rows, small), (*shape[:-1], small._ag_raw.shape[1]))
    return operations.contiguous(views.transpose(out, -2, -1)) if swapped else out


def _batched(a: Tensor, b: Tensor) -> Tensor:
    left, right = a._ag_raw.shape, b._ag_raw.shape
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    batch = left[:-2] if left[:-2] == right[:-2] else dims.broadcast(left[:-2], right[:-2])
    count = math.prod(batch)
    first = (*(rows or (1,)), left[-1])
    second = right[-2:] if columns else (right[0], 1)
    b = b if columns else views.unsqueeze_op(b, 1)
    a = views.reshaped(broadcasting.expand_op(a, (*batch, *first)), (count, *first))
    b = views.reshaped(broadcasting.expand_op(b, (*batch, *second)), (count, *second))
    return views.unsafe_view(_bmm(a, b), (*batch, *rows, *columns))


@composite(name="addmm", out=True)
@autocasts("lower_precision_fp")
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    left, right = mat1._ag_raw, mat2._ag_raw
    alike = input._ag_raw.dtype is left.dtype is right.dtype
    if not alike or left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        check_addmm(input, mat1, mat2)
    return addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    """RuntimeError for shapes and dtypes that `addmm` does not take."""
    left, right = mat1._ag_raw, mat2._ag_raw
    if not input._ag_raw.dtype is left.dtype is right.dtype:
        same_for_addmm(input, mat1, mat2)
    if left.ndim != 2 or right.ndim != 2:
        raise RuntimeError(
            f"{'mat1' if mat1.ndim != 2 else 'mat2'} must be a matrix, got "
            f"{mat1.ndim if mat1.ndim != 2 else mat2.ndim}-D tensor"
        )
    if left.shape[1] != right.shape[0]:
        _fits(mat1, mat2)


@autocasts("lower_precision_fp")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, composed as PyTorch composes it: one `addmm` where the rows are one after the other."""
    if bias is None:
        return matmul(input, views.t(weight))
    if input._ag_raw.ndim == 2:
        return _addmm(bias, input, views.t(weight))
    if input._ag_raw.ndim == 0:
        raise RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D")
    if not input._ag_raw.flags.c_contiguous:
        product = matmul(input, views.t(weight))
        return arithmetic.add(product, bias) if isinstance(bias, Wrapped) else product.add_(bias)
    shape = input._ag_raw.shape
    rows = views.view_op(input, (math.prod(shape[:-1]), shape[-1]))
    return views.view_op(_addmm(bias, rows, views.t(weight)), (*shape[:-1], weight._ag_raw.shape[0]))


_mm: Callable[..., Tensor]
_bmm: Callable[..., Tensor]
_addmm: Callable[..., Tensor]
_mm, _bmm, _addmm = (vars(run)["__wrapped__"] for run in (mm_, bmm_, addmm_))
"""As parts of `matmul` and `linear`, which have cast already."""
operations.ger, operations.matmul = outer, matmul
