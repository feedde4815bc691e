"""Feature pyramids: maps of several sizes, each with what the smaller ones know (Lin et al., 2017)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from autograph_cli.torch import nn
from autograph_cli.torch.nn import functional as F

from .misc import Conv2dNormActivation


class ExtraFPNBlock(nn.Module):
    """Adds maps to a pyramid: takes its maps, those it was made of, and names; returns maps and names."""


class FeaturePyramidNetwork(nn.Module):
    """Adds to each map of features, from the smallest on, the next smaller one enlarged."""

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            for blocks, width, size in ((self.inner_blocks, channels, 1), (self.layer_blocks, out_channels, 3)):
                padding = (size - 1) // 2
                blocks.append(
                    Conv2dNormActivation(
                        width, out_channels, size, padding=padding, norm_layer=norm_layer, activation_layer=None
                    )
                )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Any]) -> dict[str, Any]:
        names, maps = list(x), list(x.values())
        last = self.inner_blocks[-1](maps[-1])
        results = [self.layer_blocks[-1](last)]
        for number in range(len(maps) - 2, -1, -1):
            lateral = self.inner_blocks[number](maps[number])
            last = lateral + F.interpolate(last, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[number](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results, strict=True))


class LastLevelMaxPool(ExtraFPNBlock):
    """Every second point of the smallest map, as one more."""

    def forward(self, x: list[Any], y: list[Any], names: list[str]) -> tuple[list[Any], list[str]]:
        return [*x, F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two convolutions of stride 2 on the smallest map, as two more (Lin et al., RetinaNet, 2017)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, p: list[Any], c: list[Any], names: list[str]) -> tuple[list[Any], list[str]]:
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]
