"""Rest for the cyclic collector while a big graph is built: there are no cycles, and each of its runs walks it all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000
"""So many new objects take longer to walk than all that was frozen before and is not any more."""


@contextmanager
def resting() -> Iterator[None]:
    """Within the block nothing is collected, memory without cycles is freed as ever; also a decorator."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            if gc.get_count()[0] > MANY:
                # What was made grows old at once, without a walk: it goes where frozen objects do, and back.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
