"""Names that libraries import to write masks for `torch.vmap`."""

from __future__ import annotations

import contextlib

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """Within the block tensors may be indexed by the numbers that `torch.vmap` hands out; here they always may."""
