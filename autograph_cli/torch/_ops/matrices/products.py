"""Products beyond `matmul`: with a sum added, of many tensors, over chosen dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.base import dims, dtypes
from ..._core.base.dtype_checks import same_for_addmm, same_for_addmv, same_for_baddbmm, same_scalar
from ..._core.base.dtypes import c_name, cpp_name
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn, warn_once
from ..._core.operations import flops
from ..._core.operations.docstrings import documented, in_place
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, functions, methods
from ..._core.running.autocast import autocasts
from ..._core.running.dispatch import put
from ..._core.running.inplace import run_inplace
from ..._core.running.views import check_inplace
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..pointwise import arithmetic
from ..pointwise.arithmetic import scaled
from ..reducing.cumulative import cumprod_op
from ..reducing.reductions import sum_all, sum_dim
from ..shaping import broadcasting, views
from . import linear

addmv_op = operation(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
    batch=batching_rules.addmv,
    self=lambda f, grad, beta: scaled(f, grad, beta),
    mat=lambda f, grad, vec, alpha: scaled(f, f.ger(grad, f.conj(vec)), alpha),
    vec=lambda f, grad, mat, alpha: scaled(f, f.mv(f.conj(f.t(mat)), grad), alpha),
)
addr_op = operation(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)",
    batch=batching_rules.addr,
    self=lambda f, grad, beta: scaled(f, grad, beta),
    vec1=lambda f, grad, vec2, alpha: scaled(f, f.mv(grad, f.conj(vec2)), alpha),
    vec2=lambda f, grad, vec1, alpha: scaled(f, f.mv(f.t(grad), f.conj(vec1)), alpha),
)
baddbmm_op = operation(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
    autocast="lower_precision_fp",
    batch=batching_rules.baddbmm,
    flops=flops.product(1),
    self=lambda f, grad, beta: scaled(f, grad, beta),
    batch1=lambda f, grad, batch2, alpha: scaled(f, f.bmm(grad, f.conj(f.transpose(batch2, 1, 2))), alpha),
    batch2=lambda f, grad, batch1, alpha: scaled(f, f.bmm(f.conj(f.transpose(batch1, 1, 2)), grad), alpha),
)
addbmm_op = operation(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
    saved={
        "batch1_sizes": None,
        "batch2_sizes": None,
        "batch1_sym_argsize_0": lambda batch1_sizes: batch1_sizes[0],
        "batch1_sym_argsize_1": lambda batch1_sizes: batch1_sizes[1],
        "batch2_sym_argsize_2": lambda batch2_sizes: batch2_sizes[2],
    },
    autocast="lower_precision_fp",
    batch=batching_rules.addbmm,
    self=lambda f, grad, beta: scaled(f, grad, beta),
    batch1=lambda f, grad, batch2, batch1_sizes, batch2_sizes, alpha: scaled(
        f, f.bmm(_for_each(f, grad, batch1_sizes, batch2_sizes), f.conj(f.transpose(batch2, 1, 2))), alpha
    ),
    batch2=lambda f, grad, batch1, batch1_sizes, batch2_sizes, alpha: scaled(
        f, f.bmm(f.conj(f.transpose(batch1, 1, 2)), _for_each(f, grad, batch1_sizes, batch2_sizes)), alpha
    ),
)
vdot_op = operation(
    "vdot(Tensor self, Tensor other)",
    linear="each",
    batch=batching_rules.vdot,
    refuses={"b": "dot"},
    self=lambda f, grad, other: f.conj(grad) * other,
    other=lambda f, grad, self: grad * self,
)
cross_op = operation(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1)",
    linear="each",
    batch=batching.leading,
    self=lambda f, grad, other, dim: f.linalg_cross(f.conj(other), grad, dim=dim),
    other=lambda f, grad, self, dim: f.linalg_cross(grad, f.conj(self), dim=dim),
)


def _for_each(f: Any, grad: Any, left: Any, right: Any) -> Any:
    """The gradient of a sum of products, given to each of them."""
    return f.expand(f.unsqueeze(grad, 0), (left[0], left[1], right[2]))


# ---------------------------------------------------------------- with a sum added


def _check_addmv(input: Tensor, mat: Tensor, vec: Tensor) -> None:
    if mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    (n, m), k = mat._ag_raw.shape, vec._ag_raw.shape[0]
    if m != k or input._ag_raw.shape not in ((), (1,), (n,)):
        given = input._ag_raw.shape[0] if input.ndim else 1
        raise RuntimeError(f"size mismatch, got input ({given}), mat ({n}x{m}), vec ({k})")
    same_for_addmv(input, mat, vec)


def _check_addr(input: Tensor, vec1: Tensor, vec2: Tensor) -> None:
    for position, v in enumerate((vec1, vec2), 1):
        if v.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{position}, but got {v.ndim}-D")


def _check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> None:
    shape = [x._ag_raw.shape[dims.wrap(d, x.ndim, False)] for x, d in ((batch1, 0), (batch1, 1), (batch2, 2))]
    if input._ag_raw.shape != tuple(shape):
        broadcasting.expand(input.detach(), shape)  # which says what is wrong
    same_for_baddbmm(input, batch1, batch2)
    _batches(batch1, batch2)


def _check_addbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> None:
    _batches(batch1, batch2)
    same_for_addmm(input, batch1, batch2)


@composite(out=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    _check_addmv(input, mat, vec)
    return addmv_op(input, mat, vec, beta=beta, alpha=alpha)


@composite(out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    _check_addr(input, vec1, vec2)
    shape = vec1._ag_raw.shape[0], vec2._ag_raw.shape[0]
    if input.ndim > 2 or any(n not in (1, m) for n, m in zip(input._ag_raw.shape[::-1], shape[::-1], strict=False)):
        broadcasting.expand(input, shape)  # which says what is wrong
    return addr_op(input, vec1, vec2, beta=beta, alpha=alpha)


@composite(out=True)
@autocasts("lower_precision_fp")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), matrix by matrix."""
    _check_baddbmm(input, batch1, batch2)
    return baddbmm_op(input, batch1, batch2, beta=beta, alpha=alpha)


