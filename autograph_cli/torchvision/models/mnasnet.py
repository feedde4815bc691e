"""MNASNet: found by search for phones (Tan et al., 2018)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import nn

from ._api import variant

_MOMENTUM = 1 - 0.9997
"""TensorFlow's decay of running statistics, in PyTorch's terms."""


class _InvertedResidual(nn.Module):
    def __init__(self, in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion_factor: int) -> None:
        super().__init__()
        inner = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, inner, 1, bias=False),
            nn.BatchNorm2d(inner, momentum=_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, kernel_size, padding=kernel_size // 2, stride=stride, groups=inner, bias=False),
            nn.BatchNorm2d(inner, momentum=_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, out_ch, 1, bias=False),
            nn.BatchNorm2d(out_ch, momentum=_MOMENTUM),
        )

    def forward(self, input: Any) -> Any:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(in_ch: int, out_ch: int, kernel: int, stride: int, expansion: int, repeats: int) -> nn.Sequential:
    blocks = [_InvertedResidual(in_ch, out_ch, kernel, stride, expansion)]
    blocks += [_InvertedResidual(out_ch, out_ch, kernel, 1, expansion) for _ in range(1, repeats)]
    return nn.Sequential(*blocks)


def _scaled(channels: int, alpha: float) -> int:
    """Return the channels times `alpha`, to the next multiple of 8, rounded up rather than down by a tenth."""
    wanted = channels * alpha
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


class MNASNet(nn.Module):
    """Six stacks of inverted residuals, `alpha` times as wide."""

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        widths = [_scaled(channels, alpha) for channels in (32, 16, 24, 40, 80, 96, 192, 320)]
        self.layers = nn.Sequential(
            nn.Conv2d(3, widths[0], 3, padding=1, stride=2, bias=False),
            nn.BatchNorm2d(widths[0], momentum=_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(widths[0], widths[0], 3, padding=1, stride=1, groups=widths[0], bias=False),
            nn.BatchNorm2d(widths[0], momentum=_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(widths[0], widths[1], 1, padding=0, stride=1, bias=False),
            nn.BatchNorm2d(widths[1], momentum=_MOMENTUM),
            _stack(widths[1], widths[2], 3, 2, 3, 3),
            _stack(widths[2], widths[3], 5, 2, 3, 3),
            _stack(widths[3], widths[4], 5, 2, 6, 3),
            _stack(widths[4], widths[5], 3, 1, 6, 2),
            _stack(widths[5], widths[6], 5, 2, 6, 4),
            _stack(widths[6], widths[7], 3, 1, 6, 1),
            nn.Conv2d(widths[7], 1280, 1, padding=0, stride=1, bias=False),
            nn.BatchNorm2d(1280, momentum=_MOMENTUM),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        return self.classifier(self.layers(x).mean([2, 3]))


mnasnet0_5 = variant("mnasnet0_5", "MNASNet of half the width.", MNASNet, 0.5)
mnasnet0_75 = variant("mnasnet0_75", "MNASNet of three quarters of the width.", MNASNet, 0.75)
mnasnet1_0 = variant("mnasnet1_0", "MNASNet.", MNASNet, 1.0)
mnasnet1_3 = variant("mnasnet1_3", "MNASNet of 1.3 times the width.", MNASNet, 1.3)
