"""A namespace laid out like torchvision's, as far as first scripts need it, on the engine's tensors.

Pictures of PIL need Pillow (the extra `vision`); transforms of tensors do without.

>>> from autograph_cli import torch, torchvision
>>> torchvision.transforms.CenterCrop(2)(torch.arange(16.0).reshape(1, 4, 4))
tensor([[[ 5.,  6.],
         [ 9., 10.]]])
"""

from __future__ import annotations

import importlib
from typing import Any

from autograph_cli.torch import _missing

from . import (
    datasets as datasets,
    io as io,
    models as models,
    ops as ops,
    transforms as transforms,
    tv_tensors as tv_tensors,
    utils as utils,
)

__version__ = "0.28.0+autograph"


def get_image_backend() -> str:
    """The package that loads pictures."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Pictures are loaded by Pillow; ValueError for anything else."""
    if backend != "PIL":
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' in autograph's engine")


def disable_beta_transforms_warning() -> None:
    """Do nothing: this package has no such warning."""


def __getattr__(name: str) -> Any:
    if name == "version":
        return importlib.import_module(f"{__name__}.version")
    raise _missing.error(__name__, name, globals())


_missing.speak_for(datasets, datasets.utils, transforms, transforms.functional, tv_tensors, utils)
