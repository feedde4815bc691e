"""The memory under tensors as a row of elements: `torch.storage`."""

from __future__ import annotations

import io
from typing import Any

from ._ops.tensors.storage import TypedStorage
from ._ops.tensors.untyped_storage import UntypedStorage
from .serialization import load

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """The storage in a plain pickle of PyTorch, which holds a file of `torch.save`."""
    return load(io.BytesIO(b), weights_only=False)
