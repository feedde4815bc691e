"""MobileNetV2: blocks that are wide inside and narrow between (Sandler et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph_cli.torch import flatten, nn
from autograph_cli.torch.nn import functional as F

from ..ops.misc import Conv2dNormActivation
from ._api import variant
from ._utils import _make_divisible

Norm = Callable[..., nn.Module]


class InvertedResidual(nn.Module):
    """Points that widen, a convolution of each channel by itself, points that narrow."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Norm | None = None) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        self.stride = stride
        norm_layer = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, kernel_size=1, **look))
        layers += [
            Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **look),
            nn.Conv2d(hidden, oup, 1, 1, 0, bias=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals, whose setting is a list of (expansion, channels, blocks, stride)."""

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        setting = inverted_residual_setting or [
            [1, 16, 1, 1],
            [6, 24, 2, 2],
            [6, 32, 3, 2],
            [6, 64, 4, 2],
            [6, 96, 3, 1],
            [6, 160, 3, 2],
            [6, 320, 1, 1],
        ]
        if len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        features: list[nn.Module] = [Conv2dNormActivation(3, width, stride=2, **look)]
        for expansion, channels, blocks, stride in setting:
            wanted = _make_divisible(channels * width_mult, round_nearest)
            for number in range(blocks):
                step = 1 if number else stride
                features.append(block(width, wanted, step, expand_ratio=expansion, norm_layer=norm_layer))
                width = wanted
        features.append(Conv2dNormActivation(width, self.last_channel, kernel_size=1, **look))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialize(self)

    def forward(self, x: Any) -> Any:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(flatten(x, 1))


def initialize(model: nn.Module) -> None:
    """The initial values of all MobileNets."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
            nn.init.zeros_(module.bias)


mobilenet_v2 = variant("mobilenet_v2", "MobileNetV2, of 3.5 million parameters.", MobileNetV2)
