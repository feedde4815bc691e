"""Fully convolutional networks (Long et al., 2014)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import nn

from .._api import BACKBONE, WEIGHTS, published
from .._utils import IntermediateLayerGetter
from ..resnet import ResNet, resnet50, resnet101
from ._utils import _SimpleSegmentationModel


class FCN(_SimpleSegmentationModel):
    """A classifier of points on a residual network."""


class FCNHead(nn.Sequential):
    """Two convolutions, the last one of points."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


def backbone_of(backbone: ResNet, aux: bool | None) -> IntermediateLayerGetter:
    """A residual network up to its last layer, on request with what the layer before gives."""
    return IntermediateLayerGetter(backbone, {"layer4": "out"} | ({"layer3": "aux"} if aux else {}))


def dilated(build: Any, weights: Any, name: str) -> ResNet:
    """A residual network whose last two layers keep the size."""
    found = WEIGHTS[name].verify(weights)
    built: ResNet = build(weights=found, replace_stride_with_dilation=[False, True, True])
    return built


def _fcn(build: Any, name: str, num_classes: int | None, aux_loss: bool | None, weights_backbone: Any) -> FCN:
    classes = 21 if num_classes is None else num_classes
    backbone = backbone_of(dilated(build, weights_backbone, name), aux_loss)
    aux = FCNHead(1024, classes) if aux_loss else None
    return FCN(backbone, FCNHead(2048, classes), aux)


@published("FCN_ResNet50_Weights", "COCO_WITH_VOC_LABELS_V1")
def fcn_resnet50(num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = BACKBONE) -> FCN:
    """A fully convolutional network on a ResNet-50."""
    return _fcn(resnet50, "ResNet50_Weights", num_classes, aux_loss, weights_backbone)


@published("FCN_ResNet101_Weights", "COCO_WITH_VOC_LABELS_V1")
def fcn_resnet101(
    num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = BACKBONE
) -> FCN:
    """A fully convolutional network on a ResNet-101."""
    return _fcn(resnet101, "ResNet101_Weights", num_classes, aux_loss, weights_backbone)
