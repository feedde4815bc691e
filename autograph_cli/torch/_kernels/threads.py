"""Threads that share the work on the elements of large arrays: NumPy lets go of Python's lock while it computes."""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import Array
from .matrices import lapack

LARGE = 1 << 20
"""Elements from which another thread is worth its start."""
BLOCK = 1 << 16
"""Elements of which a few arrays stay in a cache of the processor."""


def _at_first() -> int:
    """Return the value of OMP_NUM_THREADS, or the number of cores for this process."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


count = _at_first()
"""The maximal number of threads, the calling one included."""


def use(number: int) -> None:
    """Share the work among so many threads from now on, that of NumPy's BLAS as well."""
    global count
    count = number
    lapack.set_threads(number)


def shared(run: Callable[..., Any], arrays: tuple[Any, ...], out: Array) -> Any:
    """`run(*arrays, out)`, each thread on a stretch of the elements; all are in one piece and of the shape of `out`, or
    numbers. Raises what `run` raises."""
    stretch = _stretches((*arrays, out))
    ends = [out.size * i // count for i in range(count + 1)]
    raised: list[BaseException] = []

    def work(start: int, end: int) -> None:
        try:
            run(*stretch(start, end))
        except BaseException as error:  # handed on to the thread that asks
            raised.append(error)

    first, *others = itertools.pairwise(ends)
    # What NumPy does about overflows is a setting of the context.
    threads = [threading.Thread(target=contextvars.copy_context().run, args=(work, *part)) for part in others]
    for thread in threads:
        thread.start()
    work(*first)
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    return out


def in_blocks(formula: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """`formula(*arrays)`, which works element by element, block after block, and so each thread on a stretch of them.
    Arrays are as `shared` has them."""
    stretch = _stretches(arrays)
    first = formula(*stretch(0, BLOCK))
    like = next(x for x in arrays if x.__class__ is np.ndarray)
    worked_out = first.__class__ is np.ndarray and first.base is None
    if not worked_out or first.shape != (BLOCK,) or first.dtype != like.dtype:
        return formula(*arrays)

    def run(*given: Any) -> None:
        *operands, out = given
        part = _stretches(operands)
        for start in range(0, out.size, BLOCK):
            out[start : start + BLOCK] = formula(*part(start, start + BLOCK))

    return shared(run, arrays, np.empty_like(like))


def _stretches(arrays: Sequence[Any]) -> Callable[[int, int], list[Any]]:
    """Return what gives a stretch of the elements of each array, and all else as it is."""
    flat = [x.reshape(-1) if x.__class__ is np.ndarray else x for x in arrays]
    return lambda start, end: [x[start:end] if x.__class__ is np.ndarray else x for x in flat]
