"""EfficientNet: width, depth and size grow together (Tan and Le, 2019), and V2 (2021)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from autograph_cli.torch import flatten, nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._api import variant
from ._utils import _make_divisible

Norm = Callable[..., nn.Module]


@dataclass
class _MBConvConfig:
    """One stage of blocks."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Callable[..., nn.Module]

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        """Return the number of channels in a model that is wider by this factor."""
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of inverted residuals with gates, of a model that is wider and deeper by these factors."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Callable[..., nn.Module] | None = None,
    ) -> None:
        before, after = (self.adjust_channels(channels, width_mult) for channels in (input_channels, out_channels))
        layers = math.ceil(num_layers * depth_mult)
        super().__init__(expand_ratio, kernel, stride, before, after, layers, block or MBConv)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of blocks whose first two convolutions are one."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__(expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block or FusedMBConv)


class _Block(nn.Module):
    """The part that both kinds of blocks share: layers, and what goes around them."""

    def _finish(self, cnf: _MBConvConfig, layers: list[nn.Module], probability: float) -> None:
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(probability, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Any) -> Any:
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class MBConv(_Block):
    """An inverted residual with a gate."""

    def __init__(
        self,
        cnf: _MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Norm,
        se_layer: Callable[..., nn.Module] = SqueezeExcitation,
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        inner = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        layers: list[nn.Module] = []
        if inner != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, inner, kernel_size=1, **look))
        layers.append(
            Conv2dNormActivation(inner, inner, kernel_size=cnf.kernel, stride=cnf.stride, groups=inner, **look)
        )
        layers.append(se_layer(inner, max(1, cnf.input_channels // 4), activation=partial(nn.SiLU, inplace=True)))
        layers.append(
            Conv2dNormActivation(inner, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None)
        )
        self._finish(cnf, layers, stochastic_depth_prob)


class FusedMBConv(_Block):
    """An inverted residual whose first two convolutions are one, without a gate."""

    def __init__(self, cnf: _MBConvConfig, stochastic_depth_prob: float, norm_layer: Norm) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        inner = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        first: dict[str, Any] = {"kernel_size": cnf.kernel, "stride": cnf.stride, **look}
        if inner == cnf.input_channels:
            layers: list[nn.Module] = [Conv2dNormActivation(cnf.input_channels, cnf.out_channels, **first)]
        else:
            layers = [
                Conv2dNormActivation(cnf.input_channels, inner, **first),
                Conv2dNormActivation(
                    inner, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None
                ),
            ]
        self._finish(cnf, layers, stochastic_depth_prob)


class EfficientNet(nn.Module):
    """Stages of blocks by a list of settings; deeper blocks are left out more often in training."""

    def __init__(
        self,
        inverted_residual_setting: Sequence[_MBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Norm | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm_layer = norm_layer or nn.BatchNorm2d
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        first = inverted_residual_setting[0].input_channels
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, kernel_size=3, stride=2, **look)]
        total, number = sum(cnf.num_layers for cnf in inverted_residual_setting), 0
        for setting in inverted_residual_setting:
            stage: list[nn.Module] = []
            for _ in range(setting.num_layers):
                block = copy.copy(setting)
                if stage:
                    block.input_channels, block.stride = block.out_channels, 1
                stage.append(block.block(block, stochastic_depth_prob * float(number) / total, norm_layer))
                number += 1
            layers.append(nn.Sequential(*stage))
        width = inverted_residual_setting[-1].out_channels
        last = 4 * width if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(width, last, kernel_size=1, **look))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


_FIRST = [
    (1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1),
]  # fmt: skip
_SECOND: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "s": (
        [(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)],
        [(4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)],
    ),
    "m": (
        [(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)],
        [(4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)],
    ),
    "l": (
        [(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)],
        [(4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)],
    ),
}


def _v1(width: float, depth: float, rate: float, precise: bool = False, **options: Any) -> EfficientNet:
    stages = [MBConvConfig(*row, width_mult=width, depth_mult=depth) for row in _FIRST]
    if precise:
        options.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001, momentum=0.01))
    return EfficientNet(stages, options.pop("dropout", rate), **options)


def _v2(size: str, rate: float, **options: Any) -> EfficientNet:
    fused, plain = _SECOND[size]
    stages: list[_MBConvConfig] = [FusedMBConvConfig(*row) for row in fused]
    stages += [MBConvConfig(*row) for row in plain]
    options.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001))
    return EfficientNet(stages, options.pop("dropout", rate), last_channel=1280, **options)


efficientnet_b0 = variant("efficientnet_b0", "EfficientNet B0.", _v1, 1.0, 1.0, 0.2)
efficientnet_b1 = variant("efficientnet_b1", "EfficientNet B1.", _v1, 1.0, 1.1, 0.2)
efficientnet_b2 = variant("efficientnet_b2", "EfficientNet B2.", _v1, 1.1, 1.2, 0.3)
efficientnet_b3 = variant("efficientnet_b3", "EfficientNet B3.", _v1, 1.2, 1.4, 0.3)
efficientnet_b4 = variant("efficientnet_b4", "EfficientNet B4.", _v1, 1.4, 1.8, 0.4)
efficientnet_b5 = variant("efficientnet_b5", "EfficientNet B5.", _v1, 1.6, 2.2, 0.4, precise=True)
efficientnet_b6 = variant("efficientnet_b6", "EfficientNet B6.", _v1, 1.8, 2.6, 0.5, precise=True)
efficientnet_b7 = variant("efficientnet_b7", "EfficientNet B7.", _v1, 2.0, 3.1, 0.5, precise=True)
efficientnet_v2_s = variant("efficientnet_v2_s", "EfficientNetV2, small.", _v2, "s", 0.2)
efficientnet_v2_m = variant("efficientnet_v2_m", "EfficientNetV2, medium.", _v2, "m", 0.3)
efficientnet_v2_l = variant("efficientnet_v2_l", "EfficientNetV2, large.", _v2, "l", 0.4)
