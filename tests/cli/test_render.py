"""`autograph render` finds the trace, the step, the views, the format and the position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli import export, torch
from autograph_cli.cli.render import SUFFIXES
from autograph_cli.export.options import Panels
from autograph_cli.graph import Graph, GraphError, Slice, Step, Trace
from autograph_cli.record.run import store
from tests.record.recording import record

Cli = Callable[..., Result]
Drawn = list[dict[str, Any]]


@pytest.fixture
def kept(trace: Trace, tmp_path: Path) -> Trace:
    store.keep(trace, tmp_path)
    return trace


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ([], {"expr.forward.svg": "forward as svg"}),
        (["--backward"], {"expr.backward.svg": "backward as svg"}),
        (["--double-backward", "-f", "dot"], {"expr.double-backward.dot": "double-backward as dot"}),
        (["--order", "3"], {"expr.double-backward.svg": "double-backward as svg"}),
        (["-f", "text"], {"expr.forward.txt": "forward as text"}),
        (["-o", "graph.png"], {"graph.png": "forward as png"}),
        (["-o", "graph.gv"], {"graph.gv": "forward as dot"}),
        (["-o", "graph.out", "-f", "json"], {"graph.out": "forward as json"}),
        (["--backward", "--forward"], {"expr.forward.svg": "forward as svg", "expr.backward.svg": "backward as svg"}),
        (
            ["--backward", "--forward", "-o", "a.b.txt"],
            {"a.b.forward.txt": "forward as text", "a.b.backward.txt": "backward as text"},
        ),
        (["-o", "pictures"], {"pictures/expr.forward.svg": "forward as svg"}),
        (
            ["--forward", "--backward", "-o", "new/"],
            {"new/expr.forward.svg": "forward as svg", "new/expr.backward.svg": "backward as svg"},
        ),
    ],
)
def test_pictures_go_where_they_are_named(
    cli: Cli, kept: Trace, drawn: Drawn, tmp_path: Path, line: list[str], files: dict[str, str]
) -> None:
    (tmp_path / "pictures").mkdir()
    result = cli("render", *line)
    assert [word for word in result.stderr.split() if "." in word] == list(files)
    assert result.exit_code == 0
    found = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.*") if path.is_file()]
    assert {str(path): path.read_text().strip() for path in found if path.parts[0] != ".autograph"} == files


def test_stdout_gets_the_picture_alone(cli: Cli, kept: Trace, drawn: Drawn) -> None:
    result = cli("render", "-f", "dot", "-o", "-")
    assert (result.stdout, result.stderr) == ("forward as dot\n", "")


def test_options_reach_the_drawing(cli: Cli, kept: Trace, drawn: Drawn) -> None:
    cli("render", "--double-backward", "--order", "3", "--root", "y", "--layout", "dot")
    assert drawn == [
        {
            "step": 0,
            "view": "double-backward",
            "format": "svg",
            "roots": ("y",),
            "order": 3,
            "layout": "dot",
            "part": Slice(),
            "max_nodes": 200,
            "roll": None,
            "tags": True,
            "level": "user",
            "depth": None,
            "title": "expr.py",
            "total_steps": 1,
            "held": frozenset(),
            "hooks": (),
            "shown": ("shapes", "names", "arguments"),
            "inside": None,
            "parameters": None,
            "direction": "auto",
            "columns": True,
            "flow": "gradient",
            "marks": True,
            "colour": None,
            "tracked_only": False,
            "formula": False,
            "sources": {},
            "panels": Panels(),
        }
    ]


@pytest.mark.parametrize(
    ("line", "number", "said"),
    [
        ([], 0, "step 1, the last with a backward pass; what ran after it: --step last\n"),
        (["--step", "last"], 1, ""),
        (["--step", "first"], 0, ""),
    ],
)
def test_the_training_step_is_drawn_and_what_ran_after_it_on_request(
    cli: Cli, kept: Trace, drawn: Drawn, tmp_path: Path, line: list[str], number: int, said: str
) -> None:
    (step,) = kept.steps
    after = replace(step, number=1, graph=replace(step.graph, passes=()))
    store.keep(replace(kept, steps=(step, after), total_steps=2), tmp_path)
    assert cli("render", *line).stderr == f"{said}expr.forward.svg\n"
    assert drawn[0]["step"] == number


def test_a_part_can_be_chosen(cli: Cli, kept: Trace, drawn: Drawn) -> None:
    cli("render", "--from", "w", "--to", "y", "--to", "z", "--around", "mul", "--radius", "3", "--module", "fc")
    assert drawn[0]["part"] == Slice(("w",), ("y", "z"), ("mul",), 3, ("fc",))


def test_trace_file_is_drawn_under_its_own_name(cli: Cli, trace: Trace, drawn: Drawn, tmp_path: Path) -> None:
    store.save(trace, tmp_path / "monday.json")
    assert cli("render", "monday.json").stderr == "monday.forward.svg\n"


def test_script_is_run_kept_and_drawn(cli: Cli, recorded: object, drawn: Drawn, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("import sys; print(sys.argv)")
    result = cli("render", "expr.py", "--backward", "-o", "graph.svg", "--", "--epochs", "3")
    assert result.stdout == "['expr.py', '--epochs', '3']\n"
    assert result.stderr == "graph.svg\n"
    assert store.find(tmp_path).is_file()


def test_script_prints_to_stderr_when_the_picture_is_on_stdout(
    cli: Cli, recorded: object, drawn: Drawn, tmp_path: Path
) -> None:
    (tmp_path / "expr.py").write_text("print('hello')")
    result = cli("render", "expr.py", "-o", "-")
    assert (result.stdout, result.stderr) == ("forward as svg\n", "hello\n")


def test_failed_script_is_drawn_as_far_as_it_came(cli: Cli, recorded: object, drawn: Drawn, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("1 / 0")
    result = cli("render", "expr.py")
    assert (tmp_path / "expr.forward.svg").is_file()
    assert result.exit_code == 2


def test_script_that_fails_at_once_leaves_the_last_trace(
    cli: Cli, kept: Trace, recorded: Any, drawn: Drawn, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text("x = = 1")
    recorded.trace = Trace("bad.py")
    result = cli("render", "bad.py")
    assert result.exit_code == 2
    assert result.stderr.endswith("SyntaxError: invalid syntax\n")
    assert drawn == []
    assert store.load(store.find(tmp_path)) == kept


def test_last_step_with_a_graph_is_drawn(cli: Cli, product: Graph, drawn: Drawn, tmp_path: Path) -> None:
    store.keep(Trace("expr.py", (Step(0, product), Step(4, product), Step(5, Graph())), total_steps=6), tmp_path)
    for step, number in [((), 4), (("--step", "first"), 0), (("--step", "last"), 4), (("--step", "1"), 0)]:
        cli("render", *step)
        assert drawn[-1]["step"] == number


def test_derived_double_backward_is_said_to_be_so(cli: Cli, trace: Trace, drawn: Drawn, tmp_path: Path) -> None:
    step = replace(trace.steps[0], derived="made from y with respect to w")
    store.keep(replace(trace, steps=(step,)), tmp_path)
    assert "made from y with respect to w" in cli("render", "--double-backward").stderr
    assert "made from" not in cli("render", "--backward").stderr


def test_the_step_whose_double_backward_is_drawn_is_told_where_it_is_another(
    cli: Cli, drawn: Drawn, tmp_path: Path
) -> None:
    def penalized_in_turns() -> None:
        w = torch.ones(3, requires_grad=True)
        for turn in range(4):
            loss = w.exp().sum()
            if turn % 2 == 0:
                loss = torch.autograd.grad(loss, w, create_graph=True)[0].pow(2).sum()
            loss.backward()

    store.keep(record(penalized_in_turns), tmp_path)
    told = "double backward: step 3, the last in which the script differentiates gradients"
    assert told in cli("render", "--double-backward").stderr
    assert [drawn[-1]["step"], drawn[-1]["view"]] == [2, "double-backward"]
    assert told not in cli("render", "--double-backward", "--step", "4").stderr
    assert told not in cli("render").stderr
    kept = {line.split()[0]: line for line in cli("steps").stdout.split("kept:")[1].splitlines()[2:] if line}
    assert kept["3"].endswith("shown as double backward") and kept["4"].endswith("shown unless told")


def test_an_order_that_is_not_there_is_said_to_be_missing(cli: Cli, kept: Trace, drawn: Drawn) -> None:
    assert "there is no order 7 in this step" in cli("render", "--order", "7").stderr
    assert "there is no order" not in cli("render", "--double-backward").stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--step", "7"], "There is no step 7 in the trace of expr.py; kept steps: 1, of 1."),
        (["-o", "graph"], "The name graph does not say the format: end it in .svg, .png, "),
        (["-o", "-", "--forward", "--backward"], "-o - takes one graph, not 2: forward, backward."),
        (
            ["-f", "png", "-o", "x.svg"],
            "-f png and the name x.svg, which says svg, are two formats: leave out -f, or rename.",
        ),
        (["gone.json"], "Cannot read gone.json: No such file or directory."),
        (["gone.py"], "Cannot read gone.py: No such file or directory."),
        (["broken.json"], "broken.json is not an autograph trace."),
        (["broken.json", "--", "x"], "broken.json is read as a trace and takes no arguments"),
        (["-o", "no/where.svg"], "Cannot write "),
    ],
)
def test_bad_input_is_one_sentence(
    cli: Cli, kept: Trace, drawn: Drawn, tmp_path: Path, line: list[str], message: str
) -> None:
    (tmp_path / "broken.json").write_text("hello")
    result = cli("render", *line)
    assert result.exit_code != 0
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_nothing_recorded_says_what_to_do(cli: Cli) -> None:
    result = cli("render")
    assert result.exit_code == 2
    assert result.stderr == "Error: Nothing was recorded here yet; record a script first: autograph run FILE.py\n"


def test_trace_without_a_graph_says_what_to_add(cli: Cli, drawn: Drawn, tmp_path: Path) -> None:
    store.save(Trace("expr.py", (Step(0, Graph()),), total_steps=1), tmp_path / "empty.json")
    result = cli("render", "empty.json")
    assert result.exit_code != 0
    assert "no tensor required grad" in result.stderr


def test_graph_that_cannot_be_drawn_costs_no_file(
    cli: Cli, kept: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(step: Step, view: str, *how: Any) -> bytes:
        if view == "backward":
            raise GraphError("There is no root 'z' here; known roots: 'y'.")
        return b""

    monkeypatch.setattr("autograph_cli.export.render", render, raising=False)
    result = cli("render", "--forward", "--backward", "--root", "z")
    assert result.stderr == "Error: There is no root 'z' here; known roots: 'y'.\n"
    assert not list(tmp_path.glob("*.svg"))


def test_what_stands_in_the_way_of_a_picture_is_one_sentence(cli: Cli, kept: Trace) -> None:
    for format_ in ("html", "pdf", "mermaid"):
        result = cli("render", "--layout", "graphviz-pure", "-f", format_)
        assert result.exit_code == 2 and "is for SVG and PNG" in result.stderr
    result = cli("render", "--layout", "neat")
    assert result.exit_code == 2
    assert result.stderr == "Error: There is no layout program 'neat'; known ones: layered, graphviz-pure, dot.\n"


def test_modules_can_be_closed(cli: Cli, kept: Trace, drawn: Drawn) -> None:
    cli("render", "--depth", "1")
    assert [job["depth"] for job in drawn] == [1]


@pytest.mark.parametrize(
    ("line", "format"),
    [
        (["-f", "model-explorer", "-o", "net.json"], "model-explorer"),
        (["-o", "net.explorer.json"], "model-explorer"),
        (["-f", "model-explorer-data", "-o", "Time.JSON"], "model-explorer-data"),
        (["-o", "net.data.json"], "model-explorer-data"),
        (["-o", "net.json"], "json"),
    ],
)
def test_formats_of_one_ending_are_told_apart(
    cli: Cli, kept: Trace, drawn: Drawn, line: list[str], format: str
) -> None:
    assert cli("render", *line).exit_code == 0
    assert [job["format"] for job in drawn] == [format]


def test_formats_and_the_ends_of_their_files_are_those_of_export() -> None:
    assert {name: format.suffix for name, format in export.FORMATS.items()} == SUFFIXES
