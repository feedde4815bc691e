"""MobileNetV3: found by search, with gates and hard activations (Howard et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from autograph_cli.torch import flatten, nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import variant
from ._utils import _make_divisible
from .mobilenetv2 import initialize

Norm = Callable[..., nn.Module]
_Gate = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """One block: channels before, kernel, channels inside, channels after, gate, activation, stride, dilation."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se, self.use_hs = use_se, activation == "HS"
        self.stride, self.dilation = stride, dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """Return the number of channels in a model that is wider by this factor."""
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Points that widen, a convolution of each channel by itself, a gate, points that narrow."""

    def __init__(self, cnf: InvertedResidualConfig, norm_layer: Norm, se_layer: Norm = _Gate) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        inner = cnf.expanded_channels
        look: dict[str, Any] = {
            "norm_layer": norm_layer,
            "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU,
        }
        layers: list[nn.Module] = []
        if inner != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, inner, kernel_size=1, **look))
        layers.append(
            Conv2dNormActivation(
                inner,
                inner,
                kernel_size=cnf.kernel,
                stride=1 if cnf.dilation > 1 else cnf.stride,
                dilation=cnf.dilation,
                groups=inner,
                **look,
            )
        )
        if cnf.use_se:
            layers.append(se_layer(inner, _make_divisible(inner // 4, 8)))
        layers.append(
            Conv2dNormActivation(inner, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None)
        )
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Any) -> Any:
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """Inverted residuals by a list of settings, and a classifier with a hidden layer."""

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        first = inverted_residual_setting[0].input_channels
        look: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, kernel_size=3, stride=2, **look)]
        layers += [block(setting, norm_layer) for setting in inverted_residual_setting]
        width = inverted_residual_setting[-1].out_channels
        layers.append(Conv2dNormActivation(width, 6 * width, kernel_size=1, **look))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * width, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize(self)

    def forward(self, x: Any) -> Any:
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def _settings(
    arch: str, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False, **kwargs: Any
) -> tuple[list[InvertedResidualConfig], int]:
    """The blocks of a model, and the width of its classifier's hidden layer."""
    tail, apart = 2 if reduced_tail else 1, 2 if dilated else 1
    last, hidden = 160 // tail, 960 // tail
    large = [
        (16, 3, 16, 16, False, "RE", 1, 1), (16, 3, 64, 24, False, "RE", 2, 1), (24, 3, 72, 24, False, "RE", 1, 1),
        (24, 5, 72, 40, True, "RE", 2, 1), (40, 5, 120, 40, True, "RE", 1, 1), (40, 5, 120, 40, True, "RE", 1, 1),
        (40, 3, 240, 80, False, "HS", 2, 1), (80, 3, 200, 80, False, "HS", 1, 1), (80, 3, 184, 80, False, "HS", 1, 1),
        (80, 3, 184, 80, False, "HS", 1, 1), (80, 3, 480, 112, True, "HS", 1, 1),
        (112, 3, 672, 112, True, "HS", 1, 1), (112, 5, 672, last, True, "HS", 2, apart),
        (last, 5, hidden, last, True, "HS", 1, apart), (last, 5, hidden, last, True, "HS", 1, apart),
    ]  # fmt: skip
    end, inner = 96 // tail, 576 // tail
    small = [
        (16, 3, 16, 16, True, "RE", 2, 1), (16, 3, 72, 24, False, "RE", 2, 1), (24, 3, 88, 24, False, "RE", 1, 1),
        (24, 5, 96, 40, True, "HS", 2, 1), (40, 5, 240, 40, True, "HS", 1, 1), (40, 5, 240, 40, True, "HS", 1, 1),
        (40, 5, 120, 48, True, "HS", 1, 1), (48, 5, 144, 48, True, "HS", 1, 1),
        (48, 5, 288, end, True, "HS", 2, apart), (end, 5, inner, end, True, "HS", 1, apart),
        (end, 5, inner, end, True, "HS", 1, apart),
    ]  # fmt: skip
    rows, width = (large, 1280) if arch == "mobilenet_v3_large" else (small, 1024)
    blocks = [InvertedResidualConfig(*row, width_mult) for row in rows]
    return blocks, InvertedResidualConfig.adjust_channels(width // tail, width_mult)


def _mobilenet(arch: str, **options: Any) -> MobileNetV3:
    own = {key: options.pop(key) for key in ("width_mult", "reduced_tail", "dilated") if key in options}
    blocks, last = _settings(arch, **own)
    return MobileNetV3(blocks, last, **options)


mobilenet_v3_large = variant("mobilenet_v3_large", "MobileNetV3, the large one.", _mobilenet, "mobilenet_v3_large")
mobilenet_v3_small = variant("mobilenet_v3_small", "MobileNetV3, the small one.", _mobilenet, "mobilenet_v3_small")
