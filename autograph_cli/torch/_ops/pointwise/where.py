"""Elements of one tensor or another, or a value in their place, by a condition."""

from __future__ import annotations

from typing import Any

from ..._arrays.meta import readable
from ..._core.arguments.operands import OF_BOOLS
from ..._core.base import dtypes
from ..._core.base.user_warnings import warn_once
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, overloaded
from ..._core.running.device_dispatch import is_meta
from ..._core.tape.tensor import Tensor
from ..._core.tape.wrapped_numbers import plain_number, wrap_number
from ..._core.transforms import batching_rules
from ..positions.indexing import nonzero

where_ = operation(
    "where(Tensor condition, Tensor self, Tensor other)",
    float8=True,
    pointwise=True,
    linear=True,
    self=lambda f, grad, condition: f.where(condition, grad, f.zero_beside(grad)),
    other=lambda f, grad, condition: f.where(condition, f.zero_beside(grad), grad),
)


@composite(method=False, out=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition` holds, of `other` elsewhere; with `condition` alone, its indices."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition._ag_raw.dtype.kind != "b":
        if condition._ag_raw.dtype != dtypes.uint8.numpy:
            kind = dtypes.cpp_name(condition._ag_raw.dtype)
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
    a, b = _alike(input, other)
    return where_(condition, a, b)


@composite(function=False, name="where")
def where_method(self: Tensor, condition: Tensor, other: Any) -> Any:
    """The elements of this tensor where `condition` holds, those of `other` elsewhere."""
    return where(condition, self, other)


def _alike(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = wrap_number(a, OF_BOOLS)
    for number, beside in ((a, b), (b, a)):
        if not isinstance(number, Tensor):
            kind = dtypes.number_dtype(plain_number(number), beside._ag_raw.dtype)
            if dtypes.CATEGORY[kind] == dtypes.INTEGRAL:
                dtypes.check_held(number, kind)
    return a if isinstance(a, Tensor) else wrap_number(a, b), b if isinstance(b, Tensor) else wrap_number(b, a)


masked_fill_scalar = operation(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)",
    pointwise=True,
    memory_format="contiguous",
    overlap="any",
    internal_overlap="tensor[mask] = scalar",
    self=lambda f, grad, mask: f.masked_fill_Scalar(grad, mask, 0),
)


masked_fill_tensor = operation(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)",
    from_cpu=True,
    node="MaskedFillBackward1",
    pointwise=True,
    linear=True,
    memory_format="contiguous",
    batch=batching_rules.masked_fill,
    overlap="any",
    internal_overlap="tensor[mask] = scalar",
    self=lambda f, grad, mask: f.masked_fill_Scalar(grad, mask, 0),
    value=lambda f, grad, mask: f.sum(
        f.where(mask, grad, f.zeros_of((), grad)) if is_meta(grad) else f.masked_select(grad, mask)
    ),
)


@overloaded()
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Any:
    """`input` with `value`, a number or a tensor of one element, where the boolean `mask` holds.

    `mask` is broadcast. RuntimeError if it is not boolean, or if `value` has dimensions.
    """
    if mask._ag_raw.dtype.kind != "b":
        kind = dtypes.c_name(mask._ag_raw.dtype)
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
                "dimension(s)."
            )
        if readable(value._ag_raw):
            dtypes.check_held(value._ag_raw.item(), input._ag_raw.dtype)
        return masked_fill_tensor, input, mask, value
    return masked_fill_scalar, input, mask, value
