"""`torch.backends.cuda`: absent; the switches may be set, and switch nothing."""

from __future__ import annotations

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False)


def is_built() -> bool:
    """False."""
    return False
