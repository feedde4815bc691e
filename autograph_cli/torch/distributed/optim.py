"""`torch.distributed.optim`: its optimizer can be named, and says that there is one process."""

from __future__ import annotations

from typing import Any

from .. import optim

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(optim.Optimizer):
    """RuntimeError when it is made: a model is trained in one process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(
            "torch.distributed.optim.ZeroRedundancyOptimizer is not available in autograph's engine: a model is "
            "trained in one process"
        )
