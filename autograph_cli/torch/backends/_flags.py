"""Switches that may be set for a block, and switch nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


def flags_of(module: str) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """A function like `torch.backends.cudnn.flags`: within the block the module's names have other values."""

    @contextlib.contextmanager
    def flags(**wanted: Any) -> Iterator[None]:
        """Give the module's switches other values within the block; they change no result here."""
        there = vars(sys.modules[module])
        before = {name: there[name] for name in wanted}
        try:
            there.update(wanted)
            yield
        finally:
            there.update(before)

    return flags
