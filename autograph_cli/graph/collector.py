"""Rest for the cyclic collector while a big graph is built: there are no cycles, and each of its runs walks it all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting() -> Iterator[None]:
    """Within the block nothing is collected, memory without cycles is freed as ever; also a decorator."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()
