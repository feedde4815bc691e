"""`torchvision.transforms.v2`: transforms of whole samples, the pictures in them wherever they stand."""

from __future__ import annotations

import sys

from autograph_cli.torch import _missing

from .._modes import InterpolationMode
from . import functional
from ._changes import (
    CenterCrop,
    ColorJitter,
    Compose,
    ConvertImageDtype,
    Grayscale,
    Identity,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomOrder,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    ToDtype,
    ToImage,
    ToPILImage,
    ToPureTensor,
    ToTensor,
)
from ._transform import Transform

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "Grayscale", "Identity", "InterpolationMode",
    "Lambda", "Normalize", "PILToTensor", "Pad", "RandomApply", "RandomChoice", "RandomCrop", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomOrder", "RandomResizedCrop", "RandomRotation",
    "RandomVerticalFlip", "Resize", "ToDtype", "ToImage", "ToPILImage", "ToPureTensor", "ToTensor", "Transform",
    "functional",
]  # fmt: skip
_missing.speak_for(functional, sys.modules[__name__])
