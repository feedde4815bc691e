"""Lite R-ASPP: a gate from a pooling, and two scales (Howard et al., 2019)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from autograph_cli.torch import nn
from autograph_cli.torch.nn import functional as F

from .._api import BACKBONE, published
from .._utils import IntermediateLayerGetter
from .deeplabv3 import mobile_stages


class LRASPPHead(nn.Module):
    """Classes from features of half the depth, and from gated ones of the whole depth."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Any]) -> Any:
        low, high = input["low"], input["high"]
        x = self.cbr(high) * self.scale(high)
        x = F.interpolate(x, size=low.shape[-2:], mode="bilinear", align_corners=False)
        return self.low_classifier(low) + self.high_classifier(x)


class LRASPP(nn.Module):
    """A light model of segmentation."""

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Any) -> dict[str, Any]:
        out = self.classifier(self.backbone(input))
        return OrderedDict(out=F.interpolate(out, size=input.shape[-2:], mode="bilinear", align_corners=False))


@published("LRASPP_MobileNet_V3_Large_Weights", "COCO_WITH_VOC_LABELS_V1")
def lraspp_mobilenet_v3_large(num_classes: int | None = None, weights_backbone: Any = BACKBONE) -> LRASPP:
    """Lite R-ASPP on a MobileNetV3."""
    features, stages = mobile_stages(weights_backbone)
    low, high = stages[-4], stages[-1]
    backbone = IntermediateLayerGetter(features, {str(low): "low", str(high): "high"})
    classes = 21 if num_classes is None else num_classes
    return LRASPP(backbone, features[low].out_channels, features[high].out_channels, classes)
