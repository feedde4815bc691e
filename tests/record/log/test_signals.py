"""The handler of a signal is code of the script: what it raises comes to the script, wherever the recorder is."""

from __future__ import annotations

import atexit
import dis
import inspect
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run.runner import Target, record

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal")
X = torch.ones(2, requires_grad=True)
EVERY = 17
"""Each so-many-th position at which Python may run a handler."""


class Timeout(Exception):
    """The exception that the handler raises."""


def steps() -> None:
    for _ in range(2):
        (X * X).sum().backward()


class Signals:
    """Sends a signal at the position of this number among those within the recorder."""

    def __init__(self, number: int) -> None:
        self.left = number

    def seen(self, frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if frame.f_code.co_flags & inspect.CO_GENERATOR:  # may be its end: a call too, in which Python runs no handler
            return
        if event != "call" or not ("/record/" in path or "/engines/" in path) or "/tests/" in path:
            return
        self.left -= 1
        if self.left == -1:
            signal.raise_signal(signal.SIGUSR1)


def came(number: int) -> tuple[bool, bool, list[bool]]:
    """Return if the signal was sent, if the exception came to the script, and what the handler found."""
    signals, found, out = Signals(number), [], sys.stdout

    def handler(*_: Any) -> None:
        found.append(sys.stdout is out and torch.is_grad_enabled())
        raise Timeout

    before, recorder = signal.signal(signal.SIGUSR1, handler), Recorder(steps="all")
    raised = False
    try:
        recorder.start()
        try:
            sys.setprofile(signals.seen)
            steps()
        except Timeout:
            raised = True
        finally:
            sys.setprofile(None)
    finally:
        recorder.stop()
        signal.signal(signal.SIGUSR1, before)
        X.grad = None
    return signals.left < 0, raised, found


def test_what_a_handler_raises_comes_to_the_script_wherever_the_recorder_is() -> None:
    number, lost = 0, []
    while True:
        sent, raised, found = came(number)
        if not sent:
            break
        if not raised or found != [True]:
            lost.append((number, raised, found))
        number += EVERY
    assert number > 10 * EVERY
    assert lost == []


class Turns:
    """Sends a signal at the end of some turns of each loop within the recorder: there Python may run a
    handler, while what the loop goes through is open."""

    AT = (1, 2, 3, 11, 20, 30, 39)
    TURN = dis.opmap["JUMP_BACKWARD"]

    def __init__(self) -> None:
        self.met: Counter[tuple[CodeType, int]] = Counter()
        self.codes: dict[CodeType, bytes] = {}
        self.sent = 0

    def __call__(self, frame: FrameType, *_: Any) -> Any:
        path = frame.f_code.co_filename
        if "/tests/" in path or not ("/record/" in path or "/engines/" in path):
            return None
        frame.f_trace_opcodes = True
        self.codes.setdefault(frame.f_code, frame.f_code.co_code)
        return self.step

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        at = frame.f_code, frame.f_lasti
        if event == "opcode" and self.codes[at[0]][at[1]] == self.TURN:
            self.met[at] += 1
            if self.met[at] in self.AT:
                self.sent += 1
                signal.raise_signal(signal.SIGUSR1)
        return self.step


def trained() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (model(X * 2).exp() * torch.randn(2)).sum().backward()
        optimizer.step()


def test_a_handler_may_compute_wherever_the_recorder_is(capsys: pytest.CaptureFixture[str]) -> None:
    def handler(*_: Any) -> None:
        x = torch.ones(3, requires_grad=True)
        with torch.enable_grad():
            ((x * x + torch.zeros(3)).sum() + X.sum()).backward()

    before, recorder, turns = signal.signal(signal.SIGUSR1, handler), Recorder(steps="all"), Turns()
    traced = sys.gettrace()
    try:
        recorder.start()
        sys.settrace(turns)
        trained()
    finally:
        sys.settrace(traced)
        signal.signal(signal.SIGUSR1, before)
        trace = recorder.finish({})
        X.grad = None
    assert turns.sent > 500
    assert recorder.broken == capsys.readouterr().err == ""
    assert trace.total_steps > 500


def test_a_handler_is_not_called_once_the_script_is_over(tmp_path: Path) -> None:
    script, before = tmp_path / "script.py", signal.getsignal(signal.SIGUSR1)
    script.write_text("import signal\ndef late(*_): raise ValueError\nsignal.signal(signal.SIGUSR1, late)\n")
    try:
        record(Target.of(str(script)))
        signal.raise_signal(signal.SIGUSR1)
    finally:
        atexit.unregister(signal.signal)
        signal.signal(signal.SIGUSR1, before)


def test_children_are_waited_for_after_a_script_that_heard_of_their_ends(tmp_path: Path) -> None:
    script, before = tmp_path / "script.py", signal.getsignal(signal.SIGCHLD)
    script.write_text("import signal\ndef ended(*_): pass\nsignal.signal(signal.SIGCHLD, ended)\n")
    try:
        record(Target.of(str(script)))
        child = os.spawnl(os.P_NOWAIT, sys.executable, "python", "-c", "")
        assert os.waitpid(child, 0) == (child, 0)
    finally:
        atexit.unregister(signal.signal)
        signal.signal(signal.SIGCHLD, before)
