"""`torch.masked`: reductions and normalizations of the elements that a mask keeps.

What the mask leaves out is replaced by the element that does not change the result; then the plain function runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._core.base import dtypes
from ._core.operations.registry import functions as torch
from ._core.tape.tensor import Tensor, make

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
    "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


# ---------------------------------------------------------------- masks and dimensions

_NEUTRAL = {"sum": 0, "prod": 1, "amax": -math.inf, "amin": math.inf, "median": math.nan}


def _neutral(kind: str, x: Tensor) -> Tensor:
    """The element that does not change a result, as a 0-d tensor."""
    value: Any = _NEUTRAL[kind]
    if isinstance(value, float) and x.dtype.category < dtypes.FLOATING:
        limits = torch["iinfo"](x.dtype) if x.dtype is not dtypes.bool_ else None
        value = (value > 0) if limits is None else limits.max if value > 0 else limits.min
    return make(x._ag_raw.dtype.type(value))


def _spread_mask(input: Tensor, mask: Any) -> Tensor:
    """The mask in the shape of the input."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be Tensor but got {type(mask)}")
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if mask._ag_raw.shape != input._ag_raw.shape:
        mask = torch["broadcast_to"](mask.clone(), input._ag_raw.shape)
    kept: Tensor = mask.to(dtypes.bool_)
    return kept


def _kept(kind: str, input: Tensor, mask: Tensor | None) -> Tensor:
    """The input with what the mask leaves out made neutral."""
    if mask is None:
        return input
    result: Tensor = torch["where"](_spread_mask(input, mask), input, _neutral(kind, input))
    return result


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(ndim))
    n, found = max(ndim, 1), []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d % n in found:
            raise RuntimeError(f"dim={d % n} appears multiple times in the list of dims")
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        found.append(d % n)
    return tuple(sorted(found))


