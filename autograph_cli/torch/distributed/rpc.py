"""`torch.distributed.rpc`: no rank runs what another one asks of it; what scripts import at their top says so."""

from __future__ import annotations

from ._refusals import refusing

_REFUSED = ("init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown")
_WHY = (
    "ranks exchange tensors and objects (torch.distributed.send, broadcast, all_gather_object, ...), none calls "
    "functions of another"
)
__all__ = ["is_available", *_REFUSED]


def is_available() -> bool:
    """False."""
    return False


globals().update({name: refusing(f"rpc.{name}", _WHY) for name in _REFUSED})
