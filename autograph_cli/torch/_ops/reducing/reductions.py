"""Reductions: many elements to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..._core.transforms.transforms import core

sum_all = operation(
    "sum(Tensor self, *, ScalarType? dtype=None)",
    lambda f, self, dtype: f.sum(self, None, False, dtype),
    linear=True,
    batch=batching_rules.over_all_with_dtype("sum_dim_IntList"),
    self=lambda f, grad, self_sizes: f.expand(grad, self_sizes),
)
sum_dim = operation(
    "sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None)",
    "sum",
    node="SumBackward1",
    linear=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, keepdim: spread(f, grad, self_sizes, dim, keepdim),
)
mean_all = operation(
    "mean(Tensor self, *, ScalarType? dtype=None)",
    lambda f, self, dtype: f.mean(self, None, False, dtype),
    saved={"self_sym_numel": lambda self_sizes: math.prod(self_sizes)},
    linear=True,
    batch=batching_rules.over_all_with_dtype("mean_dim"),
    self=lambda f, grad, self_sizes: f.div_Scalar(f.expand(grad, self_sizes), math.prod(self_sizes)),
)
mean_dim = operation(
    "mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None)",
    "mean",
    node="MeanBackward1",
    saved={"self_sym_numel": lambda self_sizes: math.prod(self_sizes)},
    linear=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, keepdim: f.div_Scalar(
        spread(f, grad, self_sizes, dim, keepdim), count(self_sizes, dim)
    ),
)
vector_norm = operation(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
    "vector_norm",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, ord, result, dim, keepdim: norm_gradient(f, grad, self, ord, result, dim, keepdim),
)
var_op = operation(
    "var(Tensor self, int[]? dim=None, *, Scalar correction=1, bool keepdim=False)",
    memory_format="contiguous",
    batch=batching.leading,
    aten="var.correction",
    self=lambda f, grad, self, dim, correction, keepdim: var_gradient(f, grad, self, dim, correction, keepdim),
)
std_op = operation(
    "std(Tensor self, int[]? dim=None, *, Scalar correction=1, bool keepdim=False)",
    memory_format="contiguous",
    batch=batching.leading,
    aten="std.correction",
    self=lambda f, grad, self, result, dim, correction, keepdim: std_gradient(
        f, grad, self, result, dim, correction, keepdim
    ),
)
prod_all = operation(
    "prod(Tensor self, *, ScalarType? dtype=None)",
    lambda f, self, dtype: f.prod(self, None, False, dtype),
    autocast="fp32",
    batch=batching_rules.over_all_with_dtype("prod_dim_int", vector=True),
    self=lambda f, grad, self, result: prod_gradient(f, grad, self, result, None, True),
)
prod_dim = operation(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)",
    "prod",
    node="ProdBackward1",
    autocast="fp32",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, result, dim, keepdim: prod_gradient(f, grad, self, result, dim, keepdim),
)
any_op = operation(
    "any(Tensor self, int[]? dim=None, bool keepdim=False)",
    float8=True,
    memory_format="contiguous",
    batch=batching.leading,
)
all_op = operation(
    "all(Tensor self, int[]? dim=None, bool keepdim=False)",
    float8=True,
    memory_format="contiguous",
    batch=batching.leading,
)
logsumexp_op = operation(
    "logsumexp(Tensor self, int[] dim, bool keepdim=False)",
    floating=True,
    pointwise=False,
    memory_format="contiguous",
    batch=batching.leading,
    tangent=lambda f, self_t, self, dim, keepdim: _of_exponentials(f, self_t, self, dim, keepdim),
    self=lambda f, grad, self, result, dim, keepdim: (
        restore(f, grad, dim, keepdim, self) * f.conj(f.exp(f.sub(self, restore(f, result, dim, keepdim, self))))
    ),
)


# ---------------------------------------------------------------- parts of the formulas


def _of_exponentials(f: Any, t: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """The tangent of `logsumexp`: the mean of the tangents by these weights."""
    weights = f.exp(f.sub(x, f.amax(x, dim, True)) if x._ag_raw.size else x)
    whole = f.sum_dim_IntList(weights, dim, keepdim)
    return f.div(f.sum_dim_IntList(weights * t, dim, keepdim), whole)


def count(sizes: tuple[int, ...], dim: Any) -> int:
    """Return how many elements a reduction over `dim` folds into one."""
    if not sizes:
        return 1
    return math.prod(sizes if dim is None else [sizes[d] for d in dim])


def restore(f: Any, x: Any, dim: Any, keepdim: bool, like: Any) -> Any:
    """A reduced tensor with its folded dimensions put back as ones."""
    if keepdim or like.ndim == 0 or dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return x
    for d in (dim,) if isinstance(dim, int) else sorted(dim):
        x = f.unsqueeze(x, d)
    return x


def spread(f: Any, grad: Any, sizes: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum, given back to everything that was summed."""
    if not keepdim and sizes and dim is not None:
        for d in sorted(dim):
            grad = f.unsqueeze(grad, d)
    return f.expand(grad, sizes)


