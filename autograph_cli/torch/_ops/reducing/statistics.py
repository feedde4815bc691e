"""Statistics: means and spreads together, sums that skip nan, covariance, differences, areas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, overloaded
from ..._core.running.device_dispatch import formula_kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_rules
from ..._kernels.half_precision import widened
from ..pointwise.arithmetic import check_sub, div_scalar, mul_scalar
from ..positions.indexing import copy_, zeros_of
from ..shaping import views
from ..shaping.joining import cat
from ..tensors.results import named_result
from . import reductions
from .reductions import (
    correction_of,
    norm_gradient,
    raw_dtype,
    share_among_equal,
    spread,
    std_gradient,
    var_gradient,
    warn_of_freedom,
    wrapped_dims,
)


def _with_mean(f: Any, gspread: Any, gmean: Any, self_sizes: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a spread, where there is one, plus that of the mean beside it."""
    if gmean is None:
        return gspread
    whole = dim is None or not len(dim)
    full = f.expand(gmean, self_sizes) if whole else spread(f, gmean, self_sizes, dim, keepdim)
    shared = f.div_Scalar(full, reductions.count(self_sizes, None if whole else dim))
    return shared if gspread is None else f.add(gspread, shared)


var_mean_op = operation(
    "var_mean(Tensor self, int[]? dim=None, *, Scalar correction=1, bool keepdim=False) -> (Tensor result0, Tensor "
    "result1)",
    lambda f, a, dim, correction, keepdim: (f.var(a, dim, correction, keepdim), f.mean(a, dim, keepdim)),
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grads, self, dim, correction, keepdim: _with_mean(
        f,
        None if grads[0] is None else var_gradient(f, grads[0], self, dim, correction, keepdim),
        grads[1],
        self.shape,
        dim,
        keepdim,
    ),
)
std_mean_op = operation(
    "std_mean(Tensor self, int[]? dim=None, *, Scalar correction=1, bool keepdim=False) -> (Tensor result0, Tensor "
    "result1)",
    lambda f, a, dim, correction, keepdim: (f.std(a, dim, correction, keepdim), f.mean(a, dim, keepdim)),
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grads, self, result0, dim, correction, keepdim: _with_mean(
        f,
        None if grads[0] is None else std_gradient(f, grads[0], self, result0, dim, correction, keepdim),
        grads[1],
        self.shape,
        dim,
        keepdim,
    ),
)


def _both_extremes(f: Any, grads: Any, x: Any, low: Any, high: Any, dim: Any, keepdim: bool) -> Any:
    folded = tuple(range(x.ndim)) if dim is None else (dim,)
    parts = [
        share_among_equal(f, g, x, at, folded, keepdim and dim is not None)
        for g, at in zip(grads, (low, high), strict=True)
        if g is not None
    ]
    return parts[0] if len(parts) == 1 else f.add(*parts)


aminmax_op = operation(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    lambda f, a, dim, keepdim: (f.amin(a, dim, keepdim), f.amax(a, dim, keepdim)),
    memory_format="contiguous",
    batch=batching_rules.arg_reduction,
    self=lambda f, grads, self, min, max, dim, keepdim: _both_extremes(f, grads, self, min, max, dim, keepdim),
)


nansum_op = operation(
    "nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, dim, keepdim: spread(f, grad, self.shape, dim, keepdim) * f.logical_not(f.isnan(self)),
)
trace_op = operation(
    "trace(Tensor self)",
    linear=True,
    autocast="fp32",
    refuses={"b": "trace"},
    batch=batching_rules.trace,
    self=lambda f, grad, self_sizes: f.view(
        f.index_fill_int_Tensor(
            f.zeros_of((math.prod(self_sizes),), grad),
            0,
            f.steps(0, min(self_sizes) * (self_sizes[1] + 1), self_sizes[1] + 1),
            grad,
        ),
        self_sizes,
    ),
)


@widened
def _renorm_gradient(f: Any, grad: Any, x: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    others = tuple(d for d in range(x.ndim) if d != dim)
    norm = f.linalg_vector_norm(x, p, others, True)
    along = f.conj(x) * grad
    along = f.sum_dim_IntList(f.real(along) if f.is_complex(along) else along, others, True)
    bent = norm_gradient(f, along, x, p, norm, others, True)
    inverse = f.reciprocal(f.add_Scalar(norm, 1e-7))
    scaled = f.mul_Scalar(inverse, maxnorm) * f.sub(grad, inverse * bent)
    return f.where(f.gt(norm, f.full_like_number(norm, maxnorm)), scaled, grad)


renorm_op = operation(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm)",
    memory_format="contiguous",
    refuses={"biu": RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}")},
    self=lambda f, grad, self, p, dim, maxnorm: _renorm_gradient(f, grad, self, p, dim, maxnorm),
)
dist_op = operation(
    "dist(Tensor self, Tensor other, Scalar p=2)",
    self=lambda f, grad, self, other, p, result: norm_gradient(f, grad, f.sub(self, other), p, result, None, False),
    other=lambda f, grad, self, other, p, result: f.neg(
        norm_gradient(f, grad, f.sub(self, other), p, result, None, False)
    ),
)


