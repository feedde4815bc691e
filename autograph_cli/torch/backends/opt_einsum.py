"""`torch.backends.opt_einsum`: contractions go from left to right."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False."""
    return False
