"""Dropout: while training, parts of the input are set to 0 at random."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    _ag_function: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any) -> Any:
        return getattr(F, self._ag_function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Elements are set to 0 with probability `p`, the others grow by 1 / (1 - p)."""

    _ag_function = "dropout"


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, L) or (C, L)."""

    _ag_function = "dropout1d"


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, H, W) or (C, H, W)."""

    _ag_function = "dropout2d"


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    _ag_function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for use with `SELU`."""

    _ag_function = "alpha_dropout"

    def forward(self, input: Any) -> Any:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels."""

    _ag_function = "feature_alpha_dropout"

    def forward(self, input: Any) -> Any:
        return F.feature_alpha_dropout(input, self.p, self.training)
