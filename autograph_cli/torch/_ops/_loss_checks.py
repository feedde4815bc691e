"""What losses refuse because PyTorch computes them in place, or asks something of their arguments first."""

from __future__ import annotations

from typing import Any

from .._core import dims, dtypes
from .._core.dtype_checks import check_cast, check_written, refuse
from .._core.operation import operations
from .._core.state import process_state
from .._core.tensor import Tensor
from . import arithmetic


def check_logits(a: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> None:
    """PyTorch computes the losses in place, in the tensor of 1 - target."""
    refuse("log_sigmoid_cpu", a._raw, "biuc")
    if pos_weight is not None:
        arithmetic.check_sub(pos_weight._raw, 1)
        shape = dims.broadcast(pos_weight._raw.shape, target._raw.shape)
        check_written(a, shape, dtypes.promote(pos_weight._raw.dtype, target._raw.dtype))
    check_written(target, a._raw.shape, a._raw.dtype)
    if weight is not None:
        check_written(target, weight._raw.shape, weight._raw.dtype)


def check_soft_margin(a: Tensor, target: Tensor) -> None:
    """PyTorch computes the losses in place, in the tensor of -input."""
    if a._raw.dtype.kind == "b":
        operations.neg(a)
    check_written(a, target._raw.shape, target._raw.dtype)
    if a._raw.dtype.kind in "iu":
        check_cast(process_state.default_dtype, a._raw.dtype)


def asked_for_any(input: Any, target: Any, var: Any, **_: Any) -> Any:
    return None if isinstance(var, float) else ("torch", "any", (var < 0,), {})
