"""`torch.cuda.nvtx`: marks for NVIDIA's profilers, which are not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_pop", "range_push"]


def _not_there(*args: Any, **options: Any) -> NoReturn:
    """RuntimeError: there are no such functions."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_push = range_pop = _not_there


@contextlib.contextmanager
def range(msg: str, *args: Any, **options: Any) -> Iterator[None]:
    """RuntimeError when it is entered."""
    range_push(msg)
    yield
