"""A process knows which rank it is from what starts it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from autograph_cli.graph.ranks import words
from autograph_cli.record.names.source_locations import innermost
from autograph_cli.record.run.placement import Placement
from autograph_cli.record.run.ranks import MainStack


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, Placement(1, 2, 2)),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, Placement(0, 4, 4)),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, Placement(3, 4, 4)),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS_PER_NODE": "1"}, Placement(1, 2, 1)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"RANK": "seven", "WORLD_SIZE": "8"}, None),
        ({"RANK": "2", "WORLD_SIZE": "2"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_the_rank_is_what_the_environment_says(environment: dict[str, str], place: Placement | None) -> None:
    assert Placement.here(environment) == place


def test_what_torchrun_would_tell_is_told_unless_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_PORT", "1234")
    told = Placement(1, 4, 4).environment()
    assert (told["RANK"], told["WORLD_SIZE"], told["LOCAL_RANK"]) == ("1", "4", "1")
    assert "MASTER_PORT" not in told


@pytest.mark.parametrize(("ranks", "text"), [([3], "rank 3"), ([0, 1], "ranks 0-1"), ([0, 2, 3, 7], "ranks 0, 2-3, 7")])
def test_ranks_are_named_in_few_words(ranks: list[int], text: str) -> None:
    assert words(ranks) == text


def test_a_thread_knows_the_line_of_the_script_that_runs(tmp_path: Path) -> None:
    script, stack, told = tmp_path / "trä\u4e2din.py", MainStack(), []
    thread = threading.Thread(target=lambda: told.append(innermost(stack.lines())))
    exec(compile("\n\nthread.start()\nthread.join()\n", script, "exec"), {"thread": thread})
    assert told[0] is not None
    assert told[0][0] == str(script) and told[0][1] in (3, 4)
