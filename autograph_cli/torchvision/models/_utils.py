"""Parts of several models: channels rounded to what hardware likes, and layers in the middle of a model."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from autograph_cli.torch import nn


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of `divisor` nearest to `v` that is not more than a tenth below it."""
    rounded = max(divisor if min_value is None else min_value, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded


class IntermediateLayerGetter(nn.ModuleDict):
    """The first layers of a model, which gives the results of those named in `return_layers`, under new names."""

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        if not set(return_layers) <= {name for name, _ in model.named_children()}:
            raise ValueError("return_layers are not present in model")
        waiting, layers = set(return_layers), OrderedDict()
        for name, module in model.named_children():
            layers[name] = module
            waiting.discard(name)
            if not waiting:
                break
        super().__init__(layers)
        self.return_layers = {str(old): str(new) for old, new in return_layers.items()}

    def forward(self, x: Any) -> dict[str, Any]:
        found = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found
