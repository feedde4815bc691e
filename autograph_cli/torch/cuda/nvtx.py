"""`torch.cuda.nvtx`: marks for NVIDIA's profilers, made by CuPy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._arrays import cuda

__all__ = ["mark", "range", "range_pop", "range_push"]


def _library() -> Any:
    """CuPy's functions; RuntimeError where there is no GPU, or no NVTX."""
    if not (cuda.is_available() and cuda.opened().cupy.cuda.nvtx.available):
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    return cuda.opened().cupy.cuda.nvtx


def mark(msg: str) -> None:
    """A mark at this moment."""
    _library().Mark(msg)


def range_push(msg: str) -> None:
    """Begin a part within those that have begun; how many these are is not told."""
    _library().RangePush(msg)


def range_pop() -> None:
    """End the part that began last."""
    _library().RangePop()


@contextlib.contextmanager
def range(msg: str, *args: Any, **options: Any) -> Iterator[None]:
    """Within the block is a part, by this name."""
    range_push(msg.format(*args, **options))
    try:
        yield
    finally:
        range_pop()
