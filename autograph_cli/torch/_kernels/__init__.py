"""Kernels: PyTorch's operations on the raw arrays of one backend. NumPy is the instance that there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import compiled
from . import variants
from .elements.conversion import Conversion
from .elements.embedding import Embedding
from .elements.indexing import Indexing
from .elements.shapes import Shapes
from .elements.sparse import SparseArrays
from .elementwise.activation import Activation
from .elementwise.bessel import Bessel
from .elementwise.binary import Binary
from .elementwise.comparison import Comparison
from .elementwise.gaussian import Gaussian
from .elementwise.near_zero import NearZero
from .elementwise.pointwise import Pointwise
from .elementwise.polynomials import Polynomials
from .elementwise.special import Special
from .layers.attention import Attention
from .layers.chunked import Chunked
from .layers.convolution import Convolution
from .layers.interpolate import Interpolate
from .layers.losses import Losses
from .layers.normalization import Normalization
from .layers.padding import Padding
from .layers.pooling import Pooling
from .layers.recurrent import Recurrent
from .layers.softmax import Softmax
from .matrices.distances import Distances
from .matrices.fourier import Fourier
from .matrices.ldl import LDL
from .matrices.linalg import Linalg
from .matrices.linear import Linear
from .matrices.lu import LU
from .random_numbers.random import Random
from .random_numbers.variate_gradients import VariateGradients
from .reducing.order_statistics import OrderStatistics
from .reducing.reduction import Reduction
from .reducing.segments import Segments
from .reducing.sums import Sums


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
