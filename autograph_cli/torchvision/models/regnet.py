"""RegNet: stages whose widths lie on a line (Radosavovic et al., 2020)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from autograph_cli.torch import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import variant
from ._utils import _make_divisible

Layer = Callable[..., nn.Module]


class SimpleStemIN(Conv2dNormActivation):
    """A convolution of step 2, its normalization and activation."""

    def __init__(self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer) -> None:
        super().__init__(
            width_in, width_out, kernel_size=3, stride=2, norm_layer=norm_layer, activation_layer=activation_layer
        )


class BottleneckTransform(nn.Sequential):
    """A grouped convolution between two of one pixel, and a gate for the channels where `se_ratio` is given."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        inner = round(width_out * bottleneck_multiplier)
        plain: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = Conv2dNormActivation(width_in, inner, kernel_size=1, stride=1, **plain)
        layers["b"] = Conv2dNormActivation(
            inner, inner, kernel_size=3, stride=stride, groups=inner // group_width, **plain
        )
        if se_ratio:
            layers["se"] = SqueezeExcitation(inner, round(se_ratio * width_in), activation=activation_layer)
        layers["c"] = Conv2dNormActivation(
            inner, width_out, kernel_size=1, stride=1, norm_layer=norm_layer, activation_layer=None
        )
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """The transform added to its input, which is projected where shapes differ."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, kernel_size=1, stride=stride, norm_layer=norm_layer, activation_layer=None
            )
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio
        )
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Any) -> Any:
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


class AnyStage(nn.Sequential):
    """Blocks of one width, of which the first makes the step."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, depth: int, block: Layer, stage_index: int, **options: Any
    ) -> None:
        super().__init__()
        for i in range(depth):
            inner = block(width_out if i else width_in, width_out, 1 if i else stride, **options)
            self.add_module(f"block{stage_index}-{i}", inner)


class BlockParams:
    """The depth, the width, the step and the groups of each stage."""

    def __init__(
        self,
        depths: list[int],
        widths: list[int],
        group_widths: list[int],
        bottleneck_multipliers: list[float],
        strides: list[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths, self.widths, self.group_widths = depths, widths, group_widths
        self.bottleneck_multipliers, self.strides, self.se_ratio = bottleneck_multipliers, strides, se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """Stages of `depth` blocks whose widths begin with `w_0` and grow by `w_a`, each a power of `w_m` times `w_0`.

        ValueError for a line that is none.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8:
            raise ValueError("Invalid RegNet settings")
        powers = (round(math.log((i * w_a + w_0) / w_0) / math.log(w_m)) for i in range(depth))
        stages = [(width, len([*same])) for width, same in groupby(8 * round(w_0 * w_m**power / 8) for power in powers)]
        widths, groups = [], []
        for width, _ in stages:
            inner = round(width * bottleneck_multiplier)
            groups.append(min(group_width, inner))
            widths.append(int(_make_divisible(inner, groups[-1]) / bottleneck_multiplier))
        count = len(stages)
        return cls([n for _, n in stages], widths, groups, [bottleneck_multiplier] * count, [2] * count, se_ratio)

    def stages(self) -> Iterator[dict[str, Any]]:
        """The arguments of each stage."""
        rows = (self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)
        names = ("width_out", "stride", "depth", "group_width", "bottleneck_multiplier")
        for row in zip(*rows, strict=True):
            yield {**dict(zip(names, row, strict=True)), "se_ratio": self.se_ratio}


class RegNet(nn.Module):
    """A stem, stages of bottlenecks, and a classifier of the mean over all places."""

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Layer | None = None,
        block_type: Layer | None = None,
        norm_layer: Layer | None = None,
        activation: Layer | None = None,
    ) -> None:
        super().__init__()
        norm_layer, activation = norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm_layer, activation)
        width = stem_width
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        shared: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation}
        for i, stage in enumerate(block_params.stages(), 1):
            stages[f"block{i}"] = AnyStage(
                width, block=block_type or ResBottleneckBlock, stage_index=i, **shared, **stage
            )
            width = stage["width_out"]
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(start_dim=1))


def _regnet(
    depth: int, w_0: int, w_a: float, w_m: float, group_width: int, se_ratio: float | None = None, **kwargs: Any
) -> RegNet:
    params = BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio)
    norm_layer = kwargs.pop("norm_layer", lambda width: nn.BatchNorm2d(width, eps=1e-05, momentum=0.1))
    return RegNet(params, norm_layer=norm_layer, **kwargs)


regnet_x_400mf = variant("regnet_x_400mf", "RegNetX of 400 megaflops.", _regnet, 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = variant("regnet_x_800mf", "RegNetX of 800 megaflops.", _regnet, 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = variant("regnet_x_1_6gf", "RegNetX of 1.6 gigaflops.", _regnet, 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = variant("regnet_x_3_2gf", "RegNetX of 3.2 gigaflops.", _regnet, 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = variant("regnet_x_8gf", "RegNetX of 8 gigaflops.", _regnet, 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = variant("regnet_x_16gf", "RegNetX of 16 gigaflops.", _regnet, 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = variant("regnet_x_32gf", "RegNetX of 32 gigaflops.", _regnet, 23, 320, 69.86, 2.0, 168)
regnet_y_400mf = variant(
    "regnet_y_400mf",
    "RegNetY of 400 megaflops, with gates for its channels.",
    _regnet,
    16,
    48,
    27.89,
    2.09,
    8,
    se_ratio=0.25,
)
regnet_y_800mf = variant(
    "regnet_y_800mf",
    "RegNetY of 800 megaflops, with gates for its channels.",
    _regnet,
    14,
    56,
    38.84,
    2.4,
    16,
    se_ratio=0.25,
)
regnet_y_1_6gf = variant(
    "regnet_y_1_6gf",
    "RegNetY of 1.6 gigaflops, with gates for its channels.",
    _regnet,
    27,
    48,
    20.71,
    2.65,
    24,
    se_ratio=0.25,
)
regnet_y_3_2gf = variant(
    "regnet_y_3_2gf",
    "RegNetY of 3.2 gigaflops, with gates for its channels.",
    _regnet,
    21,
    80,
    42.63,
    2.66,
    24,
    se_ratio=0.25,
)
regnet_y_8gf = variant(
    "regnet_y_8gf",
    "RegNetY of 8 gigaflops, with gates for its channels.",
    _regnet,
    17,
    192,
    76.82,
    2.19,
    56,
    se_ratio=0.25,
)
regnet_y_16gf = variant(
    "regnet_y_16gf",
    "RegNetY of 16 gigaflops, with gates for its channels.",
    _regnet,
    18,
    200,
    106.23,
    2.48,
    112,
    se_ratio=0.25,
)
regnet_y_32gf = variant(
    "regnet_y_32gf",
    "RegNetY of 32 gigaflops, with gates for its channels.",
    _regnet,
    20,
    232,
    115.89,
    2.53,
    232,
    se_ratio=0.25,
)
regnet_y_128gf = variant(
    "regnet_y_128gf",
    "RegNetY of 128 gigaflops, with gates for its channels.",
    _regnet,
    27,
    456,
    160.83,
    2.52,
    264,
    se_ratio=0.25,
)
