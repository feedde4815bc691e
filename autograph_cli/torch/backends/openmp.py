"""`torch.backends.openmp`: what NumPy is built on is not asked."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
