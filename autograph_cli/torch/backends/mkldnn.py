"""`torch.backends.mkldnn`: absent; the switches may be set, and switch nothing."""

from __future__ import annotations

from ._flags import flags_of

enabled = True
deterministic = False
allow_tf32 = True
flags = flags_of(__name__)


def is_available() -> bool:
    """False."""
    return False
