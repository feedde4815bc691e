"""Windows to columns and back."""

from __future__ import annotations

from typing import Any

from ._layer import Layer

__all__ = ["Fold", "Unfold"]


class Fold(Layer, call="fold"):
    """Columns of windows, (N, C prod(kernel), L), summed into (N, C, *output_size)."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Unfold(Layer, call="unfold"):
    """Every window of (N, C, *) as a column: (N, C prod(kernel), L)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
