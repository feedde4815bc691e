"""Rest for the cyclic collector while a big graph is built: there are no cycles, and each of its runs walks it all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000
"""The new objects that take longer to walk than all that `freeze` froze and that is not frozen any more."""
_frozen = 0
"""The number of objects that `freeze` froze and that are still frozen."""


def freeze() -> None:
    """Freeze all objects that there are: the collector walks them no more until a big graph is built."""
    global _frozen
    gc.freeze()
    _frozen = gc.get_freeze_count()


@contextmanager
def resting() -> Iterator[None]:
    """Within the block nothing is collected, memory without cycles is freed as ever; also a decorator."""
    global _frozen
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            if gc.get_count()[0] > MANY and gc.get_freeze_count() <= _frozen:  # a script's own stay frozen
                # What was made grows old at once, without a walk: it goes where frozen objects do, and back.
                gc.freeze()
                gc.unfreeze()
                _frozen = 0
            gc.enable()
