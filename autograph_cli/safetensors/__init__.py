"""A namespace laid out like the safetensors package's, for the engine's tensors and NumPy's arrays.

>>> from autograph_cli import torch
>>> from autograph_cli.safetensors.torch import load, save
>>> load(save({"w": torch.ones(2)}))
{'w': tensor([1., 1.])}
"""

from __future__ import annotations

import sys

from autograph_cli.torch import _missing

from . import numpy, torch
from ._format import SafetensorError
from ._opened import safe_open

__all__ = ["SafetensorError", "numpy", "safe_open", "torch"]
__version__ = "0.8.0+autograph"

_missing.speak_for(numpy, torch, sys.modules[__name__])
