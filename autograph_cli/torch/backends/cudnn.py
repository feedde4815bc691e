"""`torch.backends.cudnn`: absent; the switches may be set, and switch nothing."""

from __future__ import annotations

from ._flags import flags_of

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
flags = flags_of(__name__)


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None
