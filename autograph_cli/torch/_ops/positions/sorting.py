"""Operations on the order of elements: medians, modes, quantiles, running extremes, unique elements, positions in a
sorted row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..._arrays.meta import Meta, readable
from ..._arrays.stand_in import whole
from ..._core.base import dims, dtypes
from ..._core.base.dtype_checks import refuse
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import beside, kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.tape.wrapped_numbers import wrap_number
from ..._core.transforms import batching
from ..._core.transforms.vmap_fallback import per_sample
from ..._kernels.reducing.selection import ordered
from ..pointwise import arithmetic
from ..reducing.extremes import check_elements, share_evenly
from ..reducing.reductions import put_back
from ..shaping import broadcasting, views
from ..tensors.results import named_result


def unless_scalar(kernel: str) -> Callable[..., str | None]:
    """The kernel that a tensor without dimensions does not come to."""
    return lambda a, *_: kernel if a.ndim else None


def _chooses(schema: str, node: str | None = None, **traits: Any) -> Any:
    """An operation that chooses one element along a dimension: its gradient goes back where that one stood."""
    return operation(
        f"{schema} -> (Tensor values, Tensor indices)",
        node=node,
        nondifferentiable=("indices",),
        batch=batching.leading,
        **traits,
        memory_format="own",
        self=lambda f, grad, self_sizes, dim, indices, keepdim: put_back(f, grad, self_sizes, dim, indices, keepdim),
    )


median_dim = _chooses(
    "median.dim(Tensor self, int dim, bool keepdim=False)", "MedianBackward1", refuses={"b": "median_out"}
)
nanmedian_dim = _chooses(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False)",
    "NanmedianBackward1",
    refuses={"bc": "median_out"},
)
mode_op = _chooses("mode(Tensor self, int dim=-1, bool keepdim=False)", refuses={"c": unless_scalar("mode_cpu")})
kthvalue_op = _chooses(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)", refuses={"bc": unless_scalar("kthvalue_cpu")}
)
median_all = operation(
    "median(Tensor self)",
    refuses={"bc": "median_cpu"},
    memory_format="own",
    self=lambda f, grad, self, result: share_evenly(f, grad, self, result),
)
nanmedian_all = operation(
    "nanmedian(Tensor self)",
    refuses={"bc": "median_cpu"},
    memory_format="own",
    self=lambda f, grad, self, result: share_evenly(f, grad, self, result),
)


# ---------------------------------------------------------------- running extremes


def _runs(name: str) -> Any:
    return operation(
        f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        refuses={"c": unless_scalar(f"{name}_cpu")},
        nondifferentiable=("indices",),
        memory_format="contiguous",
        batch=batching.leading,
        self=lambda f, grad, self, indices, dim: f.scatter_add(f.zeros_of(self.shape, grad), dim, indices, grad),
    )


cummax_op, cummin_op = _runs("cummax"), _runs("cummin")


def _logcumsumexp_gradient(f: Any, grad: Any, x: Any, result: Any, dim: int) -> Any:
    """Positive and negative gradients apart, since each is worked out as a logarithm."""
    if grad.ndim == 0 or 0 in grad.shape:
        return grad

    def summed(logs: Any) -> Any:
        back = f.flip(f.logcumsumexp(f.flip(f.sub(logs, result), (dim,)), dim), (dim,))
        return f.exp(f.add(back, x))

    if f.is_complex(grad):
        return f.conj(summed(f.log(f.conj(grad))))
    zero, none = f.zeros_like(grad), f.full_like_number(grad, float(ml_dtypes.finfo(_numpy(grad)).min))
    logs = f.log(f.abs(grad))
    return f.sub(summed(f.where(f.gt(grad, zero), logs, none)), summed(f.where(f.lt(grad, zero), logs, none)))


def _numpy(x: Any) -> Any:
    return x._ag_raw.dtype if isinstance(x, Tensor) else x.dtype


def _logcumsumexp_tangent(f: Any, t: Any, x: Any, dim: int) -> Any:
    """The mean of the tangents so far, by the weights of their exponentials."""
    if t.ndim == 0 or 0 in t.shape:
        return t
    weights = f.exp(f.sub(x, f.amax(f.real(x).detach(), (dim,), True)))
    return f.div(f.cumsum(weights * t, dim), f.cumsum(weights, dim))


logcumsumexp_op = operation(
    "logcumsumexp(Tensor self, int dim)",
    tangent=lambda f, self_t, self, dim: _logcumsumexp_tangent(f, self_t, self, dim),
    pointwise=False,
    refuses={"biu": "logcumsumexp_out_cpu"},
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, result, dim: _logcumsumexp_gradient(f, grad, self, result, dim),
)


# ---------------------------------------------------------------- functions


def _along(name: str, x: Tensor, dim: int) -> int:
    """A wrapped dimension that has elements."""
    d = dims.wrap(dim, x.ndim)
    check_elements(name, x, d)
    return d


_RESULTS = {
    name: named_result(name, "values", "indices")
    for name in ("median", "nanmedian", "mode", "kthvalue", "cummax", "cummin")
}


@composite(out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements; over `dim`, with its indices."""
    if input._ag_raw.dtype.kind == "c":
        raise NotImplementedError(f"\"median_out\" not implemented for '{dtypes.cpp_name(input._ag_raw.dtype)}'")
    return (
        median_all(input)
        if dim is None
        else _RESULTS["median"](*median_dim(input, _along("median", input, dim), keepdim))
    )


