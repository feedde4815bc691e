"""Notes on PyTorch's nodes: beside them, and gone with them."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from autograph_cli.engines.pytorch import notes  # noqa: E402  (it needs PyTorch)


def test_a_note_tells_whether_its_node_is_there() -> None:
    made = torch.ones(2, requires_grad=True) * 2
    note = notes.make_note(made.grad_fn, 7)
    assert notes.note_of(made.grad_fn) is note is note() and note.number == 7
    assert made.grad_fn.metadata == {}
    other = notes.make_note(made.grad_fn, 8)  # of another recorder
    assert (note(), other()) == (None, other)
    del made
    assert other() is None and other() is None


def test_in_anomaly_mode_a_note_keeps_nothing_that_metadata_lead_to() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly(check_nan=False):
        (grad,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    parent = notes.make_note(grad.grad_fn.metadata["parent_"], 1)
    note = notes.make_note(grad.grad_fn, 2)
    assert sorted(grad.grad_fn.metadata) == ["parent_", "traceback_"]
    del grad
    assert (note(), parent()) == (None, None)


def test_notes_of_dead_nodes_are_few() -> None:
    x = torch.ones(2, requires_grad=True)
    living = [x * 2 for _ in range(100)]
    for node in living:
        notes.make_note(node.grad_fn, 1)
    for number in range(4 * notes.LEAST):
        notes.make_note((x * 2).grad_fn, number + 1)
        assert len(notes._notes) <= 2 * notes.LEAST + len(living)
    assert all(notes.note_of(node.grad_fn) for node in living)


ALONE = """
import gc, sys, torch
from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder

recorder = Recorder("1", engine=connect("torch"))
recorder.start()
x = torch.ones(3, requires_grad=True)
"""
WITHOUT_A_TRACE = {
    "a long chain goes as it came": "y = x\nfor _ in range(60_000):\n    y = y * 2\ndel y",
    "no package is imported that the script has not": "(x * x).sum().backward()\nassert 'sympy' not in sys.modules",
    "the garbage collector has no more to look through": "y = x * x\nlog = recorder.log\n"
    "assert not any(map(gc.is_tracked, log.known.values()))\n"
    "assert not gc.is_tracked(log.known[max(log.known)].ref)",
}


@pytest.mark.parametrize("script", WITHOUT_A_TRACE.values(), ids=WITHOUT_A_TRACE)
def test_recording_changes_nothing_of_the_process(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"{ALONE}{script}\nprint('done')"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-500:]
