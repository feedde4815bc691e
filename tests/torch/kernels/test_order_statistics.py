"""Elements chosen by their order: found by a partition, and where others equal them, those that PyTorch's steps choose."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._kernels.reducing import selection


def rows(kinds: int, dtype: str) -> np.ndarray:
    """48 rows of 40 numbers out of `kinds`, so that few, some or most of them are equal; some nan."""
    random = np.random.default_rng(kinds)
    made = random.integers(0, kinds, (48, 40)).astype(dtype)
    if made.dtype.kind == "f":
        made[random.random(made.shape) < 0.02] = np.nan
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("kinds", [3, 60, 10**6])
def test_the_one_chosen_among_equals(kinds: int, dtype: str) -> None:
    made = rows(kinds, dtype)
    ranks = [np.unique(row, return_inverse=True)[1].tolist() for row in made]
    chosen = torch.tensor(made).kthvalue(7, 1)
    assert chosen.indices.tolist() == [selection.kth(keys, 6) for keys in ranks]
    np.testing.assert_array_equal(
        chosen.values.numpy(), [row[i] for row, i in zip(made, chosen.indices.tolist(), strict=True)]
    )

    middle = torch.tensor(np.asfortranarray(made)).median(1)
    known = [[i for i, x in enumerate(row) if x != x] for row in made]
    expected = [n[0] if n else np.argsort(row, kind="stable")[19] for n, row in zip(known, made, strict=True)]
    assert middle.indices.tolist() == expected and middle.indices.stride() == (1,)
