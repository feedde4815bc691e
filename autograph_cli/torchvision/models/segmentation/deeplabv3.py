"""DeepLabV3: convolutions of several dilations side by side (Chen et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph_cli.torch import cat, nn
from autograph_cli.torch.nn import functional as F

from .._api import BACKBONE, WEIGHTS, published
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import mobilenet_v3_large
from ..resnet import resnet50, resnet101
from ._utils import _SimpleSegmentationModel
from .fcn import FCNHead, backbone_of, dilated


class DeepLabV3(_SimpleSegmentationModel):
    """A classifier of points that sees far around each."""


class ASPPConv(nn.Sequential):
    """A dilated convolution, its normalization and a rectifier."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )


class ASPPPooling(nn.Sequential):
    """The mean of the whole picture, at each point."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Any) -> Any:
        size = x.shape[-2:]
        for layer in self:
            x = layer(x)
        return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    """Points, convolutions of these dilations and a pooling, side by side."""

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        first = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels), nn.ReLU()
        )
        branches = [first, *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates)]
        self.convs = nn.ModuleList([*branches, ASPPPooling(in_channels, out_channels)])
        self.project = nn.Sequential(
            nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, x: Any) -> Any:
        return self.project(cat([branch(x) for branch in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """An `ASPP`, which sees far, then two convolutions."""

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(
            ASPP(in_channels, atrous_rates),
            nn.Conv2d(256, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Conv2d(256, num_classes, 1),
        )


def _deeplab(build: Any, name: str, num_classes: int | None, aux_loss: bool | None, weights: Any) -> DeepLabV3:
    classes = 21 if num_classes is None else num_classes
    backbone = backbone_of(dilated(build, weights, name), aux_loss)
    aux = FCNHead(1024, classes) if aux_loss else None
    return DeepLabV3(backbone, DeepLabHead(2048, classes), aux)


@published("DeepLabV3_ResNet50_Weights", "COCO_WITH_VOC_LABELS_V1")
def deeplabv3_resnet50(
    num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = BACKBONE
) -> DeepLabV3:
    """DeepLabV3 on a ResNet-50."""
    return _deeplab(resnet50, "ResNet50_Weights", num_classes, aux_loss, weights_backbone)


@published("DeepLabV3_ResNet101_Weights", "COCO_WITH_VOC_LABELS_V1")
def deeplabv3_resnet101(
    num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = BACKBONE
) -> DeepLabV3:
    """DeepLabV3 on a ResNet-101."""
    return _deeplab(resnet101, "ResNet101_Weights", num_classes, aux_loss, weights_backbone)


def mobile_stages(weights_backbone: Any) -> tuple[nn.Sequential, list[int]]:
    """The features of a dilated MobileNetV3, and where in them the size has just been halved."""
    found = WEIGHTS["MobileNet_V3_Large_Weights"].verify(weights_backbone)
    features = mobilenet_v3_large(weights=found, dilated=True).features
    halved = [number for number, block in enumerate(features) if getattr(block, "_is_cn", False)]
    return features, [0, *halved, len(features) - 1]


@published("DeepLabV3_MobileNet_V3_Large_Weights", "COCO_WITH_VOC_LABELS_V1")
def deeplabv3_mobilenet_v3_large(
    num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = BACKBONE
) -> DeepLabV3:
    """DeepLabV3 on a MobileNetV3."""
    classes = 21 if num_classes is None else num_classes
    features, stages = mobile_stages(weights_backbone)
    last, middle = stages[-1], stages[-4]
    layers = {str(last): "out"} | ({str(middle): "aux"} if aux_loss else {})
    aux = FCNHead(features[middle].out_channels, classes) if aux_loss else None
    return DeepLabV3(IntermediateLayerGetter(features, layers), DeepLabHead(features[last].out_channels, classes), aux)