# ---------------------------------------------------------------- functions


def _spread_and_mean(run: Any, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{run.op.name} only support floating point and complex dtypes")
    folded = None if dim is None else wrapped_dims(dim, input)
    wanted = correction_of(unbiased, correction, dim)
    warn_of_freedom(run.op.name, input, folded, wanted)
    return run(input, folded, correction=wanted, keepdim=keepdim)


@composite(method=False)
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """The variance and the mean, of all elements or over `dim`."""
    return _spread_and_mean(var_mean_op, input, dim, unbiased, keepdim, correction)


@composite(method=False)
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """The standard deviation and the mean, of all elements or over `dim`."""
    return _spread_and_mean(std_mean_op, input, dim, unbiased, keepdim, correction)


_aminmax_result = named_result("aminmax", "min", "max")


@composite(out="exact")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, of all or along `dim`."""
    d = None if dim is None else dims.wrap(dim, input._ag_raw.ndim)
    if input._ag_raw.dtype.kind == "c":
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{dtypes.cpp_name(input._ag_raw.dtype)}'")
    if dim is None and not input._ag_raw.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if d is not None and input._ag_raw.ndim and not input._ag_raw.shape[d]:
        raise refused(IndexError, f"aminmax: Expected reduction dim {d} to have non-zero size.")
    return _aminmax_result(*aminmax_op(input, dim=d, keepdim=keepdim))


@composite(out=True)
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`sum` of what is not nan."""
    if input._ag_raw.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return nansum_op(input, None if dim is None else wrapped_dims(dim, input), keepdim, dtype=raw_dtype(dtype))


@composite(out=True)
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`mean` of what is not nan."""
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.cpp_name(input._ag_raw.dtype)}"
        )
    known = input.detach().isnan().logical_not()
    result: Tensor = nansum(input, dim, keepdim, dtype=dtype).div(
        known.sum() if dim is None else known.sum(dim, keepdim)
    )
    return result


@composite(out=True)
def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of input - other."""
    check_sub(input._ag_raw, other._ag_raw)
    kind = dtypes.result_dtype(input._ag_raw, other._ag_raw)
    if kind.kind in "iu":
        text = "norm(): input dtype should be either floating point or complex. Got {} instead."
        raise RuntimeError(text.format(dtypes.cpp_name(kind)))
    return dist_op(input, other, p)


@composite(out=True)
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if input._ag_raw.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return trace_op(input)


@overloaded()
def renorm(input: Tensor, p: Any, dim: int, maxnorm: Any) -> Any:
    """Slices along `dim` whose p-norm is above `maxnorm` shrunk to it."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input._ag_raw.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    return renorm_op, input, p, dims.wrap(dim, input._ag_raw.ndim), maxnorm


def _weights(name: str, weights: Tensor | None, count: int) -> None:
    if weights is None:
        return
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if name == "fweights" and weights._ag_raw.dtype.kind not in "iu":
        raise RuntimeError(
            "cov(): expected fweights to have integral dtype but got fweights with "
            f"{dtypes.cpp_name(weights._ag_raw.dtype)} dtype"
        )
    if name == "aweights" and weights._ag_raw.dtype.kind not in "fV":
        raise RuntimeError(
            "cov(): expected aweights to have floating point dtype but got aweights with "
            f"{dtypes.cpp_name(weights._ag_raw.dtype)} dtype"
        )
    if weights._ag_raw.size != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights._ag_raw.size} != {count}"
        )
    if count and readable(whole(weights._ag_raw)) and whole(weights._ag_raw).min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance of the rows, whose columns are observations; `fweights` repeat, `aweights` weigh them."""
    if input._ag_raw.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input._ag_raw.dtype == bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = views.view(input, (1, -1)) if input._ag_raw.ndim < 2 else input
    n = rows._ag_raw.shape[1]
    _weights("fweights", fweights, n)
    _weights("aweights", aweights, n)
    w: Any = fweights
    if aweights is not None:
        w = aweights if w is None else w * aweights
    total = make(np.int64(n)) if w is None else w.sum()
    mean = (rows if w is None else rows * w).sum(1) / total
    if aweights is None:
        freedom = total - correction
    else:
        freedom = total - mul_scalar((w * aweights).sum(), correction) / total if correction else total
    if readable(whole(freedom._ag_raw)) and (whole(freedom._ag_raw) <= 0).all():
        freedom = freedom.detach().zero_()
    rows = rows - mean.unsqueeze(1)
    product = rows.mm((rows if w is None else rows * w).t().conj())
    if product.is_complex() and rows.shape[0] == 1:
        real = operations.real(product)
        product = operations.complex(real, operations.zeros_like(real.detach()))
    result: Tensor = (product / freedom).squeeze()
    return result


@composite()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation of the rows: their covariance, scaled to be between -1 and 1."""
    if input._ag_raw.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    d = views.diagonal_op(c, 0, 0, 1)
    deviation = (operations.real(d) if c.dtype.is_complex else d).sqrt()
    c = c / deviation.view(-1, 1)
    c = c / deviation.view(1, -1)
    if not c.dtype.is_complex:
        return c.clip(-1, 1)
    result: Tensor = operations.complex(operations.real(c).clip(-1, 1), operations.imag(c).clip(-1, 1))
    return result


# ---------------------------------------------------------------- differences and areas


@composite(out=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along `dim`, `n` times over."""
    if input._ag_raw.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = dims.wrap(dim, input._ag_raw.ndim)
    parts = [x for x in (prepend, input, append) if x is not None]
    for x in parts:
        _check_beside(input, x, d)
    if n == 0:
        return copy_(zeros_of(input._ag_raw.shape, input), input)
    x = cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(n, x._ag_raw.shape[d])):
        length = x._ag_raw.shape[d] - 1
        before = views.narrow(x, d, 0, length)
        after = views.narrow(x, d, 1, length)
        x = operations.logical_xor(after, before) if x._ag_raw.dtype.kind == "b" else after - before
    return x


