"""Residual networks: plain (He et al., 2015), of groups (ResNeXt, 2016) and wide ones (2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph_cli.torch import flatten, nn

from ._api import variant

Norm = Callable[..., nn.Module]


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """A convolution of 3 by 3 that keeps the size at stride 1."""
    return nn.Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A convolution of single points."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions of 3 by 3, and what goes around them."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Any) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        identity = x if self.downsample is None else self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """A convolution of 3 by 3 between two of single points, and what goes around them; the stride is in the middle."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Any) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        identity = x if self.downsample is None else self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """Four layers of blocks, each but the first at half the size."""

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        dilate = [False, False, False] if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilate) != 3:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                last = getattr(module, "bn3" if isinstance(module, Bottleneck) else "bn2", None)
                if isinstance(module, (BasicBlock, Bottleneck)) and last is not None and last.weight is not None:
                    nn.init.constant_(last.weight, 0)

    def _make_layer(
        self, block: type[BasicBlock | Bottleneck], planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Sequential:
        first_dilation, downsample = self.dilation, None
        if dilate:
            self.dilation *= stride
            stride = 1
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride), self._norm_layer(planes * block.expansion)
            )
        shape = self.groups, self.base_width
        made = [block(self.inplanes, planes, stride, downsample, *shape, first_dilation, self._norm_layer)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            made.append(block(self.inplanes, planes, 1, None, *shape, self.dilation, self._norm_layer))
        return nn.Sequential(*made)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flatten(self.avgpool(x), 1))


resnet18 = variant("resnet18", "ResNet with 18 layers.", ResNet, BasicBlock, [2, 2, 2, 2])
resnet34 = variant("resnet34", "ResNet with 34 layers.", ResNet, BasicBlock, [3, 4, 6, 3])
resnet50 = variant("resnet50", "ResNet with 50 layers.", ResNet, Bottleneck, [3, 4, 6, 3])
resnet101 = variant("resnet101", "ResNet with 101 layers.", ResNet, Bottleneck, [3, 4, 23, 3])
resnet152 = variant("resnet152", "ResNet with 152 layers.", ResNet, Bottleneck, [3, 8, 36, 3])
resnext50_32x4d = variant(
    "resnext50_32x4d",
    "ResNeXt with 50 layers and 32 groups of width 4.",
    ResNet,
    Bottleneck,
    [3, 4, 6, 3],
    groups=32,
    width_per_group=4,
)
resnext101_32x8d = variant(
    "resnext101_32x8d",
    "ResNeXt with 101 layers and 32 groups of width 8.",
    ResNet,
    Bottleneck,
    [3, 4, 23, 3],
    groups=32,
    width_per_group=8,
)
resnext101_64x4d = variant(
    "resnext101_64x4d",
    "ResNeXt with 101 layers and 64 groups of width 4.",
    ResNet,
    Bottleneck,
    [3, 4, 23, 3],
    groups=64,
    width_per_group=4,
)
wide_resnet50_2 = variant(
    "wide_resnet50_2",
    "ResNet with 50 layers, twice as wide inside of its blocks.",
    ResNet,
    Bottleneck,
    [3, 4, 6, 3],
    width_per_group=128,
)
wide_resnet101_2 = variant(
    "wide_resnet101_2",
    "ResNet with 101 layers, twice as wide inside of its blocks.",
    ResNet,
    Bottleneck,
    [3, 4, 23, 3],
    width_per_group=128,
)
