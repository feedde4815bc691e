"""Elements of one tensor or another, by a condition."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.operation import operation
from .._core.registry import composite
from .._core.tensor import Tensor
from .._core.user_warnings import warn_once
from .._core.wrapped_numbers import plain_number, wrap_number
from .creation import scalar_tensor
from .indexing import nonzero

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
    if condition._raw.dtype.name not in ("bool", "uint8"):
        kind = dtypes.cpp_name(condition._raw.dtype)
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    if condition._raw.dtype.name == "uint8":
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
        a = scalar_tensor(a, dtype=None)
    for number, beside in ((a, b), (b, a)):
        if not isinstance(number, Tensor):
            kind = dtypes.number_dtype(plain_number(number), beside._raw.dtype)
            if dtypes.CATEGORY[kind] == dtypes.INTEGRAL:
                dtypes.check_held(number, kind)
    return a if isinstance(a, Tensor) else wrap_number(a, b), b if isinstance(b, Tensor) else wrap_number(b, a)
