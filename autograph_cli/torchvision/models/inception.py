"""Inception v3: convolutions taken apart into rows and columns (Szegedy et al., 2015)."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from autograph_cli.torch import cat, flatten, nn
from autograph_cli.torch.nn import functional as F

from ._api import published
from .googlenet import BasicConv2d, rescaled

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
Conv = Callable[..., nn.Module]


class InceptionA(nn.Module):
    """Four branches, at 35 by 35."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Any) -> Any:
        one = self.branch1x1(x)
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return cat([one, five, three, pooled], 1)


class InceptionB(nn.Module):
    """From 35 by 35 to 17 by 17."""

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Any) -> Any:
        three = self.branch3x3(x)
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return cat([three, double, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(nn.Module):
    """Rows and columns of 7, at 17 by 17."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv, c7 = conv_block or BasicConv2d, channels_7x7
        row: dict[str, Any] = {"kernel_size": (1, 7), "padding": (0, 3)}
        column: dict[str, Any] = {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, c7, kernel_size=1)
        self.branch7x7_2 = conv(c7, c7, **row)
        self.branch7x7_3 = conv(c7, 192, **column)
        self.branch7x7dbl_1 = conv(in_channels, c7, kernel_size=1)
        self.branch7x7dbl_2 = conv(c7, c7, **column)
        self.branch7x7dbl_3 = conv(c7, c7, **row)
        self.branch7x7dbl_4 = conv(c7, c7, **column)
        self.branch7x7dbl_5 = conv(c7, 192, **row)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Any) -> Any:
        one = self.branch1x1(x)
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return cat([one, seven, double, pooled], 1)


class InceptionD(nn.Module):
    """From 17 by 17 to 8 by 8."""

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Any) -> Any:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return cat([three, seven, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(nn.Module):
    """Rows and columns of 3 side by side, at 8 by 8."""

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        row: dict[str, Any] = {"kernel_size": (1, 3), "padding": (0, 1)}
        column: dict[str, Any] = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **row)
        self.branch3x3_2b = conv(384, 384, **column)
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **row)
        self.branch3x3dbl_3b = conv(384, 384, **column)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Any) -> Any:
        one = self.branch1x1(x)
        three = self.branch3x3_1(x)
        three = cat([self.branch3x3_2a(three), self.branch3x3_2b(three)], 1)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        double = cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return cat([one, three, double, pooled], 1)


class InceptionAux(nn.Module):
    """A classifier on what a layer in the middle has made."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Any) -> Any:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Eleven inceptions of five kinds; for pictures of 299 by 299."""

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: list[Conv] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = [BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]
        conv, a, b, c, d, e, auxiliary = inception_blocks or blocks
        if init_weights is None:
            warnings.warn(
                "The default weight initialization of inception_v3 will be changed in future releases of torchvision. "
                "If you wish to keep the old behavior (which leads to long initialization times due to "
                "scipy/scipy#11299), please set init_weights=True.",
                FutureWarning,
                stacklevel=2,
            )
            init_weights = True
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = auxiliary(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    spread = float(getattr(module, "stddev", 0.1))
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=spread, a=-2, b=2)
                elif isinstance(module, nn.BatchNorm2d):
                    nn.init.constant_(module.weight, 1)
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Any) -> Any:
        if self.transform_input:
            x = rescaled(x)
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_6a(self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(x))))
        auxiliary = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(flatten(self.dropout(self.avgpool(x)), 1))
        return InceptionOutputs(x, auxiliary) if self.training and self.aux_logits else x


@published("Inception_V3_Weights")
def inception_v3(**kwargs: Any) -> Inception3:
    """Inception v3."""
    return Inception3(**kwargs)
