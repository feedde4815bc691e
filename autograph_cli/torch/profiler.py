"""`torch.profiler`: labels on blocks of code; nothing is measured here."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from .autograd.profiler import record_function

__all__ = ["ProfilerActivity", "profile", "record_function", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler can look at."""

    CPU = 0
    XPU = 1
    CUDA = 3


def supported_activities() -> set[ProfilerActivity]:
    """None: nothing is measured."""
    return set()


def _not_there(*args: Any, **options: Any) -> NoReturn:
    """RuntimeError: there is no profiler."""
    raise RuntimeError("torch.profiler.profile is not available in autograph's engine: measure with cProfile or py-spy")


profile = schedule = tensorboard_trace_handler = _not_there
