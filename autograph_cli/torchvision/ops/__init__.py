"""Layers and functions that models of pictures share, as torchvision.ops names them."""

from autograph_cli.torch import _missing

from . import boxes, misc
from .boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    generalized_box_iou,
    masks_to_boxes,
    nms,
    remove_small_boxes,
)
from .feature_pyramid_network import FeaturePyramidNetwork
from .focal_loss import sigmoid_focal_loss
from .misc import MLP, Conv2dNormActivation, Conv3dNormActivation, FrozenBatchNorm2d, Permute, SqueezeExcitation
from .poolers import MultiScaleRoIAlign
from .roi_align import RoIAlign, roi_align
from .stochastic_depth import StochasticDepth, stochastic_depth

__all__ = [
    "MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FeaturePyramidNetwork", "FrozenBatchNorm2d",
    "MultiScaleRoIAlign", "Permute", "RoIAlign", "SqueezeExcitation", "StochasticDepth", "batched_nms", "box_area",
    "box_convert", "box_iou", "clip_boxes_to_image", "generalized_box_iou", "masks_to_boxes", "nms",
    "remove_small_boxes", "roi_align", "sigmoid_focal_loss", "stochastic_depth",
]  # fmt: skip

_missing.speak_for(boxes, misc)


def __getattr__(name: str) -> object:
    raise _missing.error(__name__, name, globals())
