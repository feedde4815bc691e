"""One of three ranks goes wrong: all end, with a sentence that names the line of each."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.conftest import PATIENCE

PROGRAM = pathlib.Path(__file__).with_name("fault.py")
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1)}
LAST, FIRST = max(LINES.values()), PROGRAM.read_text().splitlines().index("dist.all_reduce(x)") + 1
RAISES = LINES['raise ValueError("no such luck")']

FAULTS = {
    "raises": f"waits in vain in all_reduce at fault.py:{LAST}: rank 1 raised ValueError at fault.py:{RAISES}",
    "exits": f"waits in vain in all_reduce at fault.py:{LAST}: rank 1 has ended, and last called all_reduce at "
    f"fault.py:{FIRST}",
    "is killed": f"waits in vain in all_reduce at fault.py:{LAST}: rank 1 is gone, and last called all_reduce at "
    f"fault.py:{FIRST}",
    "hangs": f"waited 2 s in all_reduce at fault.py:{LAST}: ",
    "calls another function": f"Rank 1 is running collective: broadcast(float32 [4], rank 0) at "
    f"fault.py:{LINES['dist.broadcast(x, 0)']}",
}

STAYING = ("sh", "-c", '"$@"; code=$?; [ $code -ne 137 ] || sleep 20; exit $code', "sh")
"""Keeps mpiexec, for the time of the test, from killing the other ranks as soon as one is killed."""


@pytest.mark.parametrize("how", FAULTS)
def test_all_ranks_end_with_a_sentence_that_names_rank_and_line(how, tmp_path):
    mark = f"mark={tmp_path}"
    command = [MPIEXEC, "-n", "3", *STAYING, sys.executable, PROGRAM, how, mark]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0
    assert FAULTS[how] in done.stderr
    assert not processes_with(mark)


def processes_with(mark):
    """The processes that were started with this argument, and those that wait for them."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in arguments and int(entry.name) != os.getpid():
            found.append(arguments)
    return found
