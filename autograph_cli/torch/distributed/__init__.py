"""`torch.distributed`: several processes do not train one model here; what scripts import at their top is there and
says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import _missing

_REFUSED = (
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
)


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def _needs_processes(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(
            f"torch.distributed.{name} is not available in autograph's engine: a model is trained in one process"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "RuntimeError: there is one process."
    return refuse


globals().update({name: _needs_processes(name) for name in _REFUSED})
__all__ = ["is_available", "is_initialized", "is_torchelastic_launched", *_REFUSED]


def __getattr__(name: str) -> Any:
    if name in ("optim", "rpc", "tensor"):
        return _missing.load(f"{__name__}.{name}")
    raise _missing.error(__name__, name, globals())
