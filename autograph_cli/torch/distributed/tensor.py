"""`torch.distributed.tensor`: its class can be asked for; no tensor is one, for each is whole in its process."""

from __future__ import annotations

from typing import Any

__all__ = ["DTensor"]


class DTensor:
    """RuntimeError when it is made: a tensor is whole in each process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(
            "torch.distributed.tensor.DTensor is not available in autograph's engine: each process has the whole tensor"
        )
