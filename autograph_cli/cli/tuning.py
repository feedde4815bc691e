"""Settings of memory and of the collector for the process that `autograph run` has for a script of its own."""

from __future__ import annotations

import contextlib
import ctypes
import gc

from autograph_cli.graph.collector import freeze

# glibc's names for them, from malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
KEPT_BLOCK = 64 << 20
"""Blocks up to this size are taken from memory that the process keeps."""
KEPT = 256 << 20
"""Free memory beyond this goes back to the system."""


YOUNG = 10_000
"""Objects that are made between two looks of the collector for cycles; Python's own 700 are a few nodes of a graph."""


def tune() -> None:
    """Set the process up for graphs and arrays: what a graph is made of lives as long as the graph, so that it is
    walked in vain; as is what was imported, which lives until the end, and then takes as long to walk as a quarter of
    the imports."""
    keep_memory()
    align_memory()
    freeze()
    first, *older = gc.get_threshold()
    if first:  # 0 switches the collector off
        gc.set_threshold(max(first, YOUNG), *older)


def align_memory() -> None:
    """Have arrays of NumPy begin where a line of the cache does, where the compiled modules are there.

    Many sums and products of arrays that fit the cache take half the time then, of larger ones 0.85.
    """
    from autograph_cli.torch._compiled import compiled  # the engine: `autograph run` has it by then

    if memory := compiled("_kernels.fast_memory"):
        memory.align()


def keep_memory() -> bool:
    """Have the process keep the memory of large arrays for the next ones; whether its allocator can.

    Unless told so, glibc gives blocks beyond some size back at once, and the system hands them out again page by page,
    filled with zeros: for arrays of some MiB that takes longer than to compute them.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        setting = ctypes.CDLL(None).mallopt
        return bool(setting(_MMAP_THRESHOLD, KEPT_BLOCK) and setting(_TRIM_THRESHOLD, KEPT))
    return False