@composite(out=True)
@autocasts("lower_precision_fp")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * the sum of all products of two matrices."""
    _check_addbmm(input, batch1, batch2)
    return addbmm_op(input, batch1, batch2, beta=beta, alpha=alpha)


def _batches(a: Tensor, b: Tensor) -> None:
    for position, x in enumerate((a, b), 1):
        if x.ndim != 3:
            raise RuntimeError(f"batch{position} must be a 3D tensor")
    (n, _, k), (m, j, _) = a._ag_raw.shape, b._ag_raw.shape
    if n != m or k != j:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {k}] but got: [{m}, {j}]."
        )


def _check_addr_in_place(input: Tensor, vec1: Tensor, vec2: Tensor) -> None:
    _check_addr(input, vec1, vec2)
    if input.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {input.ndim}D tensor for input")
    n, m = vec1._ag_raw.shape[0], vec2._ag_raw.shape[0]
    if input._ag_raw.shape != (n, m):
        raise RuntimeError(f"size mismatch, input: {list(input._ag_raw.shape)}, v1: [{n}], v2: [{m}]")


def _check_addmm_in_place(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    linear.check_addmm(input, mat1, mat2)
    have, wanted = list(input._ag_raw.shape), [mat1._ag_raw.shape[0], mat2._ag_raw.shape[1]]
    if have != wanted:
        raise RuntimeError(f"Bad in-place call: input tensor size {have} and output tensor size {wanted} should match")


for _name, _op, _check in (
    ("addmm", linear.addmm, _check_addmm_in_place),
    ("addmv", addmv_op, _check_addmv),
    ("addr", addr_op, _check_addr_in_place),
    ("baddbmm", baddbmm_op, _check_baddbmm),
    ("addbmm", addbmm_op, _check_addbmm),
):

    def _in_place(
        input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1, _op: Any = _op, _check: Any = _check
    ) -> Tensor:
        check_inplace(input, a, b)
        _check(input, a, b)
        return run_inplace(_op.op, (input, a, b, beta, alpha))

    methods[f"{_name}_"] = documented(_in_place, in_place(_name), f"{_name}_")
    if _name == "addmv":
        functions["addmv_"] = _in_place


# ---------------------------------------------------------------- of vectors


@composite(out=True)
@autocasts("")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
    linear.check_dot(input, other)
    return vdot_op(input, other)


@composite(out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products over the last dimensions."""
    if input.ndim == 0 or other.ndim == 0:
        return arithmetic.mul(input, other)
    if input._ag_raw.shape[-1] != other._ag_raw.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._ag_raw.shape)} and {list(other._ag_raw.shape)}"
        )
    _same_kind(input, other)
    return tensordot(input, other, ([-1], [-1]))


