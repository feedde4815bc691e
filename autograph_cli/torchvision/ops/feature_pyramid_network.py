"""Feature pyramids: maps of several sizes, each with what the smaller ones know (Lin et al., 2017)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from autograph_cli.torch import nn
from autograph_cli.torch.nn import functional as F

from .misc import Conv2dNormActivation


class FeaturePyramidNetwork(nn.Module):
    """Adds to each map of features, from the smallest on, the next smaller one enlarged."""

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: nn.Module | None = None,
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
