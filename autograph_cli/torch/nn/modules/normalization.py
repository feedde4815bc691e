"""Normalization of each example by itself."""

from __future__ import annotations

from typing import Any

from ... import _namespace as torch
from .. import functional as F, init
from ..parameter import Parameter
from ._layer import Layer
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """A scale `weight` and a shift `bias`, each of which may be None."""

    def _ag_make(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(name, Parameter(torch.empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, whose sizes are `normalized_shape`."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._ag_make(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Mean square 1 over the last dimensions, whose sizes are `normalized_shape`."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = (
            Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        )
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over each group of channels of each example."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._ag_make(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Layer, call="local_response_norm", shows="{size}, alpha={alpha}, beta={beta}, k={k}"):
    """Each element divided by what the channels next to its own hold."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of (N, C, H, W)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
