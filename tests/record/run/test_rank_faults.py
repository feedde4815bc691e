"""What is said of ranks that cannot go on, and that nothing is said of those that may."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli.record.run.rank_faults import Begun, State, judge

NOW = 1000.0


def rank(number: int, *begun: Any, phase: str = "running", moved: float = NOW - 10, **more: Any) -> State:
    """A rank at line 10 + its number that has begun collectives of the group of all, the last one this."""
    groups = {"0": Begun(*begun, f"train.py:{10 + number}", (0, 1, 2))} if begun else {}
    return State(number, phase, f"train.py:{10 + number}", moved, groups=groups, **more)


CASES = {
    "killed": (
        [rank(0, 3, "all_reduce", 8), rank(1, 2, "all_reduce", 8, code=-9)],
        "rank 1 was killed by SIGKILL, last seen at train.py:11",
    ),
    "killed, and another one failed since": (
        [rank(0, phase="failed", failure="RuntimeError: peer", moved=1), rank(1, code=-9)],
        "rank 1 was killed by SIGKILL, last seen at train.py:11",
    ),
    "raised, the first of two": (
        [rank(0, phase="failed", failure="B: 2", moved=7), rank(1, phase="failed", failure="A: 1", moved=6)],
        "rank 1 failed with A: 1 at train.py:11",
    ),
    "ended before the others": (
        [rank(0, 3, "barrier", 0), rank(1, 2, "all_reduce", 8, phase="done")],
        "rank 1 ended and never entered barrier (number 3 of its group), with rank 0 at train.py:10",
    ),
    "ended before the others, of which one has noticed": (
        [
            rank(0, 3, "barrier", 0, phase="failed", failure="RuntimeError: connection closed by peer", moved=7),
            rank(1, 2, "all_reduce", 8, phase="done", moved=6),
        ],
        "rank 1 ended and never entered barrier (number 3 of its group), with rank 0 at train.py:10",
    ),
    "ended after another one had failed": (
        [
            rank(0, 3, "barrier", 0, phase="failed", failure="ValueError: no", moved=6),
            rank(1, 2, "all_reduce", 8, phase="done", moved=7),
        ],
        "rank 0 failed with ValueError: no at train.py:10",
    ),
    "failed in a call that names the lines": (
        [
            rank(
                0,
                3,
                "barrier",
                0,
                phase="failed",
                failure="DistBackendError: rank 0 waited 9 s in barrier at a.py:3: x",
            )
        ],
        "rank 0 waited 9 s in barrier at a.py:3: x",
    ),
    "another collective": (
        [rank(0, 3, "all_reduce", 8), rank(1, 3, "broadcast", 8)],
        "rank 0 is in all_reduce (number 3 of its group) with 8 bytes at train.py:10, and rank 1 in broadcast "
        "(number 3 of its group) with 8 bytes at train.py:11",
    ),
    "another size": (
        [rank(0, 3, "all_reduce", 8), rank(1, 3, "all_reduce", 12)],
        "rank 0 is in all_reduce (number 3 of its group) with 8 bytes at train.py:10, and rank 1 in all_reduce "
        "(number 3 of its group) with 12 bytes at train.py:11",
    ),
    "one stands still": (
        [rank(0, 3, "all_reduce", 8, moved=NOW - 70), rank(1, 2, "all_reduce", 8, moved=NOW - 80)],
        "for 60 seconds rank 1 did not enter all_reduce (number 3 of its group), with rank 0 at train.py:10, "
        "rank 1 at train.py:11",
    ),
    "all stand still": (
        [rank(0, moved=NOW - 61), rank(1, moved=NOW - 61)],
        "for 60 seconds ranks 0-1 stood still, with rank 0 at train.py:10, rank 1 at train.py:11",
    ),
    "one is slow": ([rank(0, 3, "all_reduce", 8), rank(1, 2, "all_reduce", 8)], None),
    "sizes may differ": ([rank(0, 3, "gather", 8), rank(1, 3, "gather", 12)], None),
    "all are done": ([rank(0, phase="done", code=0), rank(1, phase="done", code=0)], None),
    "one is done, and the other works on": (
        [rank(0, 3, "barrier", 0, phase="done"), rank(1, 3, "barrier", 0, moved=NOW - 59)],
        None,
    ),
    "stopped ones are not to blame": ([rank(0, phase="stopped", code=1)], None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_names_the_rank_and_its_line(case: str) -> None:
    ranks, said = CASES[case]
    found = judge(ranks, 60, NOW)
    assert (found and found.said) == said
