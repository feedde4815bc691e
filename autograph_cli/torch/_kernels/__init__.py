"""Kernels: PyTorch's operations on the raw arrays of one backend. NumPy is the instance that there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import compiled
from . import variants
from .activation import Activation
from .attention import Attention
from .bessel import Bessel
from .binary import Binary
from .chunked import Chunked
from .comparison import Comparison
from .conversion import Conversion
from .convolution import Convolution
from .distances import Distances
from .embedding import Embedding
from .fourier import Fourier
from .gaussian import Gaussian
from .indexing import Indexing
from .interpolate import Interpolate
from .ldl import LDL
from .linalg import Linalg
from .linear import Linear
from .losses import Losses
from .lu import LU
from .near_zero import NearZero
from .normalization import Normalization
from .order_statistics import OrderStatistics
from .padding import Padding
from .pointwise import Pointwise
from .polynomials import Polynomials
from .pooling import Pooling
from .random import Random
from .recurrent import Recurrent
from .reduction import Reduction
from .segments import Segments
from .shapes import Shapes
from .softmax import Softmax
from .sparse import SparseArrays
from .special import Special
from .sums import Sums
from .variate_gradients import VariateGradients


class Kernels(
    Pointwise,
    NearZero,
    Comparison,
    Binary,
    Conversion,
    Reduction,
    Sums,
    Shapes,
    Indexing,
    OrderStatistics,
    Linear,
    Softmax,
    Activation,
    Gaussian,
    Convolution,
    Padding,
    Normalization,
    Pooling,
    Losses,
    Chunked,
    Distances,
    Interpolate,
    Embedding,
    Attention,
    Recurrent,
    Special,
    Bessel,
    Polynomials,
    Fourier,
    Linalg,
    LU,
    LDL,
    Segments,
    VariateGradients,
    Random,
    SparseArrays,
):
    """All kernels over one array module, `xp`."""

    rules: Any = None
    """The rules of optimizers that have a kernel of their own: functions, and `fits(arrays)`."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.updates: dict[Any, Any] = {}
        """The arithmetic of optimizers, by dtype (see inplace.py)."""
        for name, ufunc in Pointwise.direct.items():
            setattr(self, name, getattr(xp, ufunc))

    def placed(self, table: Any) -> Any:
        """An array that was worked out on the CPU, where the kernels compute."""
        return table

    def may_hold_nan(self, a: Any) -> bool:
        """Return whether something in an array of floats may be no number."""
        total = self.xp.add.reduce(a, axis=None)
        return bool(total != total)


cpu = Kernels(np)
cpu.rules = compiled("_kernels.fast_optimizers")
variants.install(cpu)
