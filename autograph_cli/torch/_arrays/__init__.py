"""What stands instead of an array: without memory, read conjugated, sparse, batched, or of a class of its own."""

from __future__ import annotations

from typing import Any

Array = Any
"""What a tensor has as its memory: an array of NumPy, a scalar of NumPy where it is 0-d, or one of the classes of this
folder. They have no static type in common, and a backend may bring others."""
