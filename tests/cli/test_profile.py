"""`autograph profile` says what a step took."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import ROOT

Cli = Callable[..., Result]
SCRIPT = """import sys
import torch
net = torch.nn.Linear(3, 2)
print("from the script", *sys.argv[1:])
for _ in range(2):
    loss = net(torch.ones(4, 3)).sum()
    loss.backward()
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "140")  # whatever the terminal of the tests has
    (tmp_path / "expr.py").write_text(SCRIPT)
    return "expr.py"


def test_the_tables_and_the_memory(cli: Cli, script: str) -> None:
    result = cli("profile", script)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("expr.py, the last of 2 steps: ") and "which is taken off" in lines[0]
    titles = [line.split("  ")[0] for line in lines if line.startswith("by ")]
    assert titles == ["by operation", "by line", "by module", "by order"]
    assert any(line.startswith("expr.py:6  loss = net(") for line in lines)
    (addmm,) = [line.split() for line in lines if line.startswith("addmm ")]
    assert addmm[1] == "1" and "48" in addmm
    assert any(line.startswith("memory: at most ") for line in lines)
    assert "from the script" in result.stderr and "from the script" not in result.stdout


def test_what_is_shown_can_be_chosen(cli: Cli, script: str) -> None:
    result = cli("profile", script, "--by", "node", "--sort", "flops", "--limit", "2", "--step", "1", "--", "--word")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("expr.py, step 1 of 2: ") and "from the script --word" in result.stderr
    assert [line.split()[0] for line in lines[3:5]] == ["AddmmBackward0", "addmm"] or [
        line.split()[0] for line in lines[3:5]
    ] == ["addmm", "AddmmBackward0"]
    assert lines[5].strip() == "..." and lines[6].startswith("all ")
    assert not any(line.startswith("by module") for line in lines)


def test_the_last_run_is_profiled_where_it_was_recorded_so(cli: Cli, script: str) -> None:
    assert cli("run", "--record", "time,flops,memory", script).exit_code == 0
    assert cli("profile", "--by", "order").stdout.startswith("expr.py, the last of 2 steps: ")
    assert cli("render", "--colour", "time", "-o", "-").exit_code == 0
    assert cli("run", script).exit_code == 0
    result = cli("profile")
    assert result.exit_code == 2
    assert (
        result.stderr.startswith("Error: The trace holds no profile") and "autograph profile FILE.py" in result.stderr
    )


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (("--json",), "{"),
        (("-f", "json"), "{"),
        (("-f", "chrome"), '{"displayTimeUnit"'),
        (("-f", "perfetto"), '{"displayTimeUnit"'),
        (("-f", "speedscope"), '{"$schema"'),
        (("-f", "collapsed"), "forward;net;"),
    ],
)
def test_other_formats_go_to_stdout_or_to_a_file(
    cli: Cli, script: str, options: tuple[str, ...], begins: str, tmp_path: Path
) -> None:
    result = cli("profile", script, *options)
    assert result.exit_code == 0 and result.stdout.startswith(begins)
    if begins[0] == "{":
        json.loads(result.stdout)
    assert cli("profile", *options, "-o", "out.txt").stderr == "out.txt\n"
    assert (tmp_path / "out.txt").read_text() == cli("profile", *options).stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nothing.py",), "nothing.py"),
        (("--by", "colour"), "'colour' is not one of"),
        (("expr.py", "--step", "7"), "expr.py made 2 steps, numbered from 1"),
        (("plain.py",), "plain.py built no graph"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    cli: Cli, script: str, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    (tmp_path / "plain.py").write_text("import torch\ntorch.ones(2)\n")
    result = cli("profile", *args)
    assert result.exit_code != 0 and said in result.stderr and "Traceback" not in result.stderr


def test_every_sample_that_trains_can_be_profiled(cli: Cli) -> None:
    for name in ("penalty", "wgan_gp", "fourth_derivative"):
        result = cli("profile", str(ROOT / f"samples/{name}.py"), "--json")
        total = json.loads(result.stdout)["total"]
        assert total["forward_ns"] > 0 and total["backward_ns"] > 0
