"""The core commands work where rich, graphviz and graphviz-pure are not installed; what needs them says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rich", "graphviz", "graphviz_pure", "networkx", "onnx"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from autograph_cli.cli.main import main
import click.testing
script = sys.argv[1]
for command in (
    ["run", script], ["show", script], ["explain", script], ["info"], ["snapshot", script], ["check", script],
    ["render", script, "-f", "svg", "-o", "-"], ["render", script, "-f", "html", "-o", "-"],
    ["render", script, "-f", "pdf", "-o", "-"], ["profile", script, "-f", "json"],
    ["profile", script], ["render", script, "-f", "dot", "-o", "-"], ["render", script, "-f", "onnx", "-o", "-"],
):
    result = click.testing.CliRunner().invoke(main, command)
    print(command[0], command[-3 if "-f" in command else 0], result.exit_code, result.stderr.splitlines()[-1:])
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("bare")
    script = folder / "a.py"
    script.write_text("import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()\n")
    command = [sys.executable, "-c", ABSENT, str(script)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, env=environment, check=True)
    return done.stdout


def test_the_core_commands_work(told: str) -> None:
    codes = [line.split()[2] for line in told.splitlines()]
    assert codes[:10] == ["0"] * 10, told


@pytest.mark.parametrize(
    "sentence",
    [
        "Error: The table of profile needs rich: pip install rich",
        "Error: The drawing of DOT and PNG needs graphviz: pip install graphviz",
        "Error: The format onnx needs onnx: pip install onnx",
    ],
)
def test_what_needs_more_says_what(told: str, sentence: str) -> None:
    assert sentence in told
