"""`torch.nn.functional`: layers and losses as functions."""

from __future__ import annotations

from typing import Any

from .._ops import functions as _functions
from .._ops.activations import log_softmax as _log_softmax
from .._ops.activations import softmax as _softmax
from .._ops.activations import softplus_op as _softplus
from .._ops.linear import addmm_, matmul
from .._ops.losses import binary_cross_entropy_with_logits, mse_loss
from .._ops.nonlinear import leaky_relu, logsigmoid
from .._ops.views import t_op as _t

__all__ = [
    "binary_cross_entropy_with_logits", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mse_loss", "relu", "sigmoid",
    "softmax", "softplus", "tanh",
]  # fmt: skip

sigmoid = _functions.sigmoid
tanh = _functions.tanh


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0), element by element."""
    return input.relu_() if inplace else _functions.relu(input)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta, and x itself past the threshold."""
    return _softplus(input, beta, threshold)


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) over its sum along `dim`."""
    return _softmax(input, _implicit(input) if dim is None else dim, dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _log_softmax(input, _implicit(input) if dim is None else dim, dtype)


def _implicit(input: Any) -> int:
    return 0 if input.ndim in (0, 1, 3) else 1


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias, composed as PyTorch composes it."""
    if bias is not None and input.ndim == 2:
        return addmm_(bias, input, _t(weight))
    product = matmul(input, _t(weight))
    return product if bias is None else product + bias


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.nn.functional.{name} is not available in autograph's engine yet")
