"""Stand-ins for arrays: without memory, read conjugated, sparse, batched, or of a class of its own."""

from __future__ import annotations

from typing import Any

Array = Any
"""The memory of a tensor: an array of NumPy, a scalar of NumPy where it is 0-d, or one of the classes of this folder.
They have no static type in common, and a backend may bring others."""
