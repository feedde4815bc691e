"""`torch.functional`: functions of the top of the namespace that PyTorch writes in Python, under another name."""

from __future__ import annotations

import sys

from ._core.operations.registry import functions as _functions

__all__ = [
    name
    for name in (
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_shapes",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "istft",
        "lu",
        "meshgrid",
        "norm",
        "pca_lowrank",
        "split",
        "stft",
        "svd_lowrank",
        "tensordot",
        "unique",
        "unique_consecutive",
        "unravel_index",
    )
    if name in _functions
]
globals().update({name: getattr(sys.modules[__package__], name) for name in __all__})
