"""Counts of a GPU's memory, by a hook that CuPy calls."""

from __future__ import annotations

from collections import defaultdict
from typing import Any


class Tally:
    """The amount in use, its peak, and the totals allocated and freed."""

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, more: int) -> None:
        """Add bytes that came."""
        self.allocated += more
        self.current += more
        self.peak = max(self.peak, self.current)

    def take(self, less: int) -> None:
        """Take off bytes that went."""
        self.freed += less
        self.current -= less


class Counts:
    """The counts of one GPU."""

    def __init__(self) -> None:
        self.allocated_bytes, self.allocation, self.reserved_bytes = Tally(), Tally(), Tally()
        self.num_ooms = 0

    def tallies(self) -> dict[str, Tally]:
        """Each by the name that PyTorch has for it."""
        return {name: found for name, found in vars(self).items() if isinstance(found, Tally)}

    def reserve(self, total: int) -> None:
        """Set the bytes that are CuPy's now."""
        more = total - self.reserved_bytes.current
        (self.reserved_bytes.add if more > 0 else self.reserved_bytes.take)(abs(more))


def counting(cupy: Any) -> Any:
    """Counts, from now on, the memory that this thread asks for on each GPU."""

    class MemoryCounts(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "autograph's count of memory"

        def __init__(self) -> None:
            self.of: defaultdict[int | None, Counts] = defaultdict(Counts)
            self._grown = False

        def alloc_postprocess(self, **_: Any) -> None:
            self._grown = True

        def malloc_postprocess(self, *, device_id: int, mem_size: int, **_: Any) -> None:
            counts = self.of[device_id]
            counts.allocated_bytes.add(mem_size)
            counts.allocation.add(1)
            if self._grown:
                self._grown = False
                counts.reserve(cupy.get_default_memory_pool().total_bytes())

        def free_postprocess(self, *, device_id: int, mem_size: int, **_: Any) -> None:
            counts = self.of[device_id]
            counts.allocated_bytes.take(mem_size)
            counts.allocation.take(1)

    counts = MemoryCounts()
    counts.__enter__()
    return counts
