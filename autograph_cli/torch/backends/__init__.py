"""`torch.backends`: libraries that PyTorch may compute with; the engine computes with NumPy, and has none of them."""

from __future__ import annotations

from .. import _missing
from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]
fp32_precision = "none"

_missing.speak_for(cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized)
