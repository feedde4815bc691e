"""The first collective at which ranks part: by its result, or by what a rank gives; rounding and what comes later are
none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from autograph_cli.graph.numbers import kept
from autograph_cli.graph.parting_collectives import first_parted, said
from autograph_cli.graph.records import Graph
from autograph_cli.graph.source import Source
from autograph_cli.graph.trace import Collective, Step, Trace

Call = tuple[str, int, Sequence[float], Sequence[float]]
"""An operation, its step, what is given, what is made."""


def trace(rank: int, calls: Sequence[Call], during: int | None = 3) -> Trace:
    made = [
        Collective(
            op,
            number,
            step=step,
            source=Source("a.py", number),
            tensors=("w.grad" if during else "seconds",),
            during=during,
            given=(kept(np.float32(given)),),
            made=(kept(np.float32(result)),) if result else (),
        )
        for number, (op, step, given, result) in enumerate(calls, 1)
    ]
    return Trace("a.py", tuple(Step(number, Graph()) for number in range(3)), 3, rank=rank, collectives=tuple(made))


SUM: Call = ("all_reduce", 0, [1, 2], [3, 4])
LATER: Call = ("all_reduce", 1, [5, 6], [7, 8])
OTHER_RESULT = "all_reduce of w.grad makes other numbers of what the ranks give, which is the same"
GIVEN = "gives all_reduce of w.grad other numbers, though all results and gradients until then are the same"
CASES: dict[str, tuple[Sequence[Call], Sequence[Call], bool, int | None, str]] = {
    "the same": ([SUM, LATER], [SUM, LATER], True, None, ""),
    "another result": ([SUM, LATER], [("all_reduce", 0, [1, 2], [3, 5]), LATER], True, 1, OTHER_RESULT),
    "another result later": ([SUM, LATER], [SUM, ("all_reduce", 1, [5, 6], [7, 9])], False, 2, OTHER_RESULT),
    "a graph that parted before": ([SUM, LATER], [SUM, ("all_reduce", 1, [5, 6], [7, 9])], True, 0, ""),
    "a rounded result": ([SUM], [("all_reduce", 0, [1, 2], [3, 4.000001])], True, None, ""),
    "rounding that grew": ([SUM], [("all_reduce", 0, [1, 2.000001], [3, 4.00008])], False, None, ""),
    "rounding that blurs": ([SUM], [("all_reduce", 0, [1, 2.0008], [3, 9])], False, None, ""),
    "no result there": ([("all_reduce", 0, [1, 2], [])], [("all_reduce", 0, [1, 2], [])], True, None, ""),
    "other gradients given": ([SUM, LATER], [("all_reduce", 0, [1, 3], [3, 5]), LATER], True, 1, f"rank 1 {GIVEN}"),
    "given with rounding before": ([SUM], [("all_reduce", 0, [1, 3], [3, 5])], False, 1, ""),
    "given by a graph that parted": ([SUM], [("all_reduce", 0, [1, 3], [3, 5])], True, 0, ""),
    "what one rank sends": ([("broadcast", 0, [1, 2], [3, 4])], [("broadcast", 0, [1, 2], [3, 5])], True, None, ""),
    "another call": ([SUM], [("all_gather", 0, [1, 2], [9, 9])], True, None, ""),
}


@pytest.mark.parametrize("what", CASES)
def test_the_first_collective_that_parts(what: str) -> None:
    old, new, exact, before, sentence = CASES[what]
    ranks = [(trace(0, old), trace(0, [*old])), (trace(1, old), trace(1, new))]
    found = first_parted(ranks, exact=exact, before=before)
    assert ("" if found is None else said(found)) == sentence


def test_other_numbers_that_are_no_gradients_are_given_by_no_fault() -> None:
    """As seconds that a script measures, and adds up over its ranks."""
    one, other = (
        trace(0, [(op, step, given, made)], None) for op, step, given, made in (SUM, ("all_reduce", 0, [9, 2], [9, 4]))
    )
    assert first_parted([(one, other)], exact=True, before=None) is None


@pytest.mark.parametrize(
    ("names", "compared"),
    [
        (("net.a.grad", "net.b.grad"), True),
        (("net._orig_mod.a.grad", "net._orig_mod.b.grad"), True),
        (("model.a.grad", "model.b.grad"), True),
        (("net._orig_mod.b.grad", "net._orig_mod.a.grad"), False),
    ],
)
def test_gradients_in_one_bucket_are_compared_where_they_lie_in_the_same_order(
    names: tuple[str, str], compared: bool
) -> None:
    both = [trace(0, [SUM]), trace(0, [("all_reduce", 0, [1, 3], [3, 5])])]
    told = [("net.a.grad", "net.b.grad"), names]
    one, other = (
        replace(each, collectives=(replace(each.collectives[0], tensors=its),))
        for each, its in zip(both, told, strict=True)
    )
    assert (first_parted([(one, other)], exact=True, before=1) is not None) == compared
