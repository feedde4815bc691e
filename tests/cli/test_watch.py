"""`autograph run --watch` notes numbers of parameters over the steps, `render --watch` draws them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Cli = Callable[..., Result]
SCRIPT = """import torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (w ** 2).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "expr.py").write_text(SCRIPT)
    return "expr.py"


def test_what_run_noted_is_drawn(cli: Cli, script: str, tmp_path: Path) -> None:
    assert cli("run", "--watch", "gradients,updates", script).exit_code == 0
    assert cli("render", "--watch").stderr == "expr.watch.svg\n"
    assert (tmp_path / "expr.watch.svg").read_text().startswith("<?xml")
    rows = cli("render", "--watch", "-f", "csv", "-o", "-").stdout.splitlines()
    assert rows[0] == "parameter,kind,step,norm,mean,max,zeros,ratio" and len(rows) == 1 + 2 * 4
    assert cli("render", "--watch", "-o", "out.csv").stderr == "out.csv\n"
    assert (tmp_path / "out.csv").read_text().splitlines() == rows


def test_a_script_is_run_and_drawn_in_one_go(cli: Cli, script: str) -> None:
    rows = cli("render", script, "--watch", "-f", "csv", "-o", "-").stdout.splitlines()
    assert {row.split(",")[1] for row in rows[1:]} == {"gradients", "values", "updates"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "--watch", "weights", "expr.py"), "'weights' is none of: gradients, values, updates."),
        (("render", "--watch"), "autograph run --watch gradients,values,updates expr.py"),
        (("render", "--watch", "-f", "html"), "--watch has the formats svg and csv, not html."),
        (("render", "--watch", "-o", "out.png"), "--watch has the formats svg and csv, not png."),
        (("render", "--watch", "-f", "svg", "-o", "out.csv"), "are two formats: leave out -f, or rename."),
        (("render", "-f", "csv"), "The format csv is that of --watch."),
    ],
)
def test_what_makes_no_sense_is_one_sentence(cli: Cli, script: str, args: tuple[str, ...], said: str) -> None:
    assert cli("run", "-q", script).exit_code == 0
    result = cli(*args)
    assert result.exit_code != 0 and said in result.stderr and "Traceback" not in result.stderr
