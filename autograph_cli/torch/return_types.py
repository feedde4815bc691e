"""`torch.return_types`: the types of results with named fields."""

from __future__ import annotations

from ._ops.results import TYPES

globals().update(TYPES)
__all__ = sorted(TYPES)
