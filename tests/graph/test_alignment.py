"""The longest common part of two sequences."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from autograph_cli.graph import alignment
from autograph_cli.graph.alignment import align

WORDS = st.lists(st.integers(0, 3), max_size=12)


def longest(one: list[int], other: list[int]) -> int:
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else max(lengths[i][j + 1], lengths[i + 1][j])
    return lengths[-1][-1]


@given(WORDS, WORDS)
def test_pairs_are_equal_rising_and_as_many_as_can_be(one: list[int], other: list[int]) -> None:
    pairs = align(one, other)
    assert all(one[i] == other[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == longest(one, other)


def test_what_differs_in_too_much_is_paired_item_by_item(monkeypatch) -> None:
    monkeypatch.setattr(alignment, "MOST_EDITS", 2)
    assert align([1, 2, 3, 4], [4, 3, 2, 1]) == [(0, 3), (1, 2), (2, 1), (3, 0)]
