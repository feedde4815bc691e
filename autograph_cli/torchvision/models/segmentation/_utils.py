"""Parts of models of segmentation: a backbone, a classifier of its points, and the result at full size."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from autograph_cli.torch import nn
from autograph_cli.torch.nn import functional as F


class _SimpleSegmentationModel(nn.Module):
    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone, self.classifier, self.aux_classifier = backbone, classifier, aux_classifier

    def forward(self, x: Any) -> dict[str, Any]:
        size = x.shape[-2:]
        features = self.backbone(x)
        result = OrderedDict(out=_enlarged(self.classifier(features["out"]), size))
        if self.aux_classifier is not None:
            result["aux"] = _enlarged(self.aux_classifier(features["aux"]), size)
        return result


def _enlarged(x: Any, size: Any) -> Any:
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)
