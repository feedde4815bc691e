"""Blocks of several layers: convolution, normalization and activation in one, gates, perceptrons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograph_cli.torch import nn, ones, rsqrt, zeros


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization whose statistics and weights are buffers, which training leaves alone."""

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", ones(num_features))
        self.register_buffer("bias", zeros(num_features))
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Any) -> Any:
        weight, bias, mean, variance = (
            buffer.reshape(1, -1, 1, 1) for buffer in (self.weight, self.bias, self.running_mean, self.running_var)
        )
        scale = weight * rsqrt(variance + self.eps)
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class _ConvNormActivation(nn.Sequential):
    """A convolution that keeps the size at stride 1, a normalization and an activation, the last two on request."""

    convolution: type[nn.Module]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            padding = _same(kernel_size, dilation)
        layers = [
            self.convolution(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation=dilation,
                groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


def _same(kernel: Any, dilation: Any) -> Any:
    """The padding with which a convolution keeps the size."""
    if isinstance(kernel, int) and isinstance(dilation, int):
        return (kernel - 1) // 2 * dilation
    length = len(kernel) if isinstance(kernel, Sequence) else len(dilation)
    kernels = kernel if isinstance(kernel, Sequence) else (kernel,) * length
    dilations = dilation if isinstance(dilation, Sequence) else (dilation,) * length
    return tuple((size - 1) // 2 * apart for size, apart in zip(kernels, dilations, strict=True))


class Conv2dNormActivation(_ConvNormActivation):
    """A two-dimensional convolution with its normalization and activation."""

    convolution = nn.Conv2d


class Conv3dNormActivation(_ConvNormActivation):
    """A three-dimensional convolution with its normalization and activation."""

    convolution = nn.Conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm3d,
        *args: Any,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, *args, **options)


class SqueezeExcitation(nn.Module):
    """Channels weighed by a gate that sees the mean of each (Hu et al., 2018)."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Module] = nn.ReLU,
        scale_activation: Callable[..., nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Any) -> Any:
        scale = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(scale)) * input


class MLP(nn.Sequential):
    """A perceptron: linear layers with a normalization, an activation and dropout between them."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        width = in_channels
        for hidden in hidden_channels[:-1]:
            layers.append(nn.Linear(width, hidden, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(hidden))
            if activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            width = hidden
        layers.append(nn.Linear(width, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


class Permute(nn.Module):
    """The dimensions in another order."""

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Any) -> Any:
        return x.permute(self.dims)
