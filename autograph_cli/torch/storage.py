"""The memory under tensors as a row of elements: `torch.storage`."""

from __future__ import annotations

from ._ops.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