def _summed_dtype(input: Tensor, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    small = (dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32)
    return dtypes.int64 if input.dtype in small else input.dtype


# ---------------------------------------------------------------- reductions


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of what the mask keeps.

    >>> from autograph_cli import torch
    >>> torch.masked.sum(torch.tensor([1, 2, 3]), mask=torch.tensor([True, False, True]))
    tensor(4)
    """
    kept = _kept("sum", input, mask)
    result: Tensor = torch["sum"](kept, _dims(dim, input.ndim), bool(keepdim), dtype=_summed_dtype(input, dtype))
    return result


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of what the mask keeps."""
    result = _kept("prod", input, mask).to(_summed_dtype(input, dtype))
    for d in reversed(_dims(dim, input.ndim)):
        result = result.prod(d, bool(keepdim))
    return result


def _cumulative(kind: str, name: str) -> Callable[..., Tensor]:
    def run(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        wanted = _summed_dtype(input, dtype)
        result: Tensor = torch[name](_kept(kind, input, mask), _dims(dim, input.ndim)[0], dtype=wanted).to(wanted)
        return result

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`torch.{name}` of what the mask keeps."
    return run


cumsum, cumprod = _cumulative("sum", "cumsum"), _cumulative("prod", "cumprod")


def _extreme(name: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def run(
        input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        made: Tensor = torch[name](_kept(name, input, mask), _dims(dim, input.ndim), bool(keepdim))
        return made.to(input.dtype if dtype is None else dtype)

    def position(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: bool | None = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        made: Tensor = torch[f"arg{name[1:]}"](_kept(name, input, mask), dim, bool(keepdim))
        return made.to(input.dtype if dtype is None else dtype)

    for made, public in ((run, name), (position, f"arg{name[1:]}")):
        made.__name__ = made.__qualname__ = public
        made.__doc__ = f"`torch.{public}` of what the mask keeps."
    return run, position


amax, argmax = _extreme("amax")
amin, argmin = _extreme("amin")


def _counted(input: Tensor, dim: Any, keepdim: bool, dtype: Any, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The sum of what the mask keeps, and how many elements that are."""
    if mask is None:
        count = sum(torch["ones"](input._ag_raw.shape, dtype=dtypes.int64, device=input.device), dim, keepdim=keepdim)
        return sum(input, dim, keepdim=keepdim, dtype=dtype), count
    inside = _spread_mask(input, mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=inside), torch["sum"](
        inside, _dims(dim, input.ndim), keepdim
    )


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of what the mask keeps."""
    wanted = input.dtype if dtype is None else dtype
    if wanted.category < dtypes.FLOATING:
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {wanted}"
        )
    total, count = _counted(input, dim, bool(keepdim), wanted, mask)
    result: Tensor = torch["div"](total, count)
    return result


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median of what the mask keeps, along one dimension."""
    x = input if input.dtype.is_floating_point else input.to(dtypes.float32)
    result: Tensor = torch["nanmedian"](_kept("median", x, mask), _dims(dim, input.ndim)[0], keepdim)[0]
    if x is input:
        return result
    if bool(result.isnan().any()):
        raise ValueError("masked median of integers where the mask keeps nothing is not defined")
    return result.to(input.dtype if dtype is None else dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of what the mask keeps."""
    made: Tensor = torch["logsumexp"](_kept("amax", input, mask), _dims(dim, input.ndim), keepdim)
    return made.to(input.dtype if dtype is None else dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`torch.logaddexp` of what each mask keeps."""
    made: Tensor = torch["logaddexp"](_kept("amax", input, input_mask), _kept("amax", other, other_mask))
    return made.to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor,
    ord: Any = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of what the mask keeps."""
    kept = _kept("amin" if ord == -math.inf else "sum", input, mask)
    result: Tensor = torch["norm"](kept, ord, _dims(dim, input.ndim), bool(keepdim), dtype=dtype)
    return result


def _spread(input: Tensor, dim: Any, correction: Any, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    wanted = input.dtype if dtype is None else dtype
    wanted = dtypes.float32 if dtype is None and wanted.category < dtypes.FLOATING else wanted
    compute = dtypes.float32 if wanted.category < dtypes.FLOATING else wanted
    total, count = _counted(input, dim, True, wanted, mask)
    x: Any = torch["sub"](input, torch["div"](total, count))
    squares = sum(
        x * x.conj(), dim, keepdim=keepdim, dtype=compute, mask=None if mask is None else _spread_mask(input, mask)
    )
    if not keepdim:
        count = count.reshape(squares._ag_raw.shape)
    if correction:
        count = count.to(compute.to_real())
        count = torch["maximum"](torch["sub"](count, correction), torch["zeros"]((), dtype=count.dtype))
    return torch["div"](squares, count).to(wanted)


def _correction(unbiased: bool | None, correction: Any) -> Any:
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    return int(unbiased) if unbiased is not None else 1 if correction is None else correction


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of what the mask keeps."""
    result: Tensor = _spread(input, dim, _correction(unbiased, correction), bool(keepdim), dtype, mask)
    return result


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of what the mask keeps."""
    result: Tensor = torch["sqrt"](_spread(input, dim, _correction(unbiased, correction), bool(keepdim), dtype, mask))
    return result


# ---------------------------------------------------------------- normalizations


def _normalizer(kind: str, name: str, negative: bool = False) -> Callable[..., Tensor]:
    def run(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        wanted = input.dtype if dtype is None else dtype
        kept = _kept(kind, input, mask)
        result: Tensor = torch[name](torch["neg"](kept) if negative else kept, _dims(dim, input.ndim)[0], dtype=wanted)
        return result

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`{name}` of {'minus ' if negative else ''}what the mask keeps; the rest gets no share."
    return run


softmax, log_softmax = _normalizer("amax", "softmax"), _normalizer("amax", "log_softmax")
softmin = _normalizer("amin", "softmax", negative=True)


def normalize(
    input: Tensor, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return what the mask keeps, divided by its norm."""
    kept = _kept("sum", input, mask)
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    floor = torch["full"]((), eps, dtype=size.dtype)
    result: Tensor = torch["div"](kept, torch["maximum"](size, floor))
    return result
