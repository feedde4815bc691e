"""`torch.cpu`: the device that is always there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import amp

__all__ = [
    "amp", "current_device", "current_stream", "device_count", "is_available", "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """The one queue: what is asked for is done at once."""


def is_available() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: the only device is set."""


def synchronize(device: Any = None) -> None:
    """All is done already."""


def current_stream(device: Any = None) -> Stream:
    """The one queue."""
    return Stream()


@contextlib.contextmanager
def stream(stream: Any) -> Iterator[None]:
    """Within the block, work goes to this queue: there is only one."""
    yield
