"""`torch.backends`: libraries that PyTorch may compute with; the engine computes with NumPy, and has none of them."""

from __future__ import annotations

from . import cuda, cudnn, mkl, mps

__all__ = ["cuda", "cudnn", "mkl", "mps"]
