"""ConvNeXt: a convolutional network with the habits of transformers (Liu et al., 2022)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autograph_cli.torch import nn, ones
from autograph_cli.torch.nn import functional as F

from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._api import variant

Norm = Callable[..., nn.Module]


class LayerNorm2d(nn.LayerNorm):
    """Normalizes the channels at each point."""

    def forward(self, x: Any) -> Any:
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A convolution of each channel by itself, then a perceptron at each point, scaled and added."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Norm | None = None
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(in_features=dim, out_features=4 * dim, bias=True),
            nn.GELU(),
            nn.Linear(in_features=4 * dim, out_features=dim, bias=True),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Any) -> Any:
        result = self.layer_scale * self.block(input)
        result = self.stochastic_depth(result)
        result += input
        return result


class CNBlockConfig:
    """One stage: channels, channels of the next one (None in the last), blocks."""

    def __init__(self, input_channels: int, out_channels: int | None, num_layers: int) -> None:
        self.input_channels, self.out_channels, self.num_layers = input_channels, out_channels, num_layers


class ConvNeXt(nn.Module):
    """Four stages, each at half the size of the one before."""

    def __init__(
        self,
        block_setting: list[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        block, norm_layer = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3,
                block_setting[0].input_channels,
                kernel_size=4,
                stride=4,
                padding=0,
                norm_layer=norm_layer,
                activation_layer=None,
                bias=True,
            )
        ]
        total, number = sum(setting.num_layers for setting in block_setting), 0
        for setting in block_setting:
            stage = []
            for _ in range(setting.num_layers):
                probability = stochastic_depth_prob * number / (total - 1.0)
                stage.append(block(setting.input_channels, layer_scale, probability))
                number += 1
            layers.append(nn.Sequential(*stage))
            if setting.out_channels is not None:
                layers.append(
                    nn.Sequential(
                        norm_layer(setting.input_channels),
                        nn.Conv2d(setting.input_channels, setting.out_channels, kernel_size=2, stride=2),
                    )
                )
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        width = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm_layer(width), nn.Flatten(1), nn.Linear(width, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        return self.classifier(self.avgpool(self.features(x)))


def _convnext(width: int, depth: int, probability: float, **options: Any) -> ConvNeXt:
    widths = [width, 2 * width, 4 * width, 8 * width, None]
    settings = [
        CNBlockConfig(int(here or 0), after, blocks)
        for here, after, blocks in zip(widths, widths[1:], (3, 3, depth, 3), strict=False)
    ]
    return ConvNeXt(settings, options.pop("stochastic_depth_prob", probability), **options)


convnext_tiny = variant("convnext_tiny", "ConvNeXt, tiny.", _convnext, 96, 9, 0.1)
convnext_small = variant("convnext_small", "ConvNeXt, small.", _convnext, 96, 27, 0.4)
convnext_base = variant("convnext_base", "ConvNeXt, base.", _convnext, 128, 27, 0.5)
convnext_large = variant("convnext_large", "ConvNeXt, large.", _convnext, 192, 27, 0.5)
