"""`torch.func`: derivatives of functions as functions, and functions of many examples at once."""

from __future__ import annotations

from typing import Any

from .. import _missing
from .._core.tape.tensor import Tensor, Wrapped
from .._functorch.vmap import vmap
from ..nn.utils.stateless import functional_call
from ._gradients import grad, grad_and_value, vjp
from ._jacobians import hessian, jacfwd, jacrev
from ._modules import replace_all_batch_norm_modules_, stack_module_state
from ._tangents import jvp, linearize

__all__ = [
    "debug_unwrap", "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return what a tensor inside a transform wraps: the primal, or the whole batch; all the way down, or one level."""
    while isinstance(tensor, Wrapped):
        tensor = tensor._ag_inner
        if not recurse:
            break
    return tensor
