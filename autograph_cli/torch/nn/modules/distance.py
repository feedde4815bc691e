"""Distances between two batches of vectors."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ._layer import Layer
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension."""

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Layer, call="cosine_similarity", shows=""):
    """The cosine of the angle between x1 and x2 along `dim`."""

    dim: int = 1
    eps: float = 1e-8
