"""Names that only PyTorch has: scripts import them at their top; a call raises an error that says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def refusing(name: str, why: str) -> Callable[..., NoReturn]:
    """A function of this name that raises RuntimeError with the reason."""

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(f"torch.distributed.{name} is not available in autograph's engine: {why}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"RuntimeError: {why}."
    return refuse


STORES = ("FileStore", "HashStore", "PrefixStore", "Store", "TCPStore")
NO_STORE = (
    "MPI brings the processes together, without a store; ranks exchange objects by broadcast_object_list or "
    "all_gather_object"
)
