"""`autograph show` prints the graph's text form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.graph import Step, Trace, backward, close_modules, forward, to_text
from autograph_cli.record.run import store
from tests.conftest import Run
from tests.export.nets import layers

Cli = Callable[..., Result]


def test_last_graph_is_printed_as_text(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    result = cli("show")
    assert result.stdout == to_text(trace.steps[0].graph)
    assert result.exit_code == 0


@pytest.mark.parametrize(("option", "cut"), [("--forward", forward), ("--backward", backward)])
def test_view_can_be_chosen(cli: Cli, trace: Trace, tmp_path: Path, option: str, cut: Callable[..., object]) -> None:
    store.keep(trace, tmp_path)
    assert cli("show", option).stdout == to_text(cut(trace.steps[0].graph))  # type: ignore[arg-type]


def test_details_tell_the_source_line(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    assert "expr.py" in cli("show", "--details").stdout


def test_what_the_script_prints_goes_to_stderr(cli: Cli, recorded: object, trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("print('hello')")
    result = cli("show", "expr.py")
    assert result.stderr == "hello\n"
    assert result.stdout == to_text(trace.steps[0].graph)


def test_unknown_root_lists_the_known_ones(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    result = cli("show", "--root", "z")
    assert result.exit_code == 2
    assert result.stderr == "Error: There is no root 'z' here; known roots: 'y'.\n"


def test_a_part_can_be_chosen(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    result = cli("show", "--from", "w", "--to", "w")
    assert result.stdout == "graph: 1 node (1 leaf)\norder 0\n  leaf w: float32[3]\n"
    assert result.stderr == "from w to w: 1 of 3 nodes\n"


def test_orders_can_be_chosen(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    assert cli("show", "--order", "3").stdout == cli("show", "--double-backward").stdout


def test_modules_can_be_closed(cli: Cli, tmp_path: Path) -> None:
    graph = layers(2)
    store.keep(Trace("net.py", (Step(0, graph),), 1), tmp_path)
    assert cli("show", "--depth", "1").stdout == to_text(close_modules(graph, 1))


@pytest.mark.parametrize(
    ("loss", "lines", "legend"),
    [
        (
            "x[0] - x[1]",
            "dloss/dx = at(x[0], 1) - at(x[1], 1)",
            "at(x[0], g): zeros, but g at the places where x[0] was taken\n",
        ),
        ("(x * torch.tensor([1.0, -1.0])).sum()", "dloss/dx = [1, -1]", ""),
        ("(x * torch.tensor([0.5, 0.5])).sum() * torch.tensor(-2.0)", "dloss/dx = (-2)·[0.5, 0.5]", ""),
        ("(x * torch.arange(40.0).reshape(20, 2)).sum()", "dloss/dx = sum(reshape(%0, 20×2), dim=0)", ""),
    ],
)
def test_formulas_hold_the_numbers_of_small_literals(
    autograph: Run, tmp_path: Path, loss: str, lines: str, legend: str
) -> None:
    (tmp_path / "s.py").write_text(
        f"import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nloss = {loss}\nloss.backward()\n"
    )
    found = autograph("show", "s.py", "--formula", cwd=tmp_path)
    assert found.stdout.splitlines()[-1] == f"order 1  {lines}"
    assert legend in found.stderr
    assert bool(legend) == ("at(" in found.stderr)
