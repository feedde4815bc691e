"""Files beside a script that are named like modules which autograph imports: no command takes one of them for its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autograph_cli.cli.main import main
from autograph_cli.record.run.own_imports import OTHERS
from tests.conftest import Run

SCRIPT = """
import statistics, sympy
import torch
assert (statistics.mine, sympy.mine) == ("yes", "yes")
w = torch.randn(3, 3, requires_grad=True)
layer = torch.nn.Linear(3, 2)
loss = torch.nn.functional.cross_entropy(layer(torch.tanh(w)), torch.tensor([0, 1, 1]))
loss.backward()
"""
OF_LIBRARIES = ("mpmath", "pygments", "markdown_it", "mdurl", "yaml", "torch")
"""What packages import that autograph imports, and what scripts are served."""
COMMANDS = {
    "run": "run --record values,time,flops,memory,formula,inside,check s.py",
    "render": "render -o graph.png s.py",
    "open": "open -o page.html s.py",
    "show": "show s.py",
    "steps": "steps s.py",
    "why": "why loss w s.py",
    "explain": "explain s.py",
    "check": "check -j 2 s.py s.py",
    "profile": "profile s.py",
    "inspect": "inspect s.py loss",
    "snapshot": "snapshot s.py",
    "diff": "diff s.py s.py",
    "bisect": "bisect HEAD~1 HEAD s.py",
    "info": "info",
}
MORE = ("run --check-only s.py", "run --ranks 2 s.py")


def test_every_command_is_tried() -> None:
    assert [*COMMANDS] == main.list_commands(None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script, and files named like all other modules: two of them are the script's, who imports another dies."""
    found = tmp_path_factory.mktemp("beside")
    for name in {*sys.stdlib_module_names, *OTHERS, *OF_LIBRARIES}:
        mine = "mine = 'yes'" if name in ("statistics", "sympy") else f"raise ImportError('the {name} of the script')"
        (found / f"{name}.py").write_text(mine)
    for words in ("init -q", "add .", "commit -q -m one", "commit -q -a -m two"):
        (found / "s.py").write_text(SCRIPT if words.endswith("two") else SCRIPT.replace("tanh", "sin"))
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words.split()], cwd=found, check=True)
    return found


@pytest.mark.parametrize("command", [*COMMANDS.values(), *MORE])
def test_no_command_imports_what_is_beside_the_script(python: Run, folder: Path, command: str) -> None:
    # What `python -m` itself imports from the working directory is Python's to choose.
    start = f"import sys; sys.path[0] = {str(Path(__file__).parents[2])!r}; from autograph_cli.cli import main; main()"
    done = python("-c", start, *command.split(), cwd=folder, BROWSER="true")
    assert "of the script" not in done.stdout + done.stderr
    assert done.returncode == (1 if command.startswith("bisect") else 0), done.stderr
