"""One of three ranks goes wrong: all end, with a sentence that names the line of each."""

import itertools
import os
import pathlib
import sys
from datetime import timedelta

import pytest

from autograph_cli.torch.distributed import _status, _work
from autograph_cli.torch.distributed._groups import Call, ProcessGroup
from autograph_cli.torch.distributed._transport import Alone
from tests.processes import finished

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


class Late:
    """A transfer that is there when it is asked for the `nth` time."""

    def __init__(self, nth):
        self.left = nth

    def Test(self):
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize(("asked", "limit", "said"), [
    (1, 1800, None),
    (_status._ARRIVES, 1800, None),
    (99, 1800, "rank 0 waits in vain in all_reduce at train.py:9"),
    (99, 20, "rank 0 waited 20 s in all_reduce at train.py:9"),
])  # fmt: skip
def test_a_busy_machine_does_not_make_a_wait_vain(asked, limit, said, monkeypatch):
    """Ten seconds pass from each look to the next; the other rank has sent and ended before the first."""
    monkeypatch.setattr(_work.time, "monotonic", itertools.count(0, 10).__next__)
    monkeypatch.setattr(_work.time, "sleep", lambda _: None)
    monkeypatch.setattr(_status, "gone", lambda call: limit > 100)
    group = ProcessGroup(Alone(), [0], "0", "gloo", timedelta(seconds=limit), "")
    work = _work.Work(Call("all_reduce", group, 1, "train.py:9"), [Late(asked)], None, [])
    if said is None:
        assert work.wait()
    else:
        with pytest.raises(_status.DistBackendError, match=said):
            work.wait()


STAYING = ("sh", "-c", '"$@"; code=$?; [ $code -ne 137 ] || sleep 20; exit $code', "sh")
"""Keeps mpiexec, for the time of the test, from killing the other ranks as soon as one is killed."""


@pytest.mark.parametrize("how", FAULTS)
def test_all_ranks_end_with_a_sentence_that_names_rank_and_line(how, tmp_path):
    mark = f"mark={tmp_path}"
    command = [MPIEXEC, "-n", "3", *STAYING, sys.executable, PROGRAM, how, mark]
    done = finished(command)
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