@composite(out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`median` of what is not nan."""
    if dim is None:
        return nanmedian_all(input)
    return _RESULTS["nanmedian"](*nanmedian_dim(input, _along("nanmedian", input, dim), keepdim))


@composite(out=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along `dim`, and where it stood."""
    return _RESULTS["mode"](*mode_op(input, _along("mode", input, dim), keepdim))


@composite(out="apart")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest value along `dim` (from 1), and where it stood."""
    d = _along("kthvalue", input, dim)
    if not 1 <= k <= (input._ag_raw.shape[d] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(d))
    return _RESULTS["kthvalue"](*kthvalue_op(input, k, d, keepdim))


@composite(out=True)
def cummax(input: Tensor, dim: int) -> Any:
    """The largest element up to each one, and where it stood."""
    return _RESULTS["cummax"](*cummax_op(input, dims.wrap(dim, input.ndim)))


@composite(out=True)
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest element up to each one, and where it stood."""
    return _RESULTS["cummin"](*cummin_op(input, dims.wrap(dim, input.ndim)))


@composite(out=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the sum of the exponentials up to each element."""
    return logcumsumexp_op(input, dims.wrap(dim, input.ndim))


@composite(out=True)
def msort(input: Tensor) -> Tensor:
    """`input` sorted along its first dimension."""
    result: Tensor = input.sort(0)[0]
    return result


# ---------------------------------------------------------------- quantiles

_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name: str, x: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip: bool) -> Tensor:
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = make(beside(x._ag_raw.dtype.type(q), x._ag_raw))
    _check_quantile(x, q, interpolation)
    d = None if dim is None else dims.wrap(dim, x.ndim)
    shape = _quantile_shape(x, q, d, keepdim)
    if d is None:
        ordered = x.flatten().sort()[0]
    elif d == x.ndim - 1:
        ordered = x.sort()[0]
    else:
        ordered = x.unsqueeze(-1).transpose(d, -1).sort()[0]
    ordered = views.view(ordered, (*shape[q.ndim :], ordered._ag_raw.shape[-1]))
    ranks = _ranks(ordered, q, skip)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
    below = ranks.to(dtypes.int64)
    found = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weights = ranks.detach() * 0 + 0.5 if interpolation == "midpoint" else ranks - below
        found.lerp_(ordered.gather(-1, ranks.ceil().to(dtypes.int64)), weights)
    result: Tensor = found.squeeze_(-1) if not q.ndim else found.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)
    return result


def _check_quantile(x: Tensor, q: Tensor, interpolation: str) -> None:
    if x._ag_raw.size == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if x._ag_raw.dtype not in (np.dtype("float32"), np.dtype("float64")):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if x._ag_raw.dtype != q._ag_raw.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in _MODES:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    given = whole(q._ag_raw)
    if readable(given) and bool(((given < 0) | (given > 1)).any()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def _quantile_shape(x: Tensor, q: Tensor, dim: int | None, keepdim: bool) -> tuple[int, ...]:
    sizes = list(x._ag_raw.shape)
    if dim is not None and sizes:
        sizes[dim : dim + 1] = [1] if keepdim else []
    else:
        sizes = [1] * len(sizes) if keepdim else []
    return (*((q._ag_raw.size,) if q.ndim else ()), *sizes)


def _ranks(ordered: Tensor, q: Tensor, skip: bool) -> Tensor:
    missing = ordered.detach().isnan()
    if skip:
        ranks: Tensor = q * (missing.logical_not().sum(-1, True) - 1)
        return ranks.masked_fill(ranks < 0, 0)
    last = ordered._ag_raw.shape[-1] - 1
    full, hidden = broadcasting.broadcast_tensors(arithmetic.mul_scalar(q, last), missing.any(-1, True))
    result: Tensor = full.masked_fill(hidden, last)
    return result


@composite(out=True)
@autocasts("fp32")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The values below which the parts `q` of the elements are stored."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skip=False)


@composite(out=True)
@autocasts("fp32")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """`quantile` of what is not nan."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skip=True)


# ---------------------------------------------------------------- positions in a sorted row


def _positions(row: Any, values: Any, right: bool, sorter: Any, out_int32: bool) -> Any:
    xp = kernels(row, values).xp
    row = row if sorter is None else xp.take_along_axis(row, sorter, -1)
    found: Any
    side: Any = "right" if right else "left"
    refuse("searchsorted_out_cpu", np.empty(0, dtypes.promote(row.dtype, values.dtype)), "bc")
    row, values = ordered(row), ordered(values)
    if row.__class__ is Meta or values.__class__ is Meta:
        found = Meta(values.shape, np.int64)
    elif row.ndim == 1 or not values.size:
        row = row.reshape(-1)
        found = xp.searchsorted(row, values, side)
    else:
        pairs = zip(row.reshape(-1, row.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
        found = xp.stack([xp.searchsorted(a, v, side) for a, v in pairs]).reshape(values.shape)
    if found.__class__ is not Meta and values.dtype.kind == "f":
        found = xp.where(values != values, row.shape[-1], found)  # nan is below nothing, as PyTorch compares
    return kernels(found).xp.asarray(found).astype(np.int32 if out_int32 else np.int64)[()]


def _side(name: str, right: bool, side: str | None) -> bool:
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}(): side and right can't be set to opposites, got side of left while right was True")
    return right or side == "right"


@composite(method=False, out=True)
@per_sample
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return where each element of `input` would have to be inserted to keep `sorted_sequence` in order."""
    name = "torch.searchsorted"
    values = input if isinstance(input, Tensor) else wrap_number(input, sorted_sequence)
    row, wanted = sorted_sequence._ag_raw, values._ag_raw
    if sorter is not None:
        _check_sorter(name, row, sorter._ag_raw)
    if not wanted.ndim and row.ndim != 1:
        raise RuntimeError(
            f"{name}(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim({row.ndim}) and input value's dim(0) numel(1)"
        )
    if row.ndim == 0:
        raise RuntimeError(f"{name}(): boundaries tensor should have positive dimension, but got 0 dimension")
    if row.ndim > 1 and (not wanted.ndim or row.shape[:-1] != wanted.shape[:-1]):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(row.shape)} and input value tensor "
            f"{list(wanted.shape)}"
        )
    return make(
        _positions(row, wanted, _side(name, right, side), None if sorter is None else sorter._ag_raw, out_int32)
    )


def _check_sorter(name: str, row: Any, sorter: Any) -> None:
    if row.shape != sorter.shape:
        raise RuntimeError(
            f"{name}(): boundary and sorter must have the same size, but got boundary tensor {list(row.shape)}and got "
            f"sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): sorter must be a tensor of long dtype but got dtype {dtypes.cpp_name(sorter.dtype)}"
        )
    if readable(sorter) and (sorter.min() < 0 or sorter.max() >= row.shape[-1]):
        raise RuntimeError(f"{name}(): sorter index out of range")


@composite(method=False, out=True)
@per_sample
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The bucket of each element: the number of boundaries below it (`right`: not above it)."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    values = input if isinstance(input, Tensor) else wrap_number(input, boundaries)
    return make(_positions(boundaries._ag_raw, values._ag_raw, right, None, out_int32))
