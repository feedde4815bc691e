"""`torch.backends.cpu`."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """DEFAULT: which instructions NumPy chooses is not asked."""
    return "DEFAULT"
