"""Dimensions and sizes: the compiled module reads them as Python's code does."""

from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base import dims

DIMENSIONS = [
    (0, 3), (2, 3), (3, 3), (-1, 3), (-3, 3), (-4, 3), (0, 0), (-1, 0), (1, 0), (True, 3), (2**70, 3), (-(2**70), 3),
]  # fmt: skip
SIZES: list[tuple[Any, ...]] = [
    (), ((),), (2, 3), ((2, 3),), ([2, 3],), (torch.Size([2, 3]),), (-1,), (2, True), ((2, True),), (np.int64(2), 3),
    ((np.int64(2),),), (torch.tensor(2), 3), ([torch.tensor(2)],), (torch.tensor([2, 3]),), (1.5,), ("a",),
    ((2, (3,)),), (2**70,),
]  # fmt: skip


def told(run: Any, *args: Any) -> Any:
    """Return what a function returns, with its classes, or how it refuses."""
    try:
        found = run(*args)
    except Exception as error:
        return type(error), str(error)
    return found, type(found), [type(n) for n in found] if isinstance(found, tuple) else getattr(found, "given", None)


@pytest.mark.parametrize("dim, ndim", DIMENSIONS)
@pytest.mark.parametrize("scalar", [True, False])
def test_dimensions_are_counted_from_the_front(dim: Any, ndim: int, scalar: bool) -> None:
    assert told(dims.wrap, dim, ndim, scalar) == told(dims._wrap_one, dim, ndim, scalar)


@pytest.mark.parametrize("args", SIZES, ids=str)
def test_sizes_are_read_one_by_one_or_from_a_sequence(args: tuple[Any, ...]) -> None:
    assert told(dims.sizes, args) == told(dims._sizes, args)
