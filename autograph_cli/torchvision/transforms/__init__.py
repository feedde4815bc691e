"""`torchvision.transforms`: what is done to pictures before they are learned from."""

from __future__ import annotations

import importlib
from typing import Any

from autograph_cli.torch import _missing

from . import functional
from ._classic import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    RandomApply,
    RandomChoice,
    RandomOrder,
    Resize,
    TenCrop,
    ToPILImage,
    ToTensor,
)
from ._modes import InterpolationMode
from ._random import (
    ColorJitter,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "FiveCrop", "Grayscale", "InterpolationMode",
    "Lambda", "Normalize", "PILToTensor", "Pad", "RandomApply", "RandomChoice", "RandomCrop", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomOrder", "RandomResizedCrop", "RandomRotation",
    "RandomVerticalFlip", "Resize", "TenCrop", "ToPILImage", "ToTensor", "functional",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "v2":
        return importlib.import_module(f"{__name__}.v2")
    raise _missing.error(__name__, name, globals())
