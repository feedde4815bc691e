"""Refusals of losses: PyTorch computes them in place, or checks their arguments first."""

from __future__ import annotations

from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.dtype_checks import check_cast, check_written, refuse
from ..._core.base.state import process_state
from ..._core.operations.operation import operations
from ..._core.tape.tensor import Tensor
from ..pointwise import arithmetic


def check_logits(a: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> None:
    """PyTorch computes the losses in place, in the tensor of 1 - target."""
    refuse("log_sigmoid_cpu", a._ag_raw, "biuc")
    if pos_weight is not None:
        arithmetic.check_sub(pos_weight._ag_raw, 1)
        shape = dims.broadcast(pos_weight._ag_raw.shape, target._ag_raw.shape)
        check_written(a, shape, dtypes.promote(pos_weight._ag_raw.dtype, target._ag_raw.dtype))
    check_written(target, a._ag_raw.shape, a._ag_raw.dtype)
    if weight is not None:
        check_written(target, weight._ag_raw.shape, weight._ag_raw.dtype)


def check_soft_margin(a: Tensor, target: Tensor) -> None:
    """PyTorch computes the losses in place, in the tensor of -input."""
    if a._ag_raw.dtype.kind == "b":
        operations.neg(a)
    check_written(a, target._ag_raw.shape, target._ag_raw.dtype)
    if a._ag_raw.dtype.kind in "iu":
        check_cast(process_state.default_dtype, a._ag_raw.dtype)


def asked_for_any(input: Any, target: Any, var: Any, **_: Any) -> Any:
    return None if isinstance(var, float) else ("torch", "any", (var < 0,), {})
