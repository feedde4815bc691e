"""`torch.distributed.tensor`: its class can be asked for; no tensor is one."""

from __future__ import annotations

from typing import Any

__all__ = ["DTensor"]


class DTensor:
    """RuntimeError when it is made: a tensor is in one process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(
            "torch.distributed.tensor.DTensor is not available in autograph's engine: a model is trained in one process"
        )