def put_back(f: Any, grad: Any, sizes: tuple[int, ...], dim: int, indices: Any, keepdim: bool) -> Any:
    """The gradient of selected elements, put where they were taken from."""
    if not keepdim and sizes:
        grad, indices = f.unsqueeze(grad, dim), f.unsqueeze(indices, dim)
    return f.scatter_src(f.zeros_of(sizes, grad), dim, indices, grad)


def norm_gradient(f: Any, grad: Any, self: Any, p: Any, norm: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a p-norm; 0 where the norm is 0."""
    grad, norm = restore(f, grad, dim, keepdim, self), restore(f, norm, dim, keepdim, self)
    zero: Callable[[Any], Any] = lambda x: f.eq(x, f.zeros_like(x))  # noqa: E731
    if p == 0:
        return None
    if p == 1:
        return f.sgn(self) * grad
    if p == 2:
        return grad * f.masked_fill_Scalar(f.div(self, norm), zero(norm), 0)
    if math.isinf(p):
        size = f.abs(self)
        mask = f.where(f.isnan(norm), f.isnan(size), f.eq(size, norm))
        shared = f.div(grad, f.cast_like(f.sum_dim_IntList(mask, all_dims(dim, self), True), grad))
        return f.sgn(self) * (shared * f.cast_like(mask, grad))
    if p < 1:
        power = f.masked_fill_Scalar(f.pow_Tensor_Scalar(f.abs(self), p - 1), zero(self), 0)
        return f.sgn(self) * power * grad * f.pow_Tensor_Scalar(norm, 1 - p)
    if p < 2:
        scaled = f.sgn(self) * f.pow_Tensor_Scalar(f.abs(self), p - 1)
    else:
        scaled = self * f.pow_Tensor_Scalar(f.abs(self), p - 2)
    return scaled * f.masked_fill_Scalar(f.div(grad, f.pow_Tensor_Scalar(norm, p - 1)), zero(norm), 0)


def all_dims(dim: Any, self: Any) -> Any:
    return tuple(range(self.ndim)) if dim is None or len(dim) == 0 else dim


def var_gradient(f: Any, grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """2 (x - mean) / (n - correction)."""
    folded = all_dims(dim, self)
    n = count(self.shape, folded)
    freedom = n - correction
    whole = dim is None or self.ndim == 0
    if whole and freedom <= 0:
        same = f.eq(self, f.mean(self))
        return grad * f.where(same, f.full_like_number(self, math.nan), f.full_like_number(self, math.inf))
    factor = 2.0 / freedom if freedom else math.inf
    grad = grad if whole or self.ndim == 1 else restore(f, grad, folded, keepdim, self)
    centered = f.sub(self, f.mean(self) if whole else f.mean_dim(self, folded, True))
    return f.mul_Scalar(grad, factor) * centered


def std_gradient(f: Any, grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """Return the gradient of the variance, divided by 2 std; 0 where std is 0."""
    halved = f.masked_fill_Scalar(f.div(grad, f.mul_Scalar(result, 2)), f.eq(result, f.zeros_like(result)), 0)
    return var_gradient(f, halved, self, dim, correction, keepdim)


def share_among_equal(f: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    shape = tuple(1 if d in dim else n for d, n in enumerate(self.shape)) or (1,) * len(dim)
    mask = f.eq(result if keepdim else f.reshape(result, shape), self)
    share = f.cast_like(f.sum_dim_IntList(mask, all_dims(dim, self), True), grad)
    return f.div(grad if keepdim else f.reshape(grad, shape), share) * f.cast_like(mask, grad)


def prod_gradient(f: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """grad * result / x, and the product of the others where a factor is 0."""
    if self.ndim == 0:
        return grad
    if dim is not None:
        grad, result = restore(f, grad, dim, keepdim, self), restore(f, result, dim, keepdim, self)
    zeros = f.zeros_in(self)
    if not zeros:
        return grad * f.conj(f.div(result, self))
    if dim is not None:
        return product_of_others(f, grad, self, dim)
    if zeros > 1 and f is not operations:
        return f.zeros_like(self)
    flat = f.reshape(self, (-1,))
    return f.reshape(product_of_others(f, grad, flat, 0), tuple(self.shape))


# ---------------------------------------------------------------- functions


def raw_dtype(dtype: Any) -> Any:
    return None if dtype is None else dtypes.numpy_dtype(dtype)


@composite(out=True)
def sum(input: Tensor, dim: Any = dims.NOT_GIVEN, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over `dim`; integers add up as int64."""
    if dim is dims.NOT_GIVEN:
        return sum_all(input, dtype=raw_dtype(dtype))
    return sum_dim(input, wrapped_dims(dim, input), keepdim, dtype=raw_dtype(dtype))


def wrapped_dims(dim: Any, input: Tensor) -> tuple[int, ...]:
    if dim is None:
        return dims.given_sizes(range(input._ag_raw.ndim), None)
    wrapped = dims.wrap_all(dim, input._ag_raw.ndim)
    return wrapped if wrapped else dims.given_sizes(range(input._ag_raw.ndim), ())


@composite(out=True)
def mean(input: Tensor, dim: Any = dims.NOT_GIVEN, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, or over `dim`."""
    kind = input.dtype if dtype is None else dtype
    if kind.category < dtypes.FLOATING:
        source = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.cpp_name(kind.numpy)}"
        )
    if dim is dims.NOT_GIVEN:
        return mean_all(input, dtype=raw_dtype(dtype))
    return mean_dim(input, wrapped_dims(dim, input), keepdim, dtype=raw_dtype(dtype))


@composite(out=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or over `dim`."""
    if dim is None:
        return prod_all(input, dtype=raw_dtype(dtype))
    return prod_dim(input, dims.wrap(dim, input._ag_raw.ndim), keepdim, dtype=raw_dtype(dtype))


def correction_of(unbiased: Any, correction: Any, dim: Any) -> Any:
    if correction is not None:
        return correction
    if unbiased is None and dim is None:
        return dims.given(1, None)
    return 1 if unbiased is None or unbiased else 0


@composite(out=True)
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance of all elements, or over `dim`, with Bessel's correction unless told otherwise."""
    return _spread_of(var_op, input, dim, unbiased, keepdim, correction)


@composite(out=True)
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The standard deviation of all elements, or over `dim`."""
    return _spread_of(std_op, input, dim, unbiased, keepdim, correction)


def _spread_of(run: Any, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Tensor:
    if isinstance(dim, bool):
        if unbiased is not None:
            raise refused(TypeError, "a dimension must be int, not bool")
        dim, unbiased = None, dim
    if dtypes.CATEGORY[input._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    folded = None if dim is None else wrapped_dims(dim, input)
    wanted = correction_of(unbiased, correction, dim)
    warn_of_freedom(run.op.name, input, folded, wanted)
    result: Tensor = run(input, folded, correction=wanted, keepdim=keepdim)
    return result


def warn_of_freedom(name: str, input: Tensor, folded: Any, correction: Any) -> None:
    """Warn where there are too few elements for a variance."""
    raw = input._ag_raw
    if raw.size and (raw.size if not folded else count(raw.shape, folded)) <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )


@composite(out=True)
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of all elements, or over `dim`."""
    if p == "nuc" or (isinstance(p, str) and p != "fro"):
        raise NotImplementedError(f"norm with p={p!r} is not available in autograph's engine yet")
    if dtypes.CATEGORY[input._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.cpp_name(input._ag_raw.dtype)}"
        )
    order = 2 if p in ("fro", None) else p
    folded = None if dim is None else wrapped_dims(dim, input)
    return vector_norm(input, order, folded, keepdim, dtype=raw_dtype(dtype))


@composite(out=True)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether one element or more are not zero, of all or along `dim`, as booleans (uint8 for uint8)."""
    return any_op(input, None if dim is None else wrapped_dims(dim, input), keepdim)


@composite(out=True)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether no element is zero, of all or along `dim`, as booleans (uint8 for uint8)."""
    return all_op(input, None if dim is None else wrapped_dims(dim, input), keepdim)


@composite(out=True)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along `dim`, computed from the largest so that nothing overflows."""
    return logsumexp_op(input, wrapped_dims(dim, input), keepdim)


def product_of_others(f: Any, grad: Any, x: Any, dim: int) -> Any:
    """The gradient times, for each element, the product of all others along `dim`: of those before and those after."""
    n = x.shape[dim] if x.ndim else 1
    if n == 1:
        return grad
    one = f.ones_like(f.slice(x, dim, 0, 1, 1))
    before = f.cumprod(f.cat([one, f.slice(x, dim, 0, n - 1, 1)], dim), dim)
    after = f.flip(f.cumprod(f.cat([one, f.flip(f.slice(x, dim, 1, n, 1), (dim,))], dim), dim), (dim,))
    return grad * f.conj(before * after)


def cast_like(x: Tensor, like: Tensor) -> Tensor:
    """`x` in the dtype of `like`."""
    return x if x._ag_raw.dtype == like._ag_raw.dtype else operations._to_copy(x, like._ag_raw.dtype)


def zeros_in(x: Tensor) -> int:
    raw = core(x)._ag_raw
    return int(kernels(raw).zeros_in(raw))


operations.cast_like, operations.zeros_in = cast_like, zeros_in
