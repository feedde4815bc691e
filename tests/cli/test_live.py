"""The line that tells how far a training run has come."""

import copy
import os
import select
import sys
import time
from pathlib import Path

import pytest

import autograph_cli
from autograph_cli.cli.live import _ERASE, Line, _Watched
from autograph_cli.record.log.steps import Progress
from tests.processes import PATIENCE

ROOT = str(Path(autograph_cli.__file__).parents[1])
LOOP = """
import torch, time
w = torch.ones(3, requires_grad=True)
for i in range(60):
    (w * w).sum().backward()
    time.sleep(0.01)
    if i == 45:
        print("between")
"""


class Screen:
    def __init__(self) -> None:
        self.now, self.text = 0.0, ""
        self.line = Line(self.write, lambda: None, lambda: self.now)

    def write(self, text: str) -> None:
        self.text += text

    def step(self, at: float, steps: int) -> str:
        self.now, self.text = at, ""
        self.line.update(Progress(steps, 7, 1))
        return self.text


def test_the_line_tells_steps_speed_nodes_and_kept_steps() -> None:
    screen = Screen()
    assert screen.step(0.1, 5) == ""
    assert "step 20 · 40 steps/s · 7 nodes a step · 1 step recorded" in screen.step(0.5, 20)
    assert screen.step(0.6, 30) == ""
    assert "step 23 · 3.0 steps/s" in screen.step(1.5, 23)


def test_the_line_gives_way_to_what_the_script_prints() -> None:
    screen = Screen()
    screen.step(1, 10)
    screen.text = ""
    screen.line.erase()
    screen.line.erase()
    assert screen.text == _ERASE


def test_the_line_waits_while_a_line_of_the_script_is_unfinished() -> None:
    screen = Screen()
    screen.line.written("epoch 1: ")
    assert screen.step(1, 10) == ""
    screen.line.written("done\n")
    assert screen.step(2, 20) != ""


def in_terminal(folder: Path, term: str) -> str:
    pty = pytest.importorskip("pty")
    (folder / "loop.py").write_text(LOOP)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM=term, PYTHONPATH=ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "autograph_cli", "run", "loop.py"])
    text, until = b"", time.monotonic() + PATIENCE
    while time.monotonic() < until and select.select([terminal], [], [], PATIENCE)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(terminal)
    os.waitpid(child, 0)
    return text.decode()


def test_a_run_in_a_terminal_shows_the_line_and_takes_it_away(tmp_path: Path) -> None:
    text = in_terminal(tmp_path, "xterm")
    assert "nodes a step" in text
    assert text.count(_ERASE + "\x1b[2m") >= 1
    assert f"{_ERASE}between\r\n" in text
    assert text.index("loop.py, 60 steps") > text.rindex(_ERASE)


def test_a_terminal_that_cannot_erase_shows_none(tmp_path: Path) -> None:
    text = in_terminal(tmp_path, "dumb")
    assert "between" in text
    assert "steps/s" not in text


def test_a_copy_of_the_stream_is_refused_as_that_of_a_terminal_is(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        for of in (stream, _Watched(stream, Screen().line)):
            with pytest.raises(TypeError, match="cannot pickle"):
                copy.copy(of)
