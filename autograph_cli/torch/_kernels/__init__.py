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
from .gaussian import Gaussian
from .indexing import Indexing
from .interpolate import Sampling
from .ldl import Symmetric
from .linalg import Matrices
from .linear import Linear
from .losses import Losses
from .lu import Triangles
from .normalization import Normalization
from .order_statistics import OrderStatistics
from .padding import Frames
from .pointwise import Pointwise
from .polynomials import Polynomials
from .pooling import Pooling
from .recurrent import Recurrent
from .reduction import Reduction
from .segments import Segments
from .shapes import Movement
from .softmax import Neural
from .special import Special
from .sums import Sums
from .variate_gradients import Variates


class Kernels(
    Pointwise,
    Reduction,
    Sums,
    Movement,
    Indexing,
    OrderStatistics,
    Linear,
    Neural,
    Activation,
    Gaussian,
    Convolution,
    Frames,
    Normalization,
    Pooling,
    Losses,
    Chunked,
    Distances,
    Sampling,
    Embedding,
    Attention,
    Recurrent,
    Special,
    Bessel,
    Polynomials,
    Fourier,
    Matrices,
    Triangles,
    Symmetric,
    Segments,
    Variates,
):
    """All kernels over one array module, `xp`."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        for name, ufunc in Pointwise.direct.items():
            setattr(self, name, getattr(xp, ufunc))


cpu = Kernels(np)
