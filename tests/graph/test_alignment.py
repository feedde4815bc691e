"""The longest common part of two sequences."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from autograph_cli.graph import alignment
from autograph_cli.graph.alignment import align


def longest(one: list[int], other: list[int]) -> int:
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else max(lengths[i][j + 1], lengths[i + 1][j])
    return lengths[-1][-1]


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_equal_rising_and_as_many_as_can_be(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        one, other = ([chance.randrange(4) for _ in range(chance.randrange(12))] for _ in range(2))
        pairs = align(one, other)
        assert all(one[i] == other[j] for i, j in pairs)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
        assert len(pairs) == longest(one, other)


def test_what_differs_in_too_much_is_paired_item_by_item(monkeypatch) -> None:
    monkeypatch.setattr(alignment, "MOST_EDITS", 2)
    assert align([1, 2, 3, 4], [4, 3, 2, 1]) == [(0, 3), (1, 2), (2, 1), (3, 0)]
