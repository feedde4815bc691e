"""Memory of arrays that begins where a line of the cache does."""

import contextvars
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._compiled import compiled
from tests.cases import for_each

memory = compiled("_kernels.fast_memory")
pytestmark = pytest.mark.skipif(memory is None, reason="the package was installed without its compiled modules")
SIZES = (0, 1, 5, 127, 128, 129, 255, 1000, 20_000, 600_000)


def aligned(run: Callable[[], Any]) -> Any:
    """Return what `run` gives in a context of its own, where memory is taken so."""

    def inside() -> Any:
        memory.align()
        return run()

    return contextvars.copy_context().run(inside)


def test_arrays_begin_where_a_line_of_the_cache_does() -> None:
    made = aligned(lambda: [new(n) for n in SIZES for new in (np.empty, np.zeros, np.arange)])
    assert all(a.ctypes.data % (64 if a.nbytes >= 1024 else 16) == 0 for a in made)
    assert not any(a.any() for a in made[1::3])


@for_each("first", SIZES)
@for_each("second", SIZES)
def test_a_resized_array_keeps_its_numbers(first: int, second: int) -> None:
    def run() -> Any:
        a = np.arange(first) + 1
        a.resize(second, refcheck=False)
        return a

    kept = np.arange(second) + 1
    kept[first:] = 0
    np.testing.assert_array_equal(aligned(run), kept)


def test_what_one_context_took_another_gives_back() -> None:
    made = aligned(lambda: [np.full(n, 7.0) for n in SIZES])
    made += [np.full(n, 7.0) for n in SIZES]
    aligned(made.reverse)
    aligned(made.clear)
    gc.collect()


def test_more_than_there_is_raises() -> None:
    for new in (np.empty, np.zeros):
        with pytest.raises(MemoryError):
            aligned(lambda new=new: new(1 << 59))