@composite(out="partial")
@autocasts("")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along `dim`; by default along the first dimension of length 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release."
        )
        found = next((d for d, n in enumerate(input._ag_raw.shape) if n == 3), None)
        if found is None:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found
    return linalg_cross(input, other, dim=dim)


def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of length 3 along `dim`.

    >>> from autograph_cli import torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = dims.wrap(dim, input.ndim)
    if input._ag_raw.shape[d] != 3 or other._ag_raw.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input._ag_raw.shape[d]} and "
            f"{other._ag_raw.shape[d]}"
        )
    same_scalar(input, other)
    return cross_op(input, other, dim=d)


@autocasts("lower_precision_fp")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along `dim`, the first ones conjugated."""
    if x._ag_raw.dtype != y._ag_raw.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{cpp_name(x._ag_raw.dtype)} and y of type {cpp_name(y._ag_raw.dtype)} instead"
        )
    if x.ndim == y.ndim == 1:
        return vdot_op(x, y)
    return sum_dim(arithmetic.mul(x.conj(), y), (dims.wrap(dim, max(x.ndim, y.ndim)),))


# ---------------------------------------------------------------- of many


def _same_kind(a: Tensor, b: Tensor) -> None:
    if a._ag_raw.dtype != b._ag_raw.dtype:
        raise RuntimeError("both inputs should have same dtype")


@composite(method=False, out=True)
@autocasts("")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over the last `dims` dimensions of `a` and the first of `b`, or over two lists of dimensions.

    >>> from autograph_cli import torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), dims=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    _same_kind(a, b)
    left, right = _contracted(a, b, dims)
    said = (range(-len(left), 0), range(len(right))) if isinstance(dims, int) else (left, right)
    for i, j, in_a, in_b in zip(left, right, *said, strict=True):
        n, m = a._ag_raw.shape[i], b._ag_raw.shape[j]
        if m == 1:
            a = sum_dim(a, (i,), True, dtype=a._ag_raw.dtype)
        elif n == 1:
            b = sum_dim(b, (j,), True, dtype=b._ag_raw.dtype)
        elif n != m:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {in_a} and second has size {m} "
                f"in dim {in_b}"
            )
    shared = math.prod(a._ag_raw.shape[i] for i in left)
    free_a = tuple(i for i in range(a.ndim) if i not in left)
    free_b = tuple(j for j in range(b.ndim) if j not in right)
    size = (*(a._ag_raw.shape[i] for i in free_a), *(b._ag_raw.shape[j] for j in free_b))
    x, y = views.permute_op(a, (*free_a, *left)), views.permute_op(b, (*right, *free_b))
    if math.prod(size) == 1:
        return views.reshape(_all_products(x, y), size)
    rows = math.prod(a._ag_raw.shape[i] for i in free_a)
    columns = math.prod(b._ag_raw.shape[j] for j in free_b)
    product = linear.mm_(views.reshape(x, (rows, shared)), views.reshape(y, (shared, columns)))
    return views.reshape(product, size)


def _all_products(x: Tensor, y: Tensor) -> Tensor:
    """The sum of all products, as one inner product where both are in order."""
    if views.is_contiguous(x._ag_raw) and views.is_contiguous(y._ag_raw):
        return linear.dot_(views.flatten(x), views.flatten(y))
    return sum_all(arithmetic.mul(views.squeeze(x), views.squeeze(y)))


def _contracted(a: Tensor, b: Tensor, given: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, (tuple, list)):
        first, second = given
        first, second = ((d,) if isinstance(d, int) else tuple(d) for d in (first, second))
    else:
        if given < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={given}")
        if given > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={given}")
        first, second = tuple(range(-given, 0)), tuple(range(given))
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return dims.wrap_all(first, a.ndim), dims.wrap_all(second, b.ndim)


@composite(out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: `other` in place of each element of `input`, times it."""
    if not isinstance(other, Tensor):
        raise refused(TypeError, f"kron(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + input._ag_raw.shape
    b = (1,) * (n - other.ndim) + other._ag_raw.shape
    left = views.unsafe_view(input, tuple(x for size in a for x in (size, 1)))
    right = views.unsafe_view(other, tuple(x for size in b for x in (1, size)))
    return views.unsafe_view(arithmetic.mul(left, right), tuple(x * y for x, y in zip(a, b, strict=True)))


def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """The product of several matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors. RuntimeError if fewer than two are given or sizes do not fit.
    """
    return _put(_chain(list(tensors), "multi_dot"), out)


def _put(result: Tensor, out: Any) -> Tensor:
    if out is None:
        return result

    put(out, result)
    written: Tensor = out
    return written


@composite(method=False)
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of several matrices; `torch.linalg.multi_dot` is its successor."""
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    given = matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Tensor) else matrices
    for m in given:
        if m.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {m.ndim}, expected 2 instead.")
    return given[0] if len(given) == 1 else _put(_chain(list(given), "multi_dot"), out)


def _chain(tensors: list[Tensor], name: str) -> Tensor:
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"{name}(): expected at least 2 tensors but got {n}")
    shape: list[int] = []
    first, last = tensors[0], tensors[-1]
    _ends(first, 0, name)
    _ends(last, n - 1, name)
    if first.ndim == 1:
        tensors[0] = views.unsqueeze_op(first, 0)
    else:
        shape.append(first._ag_raw.shape[0])
    if last.ndim == 1:
        tensors[-1] = views.unsqueeze(last, -1)
    else:
        shape.append(last._ag_raw.shape[1])
    for i, t in enumerate(tensors):
        if t.ndim != 2:
            raise RuntimeError(f"{name}(): tensor {i} must be 2D but got {t.ndim}D")
        if t._ag_raw.dtype != first._ag_raw.dtype:
            raise RuntimeError(
                f"{name}(): all tensors must have be the same dtype but tensor 0 is {c_name(first._ag_raw.dtype)} and "
                f"tensor {i} {c_name(t._ag_raw.dtype)}"
            )
        if i and tensors[i - 1]._ag_raw.shape[1] != t._ag_raw.shape[0]:
            raise RuntimeError(
                f"{name}(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1]._ag_raw.shape)} and "
                f"{list(t._ag_raw.shape)} cannot be multiplied"
            )
    order = _cheapest([t._ag_raw.shape[0] for t in tensors] + [tensors[-1]._ag_raw.shape[1]])
    return views.view_op(_multiplied(tensors, order, 0, n - 1), tuple(shape))


def _ends(t: Tensor, position: int, name: str) -> None:
    if t.ndim not in (1, 2):
        which = "first" if position == 0 else "last"
        raise RuntimeError(f"{name}(): the {which} tensor must be 1D or 2D but got {t.ndim}D")


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return where to split each run of matrices, by dynamic programming; matrix i is sizes[i] x sizes[i + 1]."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], float] = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            # PyTorch decides ties to the left for three matrices, to the right for more.
            cost[i, j], split[i, j] = min(options, key=lambda o: (o[0], -o[1] if n == 3 else o[1]))
    return split


def _multiplied(tensors: list[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return tensors[i]
    k = split[i, j]
    return linear.mm_(_multiplied(tensors, split, i, k), _multiplied(tensors, split, k + 1, j))


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 ... N - 1 of each element, in a new last dimension."""
    if x.dtype in (dtypes.bool_, dtypes.float16, dtypes.bfloat16):
        kind = dtypes.cpp_name(x._ag_raw.dtype)
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {kind}")
    x = views.unsqueeze(x, -1) if x.ndim == 0 else x
    shape = x._ag_raw.shape
    n = N if N is not None else shape[-1]
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = cumprod_op(broadcasting.expand_op(views.unsqueeze(x, -1), (*shape, n - 1)), dims.wrap(-1, x.ndim + 1))
    result: Tensor = functions["cat"]([x.new_ones((*shape, 1), dtype=powers.dtype), powers], -1)
    return result


@composite(method=False, name="vander")
def legacy_vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element, falling unless `increasing`."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x._ag_raw.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    powers = x.new_empty(
        (x._ag_raw.shape[0], n), dtype=dtypes.FROM_NUMPY[dtypes.promote(x._ag_raw.dtype, np.dtype("int64"))]
    )
    if n:
        powers.select(1, 0).fill_(1)
    if n > 1:
        rest = powers[:, 1:]
        rest.copy_(x.unsqueeze(1))
        powers[:, 1:].copy_(powers[:, 1:].cumprod(1))
    return powers if increasing else functions["flip"](powers, (1,))


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as views."""
    return views.diagonal(A, offset, dim1, dim2)