def _check_beside(input: Tensor, x: Tensor, dim: int) -> None:
    if x.ndim != input._ag_raw.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (n, m) in enumerate(zip(x._ag_raw.shape, input._ag_raw.shape, strict=True)):
        if i != dim and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {m}, but got tensor.size({i}) = {n}"
            )


def _spacing(y: Tensor, x: Tensor, dim: int, name: str) -> Tensor:
    """The distances of neighbouring `x`, in a shape that fits `y`."""
    if x.ndim == 1:
        if x._ag_raw.shape[0] != y._ag_raw.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = views.view(x, [-1 if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = views.view(x, (*(1,) * (y.ndim - x.ndim), *x._ag_raw.shape))
    after, before = _neighbours(x, dim)
    result: Tensor = after - before
    return result


def _neighbours(x: Tensor, dim: int) -> tuple[Any, Any]:
    n = x._ag_raw.shape[dim]
    before = views.slice_op(x, dim, *views.window(0, -1, 1, n))
    return views.slice_op(x, dim, *views.window(1, None, 1, n)), before


def _area_arguments(y: Tensor, x: Any, dx: Any, dim: int) -> tuple[int, Any]:
    d = int(dims.wrap(dim, y.ndim))
    if x is not None and dx is not None:
        raise refused(TypeError, "trapezoid() received an invalid combination of arguments")
    if y._ag_raw.dtype == bool:
        raise RuntimeError("trapezoid: received a bool input for `y`, but bool is not supported")
    if x is not None and x._ag_raw.dtype == bool:
        raise RuntimeError("trapezoid: received a bool input for `x`, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")
    return d, (1.0 if dx is None else float(dx)) if x is None else x


@composite(method=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The area below `y` along `dim`, by the trapezoidal rule."""
    d, by = _area_arguments(y, x, dx, dim)
    values: Any = y
    if not y._ag_raw.shape[d]:
        return zeros_of((*y._ag_raw.shape[:d], *y._ag_raw.shape[d + 1 :]), y)
    if isinstance(by, Tensor):
        step = _spacing(y, by, d, "trapezoid")
        after, before = _neighbours(y, d)
        result: Tensor = div_scalar(((before + after) * step).sum(d), 2.0)
        return result
    last: Any = views.select(y, dim, -1)
    ends = views.select(y, dim, 0) + last
    whole: Tensor = mul_scalar(values.sum(dim) - mul_scalar(ends, 0.5), by)
    return whole


@composite(method=False)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """`trapezoid` under its old name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The areas below `y` up to each element."""
    d, by = _area_arguments(y, x, dx, dim)
    if isinstance(by, Tensor):
        step = _spacing(y, by, d, "cumulative_trapezoid")
        after, before = _neighbours(y, d)
        result: Tensor = div_scalar(((before + after) * step).cumsum(d), 2.0)
        return result
    after, before = _neighbours(y, dims.wrap(dim, y.ndim))
    whole: Tensor = mul_scalar(before + after, by / 2.0).cumsum(dim)
    return whole


def steps(start: int, end: int, step: int) -> Tensor:
    """Integers in a row, as an index."""
    return make(formula_kernels(start).steps(start, end, step))


operations.steps = steps
