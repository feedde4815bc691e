"""Kernels: PyTorch's operations on the raw arrays of one backend. NumPy is one instance, CuPy can be another."""

from __future__ import annotations

from typing import Any

import numpy as np

from .activation import Activation
from .convolution import Convolution
from .frames import Frames
from .indexing import Indexing
from .linear import Linear
from .movement import Movement
from .neural import Neural
from .normalization import Normalization
from .pointwise import Pointwise
from .pooling import Pooling
from .reduction import Reduction
from .segments import Segments


class Kernels(Pointwise, Reduction, Movement, Indexing, Linear, Neural, Activation, Convolution, Frames, Normalization, Pooling,
              Segments):  # fmt: skip
    """All kernels over one array module `xp` (numpy, cupy)."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        for name, ufunc in Pointwise.direct.items():
            setattr(self, name, getattr(xp, ufunc))


cpu = Kernels(np)
