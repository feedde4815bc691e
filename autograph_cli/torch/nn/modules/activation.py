"""Activations: functions of one tensor as modules. (Attention is in `attention`.)"""

from __future__ import annotations

from typing import Any

from ... import _namespace as torch
from .. import functional as F, init
from ..parameter import Parameter
from ._layer import Layer
from .attention import MultiheadAttention
from .module import Module

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class ReLU(Layer, call="relu"):
    """max(x, 0)."""

    inplace: bool = False


class SELU(Layer, call="selu"):
    """Scaled `ELU`, whose outputs keep mean 0 and variance 1."""

    inplace: bool = False


class SiLU(Layer, call="silu"):
    """x * sigmoid(x)."""

    inplace: bool = False


class Mish(Layer, call="mish"):
    """x * tanh(softplus(x))."""

    inplace: bool = False


class Hardswish(Layer, call="hardswish", shows=""):
    """x * relu6(x + 3) / 6."""

    inplace: bool = False


class Hardsigmoid(Layer, call="hardsigmoid", shows=""):
    """relu6(x + 3) / 6."""

    inplace: bool = False


class ELU(Layer, call="elu"):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(Layer, call="celu"):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""

    alpha: float = 1.0
    inplace: bool = False


class LeakyReLU(Layer, call="leaky_relu"):
    """x where it is positive, `negative_slope` * x elsewhere."""

    negative_slope: float = 0.01
    inplace: bool = False


class GELU(Layer, call="gelu"):
    """x times the normal distribution's cumulative probability of x; `approximate` may be "tanh"."""

    approximate: str = "none"


class GLU(Layer, call="glu"):
    """The first half along `dim`, times the sigmoid of the second."""

    dim: int = -1


class Hardshrink(Layer, call="hardshrink", shows="{lambd}"):
    """x, and 0 within [-lambd, lambd]."""

    lambd: float = 0.5


class Softshrink(Layer, call="softshrink", shows="{lambd}"):
    """x moved towards 0 by `lambd`, and 0 within [-lambd, lambd]."""

    lambd: float = 0.5


class Softplus(Layer, call="softplus"):
    """log(1 + exp(beta * x)) / beta, and x itself past the threshold."""

    beta: float = 1.0
    threshold: float = 20.0


class Threshold(Layer, call="threshold"):
    """x above `threshold`, `value` elsewhere."""

    threshold: float
    value: float
    inplace: bool = False


class Softmax(Layer, call="softmax"):
    """exp(x) over its sum along `dim`."""

    dim: Any = None


class LogSoftmax(Layer, call="log_softmax"):
    """The logarithm of `Softmax`."""

    dim: Any = None


class Softmin(Layer, call="softmin"):
    """`Softmax` of -x."""

    dim: Any = None


class Softsign(Layer, call="softsign"):
    """x / (1 + |x|)."""


class Tanhshrink(Layer, call="tanhshrink"):
    """x - tanh(x)."""


class LogSigmoid(Layer, call="logsigmoid"):
    """log(sigmoid(x))."""


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Any) -> Any:
        return torch.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Any) -> Any:
        return torch.sigmoid(input)


class Softmax2d(Module):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W); ValueError for other shapes."""

    def forward(self, input: Any) -> Any:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class Hardtanh(Layer, call="hardtanh"):
    """x, no less than `min_val` and no more than `max_val`."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(
            *args, **{{"min_value": "min_val", "max_value": "max_val"}.get(k, k): v for k, v in kwargs.items()}
        )
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Layer, call="rrelu"):
    """`LeakyReLU` with a slope drawn for each element while training."""

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False

    def forward(self, input: Any) -> Any:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """`LeakyReLU` whose slope, one for all channels or one for each, is learned."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with its initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


MultiheadAttention.__module__ = __name__  # PyTorch has it here, and files name it by that
