"""Functions that plain pickles of PyTorch's tensors call."""

from __future__ import annotations

from ._saving.storages import (
    rebuild_parameter as _rebuild_parameter,
    rebuild_tensor as _rebuild_tensor,
    rebuild_tensor as _rebuild_tensor_v2,
)

__all__ = ("_rebuild_parameter", "_rebuild_tensor", "_rebuild_tensor_v2")
