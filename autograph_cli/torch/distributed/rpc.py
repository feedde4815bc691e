"""`torch.distributed.rpc`: there are no other processes to call."""

from __future__ import annotations

from . import _needs_processes

_REFUSED = ("init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown")
__all__ = ["is_available", *_REFUSED]


def is_available() -> bool:
    """False."""
    return False


globals().update({name: _needs_processes(f"rpc.{name}") for name in _REFUSED})
