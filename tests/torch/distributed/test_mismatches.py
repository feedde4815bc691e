"""Ranks that call with other sizes, dtypes, numbers of tensors, roots, reductions or functions: all are told, none gets
numbers that no rank gave, and what they call next is answered."""

import functools
import json
import os
import pathlib
import sys
import tempfile

from tests.cases import for_each
from tests.processes import finished
from tests.torch.distributed.mismatches import CASES

PROGRAM = pathlib.Path(__file__).with_name("mismatches.py")
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"
TOLD = ("RuntimeError: Detected mismatch between collectives on ranks. Rank ", "RuntimeError: DDP expects same model",
        "RuntimeError: [")  # fmt: skip


@functools.cache
def played():
    with tempfile.TemporaryDirectory() as folder:
        command = [MPIEXEC, "-n", "3", sys.executable, "-W", "ignore", PROGRAM, folder]
        done = finished(command, env={**os.environ, "PYTHONPATH": ""})
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(pathlib.Path(folder, f"{rank}.json").read_text()) for rank in range(3)]


@for_each("name", CASES)
def test_all_ranks_are_told_of_a_call_that_differs(name):
    rows = [rank[name] for rank in played()]
    assert [said for said, _ in rows if not said.startswith(TOLD)] == []
    assert [after for _, after in rows] == [[3.0, 3.0]] * 3


def test_the_sentence_says_what_both_ranks_do_and_where():
    first, _, last = (rank["all_reduce: more elements"][0] for rank in played())
    assert first == (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        "all_reduce(float32 [2], SUM) at <string>:1, but Rank 2 is running collective: all_reduce(float32 [3], SUM) at "
        "<string>:1"
    )
    assert last.partition("Rank 2 is running")[0].endswith("on ranks. ")


def test_what_is_larger_than_its_place_is_not_received():
    sender, _, receiver = (rank["a message"] for rank in played())
    assert sender == ["nothing", [3.0, 3.0]]
    assert receiver[0].startswith("DistBackendError: rank 2 failed (") and receiver[1] == [3.0, 3.0]
