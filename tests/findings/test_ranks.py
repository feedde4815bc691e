"""What is found between the ranks of a run, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.findings.ranks import explain_ranks
from autograph_cli.graph import Collective, Graph, Node, Output, Pass, Source, Step, TensorType, Trace
from autograph_cli.graph.ranks import Rank

LINE = Source("train.py", 9)


def called(*ops: str, **more: Any) -> tuple[Collective, ...]:
    return tuple(Collective(op, n, ranks=(0, 1), bytes=12, source=LINE, **more) for n, op in enumerate(ops, 1))


BOTH = called("broadcast", "all_reduce")
CASES: dict[str, tuple[list[Rank], list[str]]] = {
    "the same": ([Rank(0, built="a", collectives=BOTH), Rank(1, built="a", collectives=BOTH)], []),
    "another graph": (
        [Rank(0, built="a"), Rank(1, built="b"), Rank(2, built="a")],
        ["AG901: rank 1 built another graph than ranks 0, 2"],
    ),
    "one that failed built less": ([Rank(0, built="a"), Rank(1, built="b", failure="ValueError: no")], []),
    "never entered": (
        [Rank(0, collectives=BOTH, failure="stopped: ..."), Rank(1, collectives=BOTH[:1])],
        ["AG902: rank 1 never entered all_reduce number 2 of its group"],
    ),
    "not entered since it failed": ([Rank(0, collectives=BOTH), Rank(1, collectives=BOTH[:1], failure="E: no")], []),
    "another collective": (
        [Rank(0, collectives=BOTH), Rank(1, collectives=called("broadcast", "barrier"))],
        ["AG902: rank 1 entered another collective than rank 0"],
    ),
    "the first ones are not known any more": ([Rank(0, collectives=BOTH), Rank(1, collectives=BOTH[1:])], []),
    "between two ranks": ([Rank(0, collectives=called("send", peer=1)), Rank(1)], []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_ranks_do_not_do_alike_is_found(case: str) -> None:
    ranks, said = CASES[case]
    assert [f"{one.code}: {one.said}" for one in explain_ranks(ranks, Trace("train.py"))] == said


def test_a_code_that_is_not_selected_is_not_looked_for() -> None:
    ranks = CASES["another graph"][0]
    assert explain_ranks(ranks, Trace("train.py"), select=["AG902"]) == []
    assert explain_ranks(ranks, Trace("train.py"), ignore=["AG9"]) == []


def trained(*reduced: str) -> Trace:
    """A step that reached `v` and `w`, and reduced these."""
    leaves = [
        Node(n, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), (name,)),))
        for n, name in enumerate(("v", "w"))
    ]
    graph = Graph(tuple(leaves), passes=(Pass(0, "backward", 1, False, ran=(0, 1)),))
    told = tuple(Collective("all_reduce", n, tensors=(f"{name}.grad",)) for n, name in enumerate(reduced, 1))
    return Trace("train.py", (Step(0, graph),), 1, ranks=2, collectives=told)


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (trained("v"), ["no collective reduces the gradient of w"]),
        (trained("v", "w"), []),
        (trained(), []),
        (replace(trained("v"), ranks=1), []),
        (replace(trained("v"), collectives=(*trained("v").collectives, Collective("all_reduce", 2, during=2))), []),
    ],
    ids=["one of two", "both", "none", "one process", "a bucket that is not known"],
)
def test_a_parameter_that_is_left_alone_is_found(trace: Trace, said: list[str]) -> None:
    assert [one.said for one in explain_ranks([], trace)] == said
