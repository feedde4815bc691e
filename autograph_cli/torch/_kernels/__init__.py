"""Kernels: PyTorch's operations on the raw arrays of one backend. NumPy is the instance that there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .activation import Activation
from .attention import Attention
from .bessel import Bessel
from .chunked import Chunked
from .convolution import Convolution
from .distances import Distances
from .embedding import Embedding
from .fourier import Fourier
from .frames import Frames
from .gaussian import Gaussian
from .indexing import Indexing
from .linear import Linear
from .losses import Losses
from .matrices import Matrices
from .movement import Movement
from .neural import Neural
from .normalization import Normalization
from .pointwise import Pointwise
from .polynomials import Polynomials
from .pooling import Pooling
from .recurrent import Recurrent
from .reduction import Reduction
from .sampling import Sampling
from .segments import Segments
from .special import Special
from .sums import Sums
from .symmetric import Symmetric
from .triangles import Triangles
from .variates import Variates
from .wide import widen


class Kernels(
    Pointwise, Reduction, Sums, Movement, Indexing, Linear, Neural, Activation, Gaussian, Convolution, Frames, Normalization, Pooling,
    Losses, Chunked, Distances, Sampling, Embedding, Attention, Recurrent, Special, Bessel, Polynomials, Fourier,
    Matrices, Triangles, Symmetric, Segments, Variates,
):  # fmt: skip
    """All kernels over one array module, `xp`."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        for name, ufunc in Pointwise.direct.items():
            setattr(self, name, getattr(xp, ufunc))


widen(Kernels)
cpu = Kernels(np)
