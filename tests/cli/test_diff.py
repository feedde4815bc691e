"""`autograph diff` compares scripts, traces, snapshots and revisions, and ends as diff does."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli.graph import Section, Snapshot, Trace
from autograph_cli.graph.records import Measured, Values
from autograph_cli.graph.snapshot import HOLDS
from autograph_cli.record.run import store
from autograph_cli.testing import scripts
from autograph_cli.testing.settings import Settings
from tests.conftest import Run

Cli = Callable[..., Result]
SCRIPT = (
    "import torch\nfrom helper import f\nw = torch.ones(3, requires_grad=True)\nloss = f(w).sum()\nloss.backward()\n"
)


@pytest.fixture
def traces(trace: Trace, tmp_path: Path) -> list[str]:
    """Two traces that differ in one operation, as files."""
    step = trace.steps[0]
    node = replace(step.graph[2], op="div", name="DivBackward0")
    other = replace(step.graph, nodes=(*step.graph.nodes[:2], node))
    store.save(trace, tmp_path / "old.json")
    store.save(replace(trace, steps=(replace(step, graph=other),)), tmp_path / "new.json")
    return ["old.json", "new.json"]


def test_equal_graphs_are_silent_and_end_with_0(cli: Cli, traces: list[str]) -> None:
    result = cli("diff", traces[0], traces[0])
    assert (result.exit_code, result.stdout) == (0, "")


def test_different_graphs_are_reviewed_and_end_with_1(cli: Cli, traces: list[str]) -> None:
    result = cli("diff", *traces)
    assert result.exit_code == 1
    assert result.stdout.startswith("  `mul` became `div` (expr.py:5)\n\n  [step 1]\n  @@ order 0 @@\n")


def test_json_is_for_machines(cli: Cli, traces: list[str]) -> None:
    data = json.loads(cli("diff", "-f", "json", *traces).stdout)
    assert data["same"] is False
    assert data["sections"]["step 1"]["changed"][0]["aspects"] == ["operation"]


@pytest.mark.parametrize("format", ["svg", "dot"])
def test_a_picture_is_drawn(cli: Cli, traces: list[str], tmp_path: Path, format: str) -> None:
    assert cli("diff", "-o", f"out.{format}", *traces).exit_code == 1
    assert "div" in (tmp_path / f"out.{format}").read_text()


def test_svg_is_side_by_side_or_together(cli: Cli, traces: list[str]) -> None:
    beside, together = (cli("diff", "-f", "svg", *more, *traces).stdout for more in ([], ["--together"]))
    assert beside.count('class="changed"') == 2 and "before: old.json" in beside and "after: new.json" in beside
    assert together.count('class="changed"') == 1 and "was mul" in together


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["old.json"], "Give two files, or one file and --rev once or twice."),
        (["old.json", "new.json", "--rev", "main"], "Give two files, or one file and --rev once or twice."),
        (["old.json", "nothing.json"], "Cannot read nothing.json"),
        (["old.json", "nothing.py"], "There is no file nothing.py."),
        (["old.json", "nothing.graph.txt"], "Cannot read nothing.graph.txt"),
        (["--rev", "main", "old.json"], "--rev is for scripts, and old.json is none."),
        (["-o", "out.gif", "old.json", "new.json"], "The name out.gif does not say the format"),
        (["-f", "svg", "-o", "x.png", "old.json", "new.json"], "-f svg and the name x.png, which says png, are two"),
        (["-f", "svg", "old.json", "old.json"], "There is nothing to draw: the graphs are the same."),
        (["--step", "7", "old.json", "new.json"], "There is no step 7 in the trace of expr.py"),
    ],
)
def test_trouble_ends_with_2(cli: Cli, traces: list[str], arguments: list[str], message: str) -> None:
    result = cli("diff", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("part", HOLDS)
def test_what_one_side_does_not_hold_is_said_and_not_equal(cli: Cli, trace: Trace, part: str) -> None:
    """Whatever `--include` names: it is compared, or the command says that it is not."""
    settings = replace(Settings(), include=tuple(word for word in HOLDS if word != part))
    kept = Snapshot("expr.py", scripts.trace_sections(trace, settings), settings.include, trace.total_steps)
    Path("kept.graph.txt").write_text(kept.to_text(), "utf-8")
    store.save(trace, Path("trace.json"))
    for sides in (["kept.graph.txt", "trace.json"], ["trace.json", "kept.graph.txt"], ["kept.graph.txt"] * 2):
        result = cli("diff", "--include", part, *sides)
        assert result.exit_code == 2
        assert re.match(rf"Error: The {part} are not compared: not held by .*kept\.graph\.txt", result.stderr)
    result = cli("diff", "kept.graph.txt", "trace.json")
    assert (f"The {part} are not compared" in result.stderr) == (part in Settings().include)


def measured(trace: Trace, gradient: str) -> Trace:
    """The trace as if its values had been recorded too."""
    numbers = Measured(values=(Values(("[1, 2, 3]",), count=3),), gradients=(Values((gradient,), count=3),))
    step = trace.steps[0]
    nodes = tuple(replace(node, measured=numbers) for node in step.graph)
    return replace(trace, steps=(replace(step, graph=replace(step.graph, nodes=nodes)),))


@pytest.mark.parametrize("part", ["values", "formulas"])
def test_extras_that_are_nowhere_are_not_equal(cli: Cli, trace: Trace, part: str) -> None:
    settings = replace(Settings(), include=(part,))
    kept = Snapshot("expr.py", scripts.trace_sections(trace, settings), (part,), trace.total_steps)
    Path("kept.graph.txt").write_text(kept.to_text(), "utf-8")
    store.save(measured(trace, "[2, 2, 2]"), Path("trace.json"))
    assert cli("diff", "--include", part, "kept.graph.txt", "kept.graph.txt").exit_code == 2
    assert cli("diff", "--include", part, "kept.graph.txt", "trace.json").exit_code == 2


def test_values_of_traces_are_compared(cli: Cli, trace: Trace) -> None:
    for name, gradient in (("old", "[2, 2, 2]"), ("new", "[3, 3, 3]")):
        store.save(measured(trace, gradient), Path(f"{name}.json"))
    result = cli("diff", "--include", "values", "old.json", "new.json")
    assert (result.exit_code, result.stdout) == (1, "  value of `w.grad` [2, 2, 2] -> [3, 3, 3]\n")
    same = cli("diff", "--include", "values", "old.json", "old.json")
    assert (same.exit_code, same.stdout, same.stderr) == (0, "", "")


GRADIENTS = {
    "a Function": "Own.apply(w).sum().backward()",
    "a hook": "w.register_hook(lambda g: g * K); (w * w).sum().backward()",
    "what backward is given": "(w ** 3).backward(torch.ones(3) * K)",
    "a pass of the second order": (
        "(g,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True); g.backward(torch.ones(3) * K)"
    ),
    "the second of two passes": "y = w * w; y.sum().backward(retain_graph=True); y.backward(torch.ones(3) * K)",
    "grad alone": "torch.autograd.grad(w ** 3, w, torch.ones(3) * K)",
    "one element of many": "v = torch.ones(2000, requires_grad=True); g = torch.ones(2000); g[7] = K; (v * 2).backward(g)",
}
"""Where K comes into the gradients of a script, and into no value of its forward passes."""


@pytest.mark.parametrize("statement", GRADIENTS.values(), ids=GRADIENTS)
def test_gradients_apart_are_told(cli: Cli, statement: str) -> None:
    head = """
        import torch
        class Own(torch.autograd.Function):
            forward = staticmethod(lambda ctx, x: x * x)
            backward = staticmethod(lambda ctx, g: g * K)
        w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        """
    for name, factor in (("old", 1.0), ("same", 1.0), ("new", 1.5)):
        Path(f"{name}.py").write_text(f"K = {factor}\n{textwrap.dedent(head)}\n{statement}\n")
        assert cli("run", "-q", "--record", "values", "-o", f"{name}.json", f"{name}.py").exit_code == 0
    differs, same = (cli("diff", "--include", "values", "old.json", f"{other}.json") for other in ("new", "same"))
    assert (differs.exit_code, "grad" in differs.stdout) == (1, True), differs.output
    assert (same.exit_code, same.output) == (0, "")


def test_traces_without_a_graph_are_not_equal(cli: Cli, trace: Trace) -> None:
    store.save(replace(trace, steps=()), Path("none.json"))
    result = cli("diff", "none.json", "none.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: There is nothing to compare: ")


@pytest.mark.parametrize("engines", ["builtin,torch", "torch,builtin"])
def test_both_engines_keep_the_same_steps(
    cli: Cli, trace: Trace, monkeypatch: pytest.MonkeyPatch, engines: str
) -> None:
    """Where an installed PyTorch followed another last step, both are asked for the engine's by number."""
    asked: list[tuple[str, str]] = []

    def taken(script: Path, settings: Settings, **_: object) -> tuple[Snapshot, Trace]:
        asked.append((settings.engine, settings.steps))
        last = {"builtin": 19, "torch": 15}[settings.engine]
        numbers = [0, last] if settings.steps == "first,last" else [*map(int, settings.steps.split(","))]
        graph = trace.steps[0].graph
        sections = tuple(Section(f"step {each}", graph) for each in numbers)
        return Snapshot("expr.py", sections, settings.include, 20), trace

    monkeypatch.setattr(scripts, "taken", taken)
    Path("expr.py").touch()
    result = cli("diff", "--engines", engines, "expr.py")
    assert (result.exit_code, result.stdout) == (0, "")
    assert asked == [(engine, steps) for steps in ("first,last", "0,19") for engine in engines.split(",")]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_loop_is_compared_in_its_last_step(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import torch\nw = torch.ones(3, requires_grad=True)\nfor step in range(20):\n"
        "    loss = (w * 2).sum()\n    if step > 17:\n        loss = loss.exp()\n    loss.backward()\n"
    )
    for engines in ("builtin,torch", "torch,builtin"):
        done = autograph("diff", "--engines", engines, "loop.py")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_revision_is_compared_with_its_own_neighbours(autograph: Run, tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "expr.py").write_text(SCRIPT)
    (folder / "helper.py").write_text("def f(x):\n    return x.tanh()\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (folder / "helper.py").write_text("def f(x):\n    return x.sigmoid()\n")
    found = autograph("diff", "--rev", "main", "expr.py", cwd=folder)
    assert found.returncode == 1, found.stderr
    assert found.stdout.startswith("  `tanh` became `sigmoid` (helper.py:2)\n")
    assert autograph("diff", "--rev", "main", "expr.py", "-o", "found.svg", cwd=folder).returncode == 1
    assert "before: expr.py at main · step 1" in (folder / "found.svg").read_text()
    none = autograph("diff", "--rev", "nowhere", "expr.py", cwd=folder)
    assert none.returncode == 2
    assert none.stderr.startswith("Error: There is no revision nowhere in ")
    (folder / "fresh.py").write_text("")
    inner = folder / "package"
    inner.mkdir()
    for name, text in (("one", "relu"), ("other", "tanh")):
        lines = (
            f"from . import nothing\nimport torch\nw = torch.ones(3, requires_grad=True)\nw.{text}().sum().backward()\n"
        )
        (inner / f"{name}.py").write_text(lines)
    (inner / "nothing.py").touch()
    modules = autograph("diff", "-m", "package.one", "package.other", cwd=folder)
    assert modules.stdout.startswith("  `relu` became `tanh` ("), modules.stderr
    absent = autograph("diff", "--rev", "main", "fresh.py", cwd=folder)
    assert (absent.returncode, absent.stderr) == (2, "Error: fresh.py is not there at main.\n")


def test_a_snapshot_is_compared_with_its_script(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("def f(x):\n    return x.tanh()\n")
    assert autograph("snapshot", "expr.py").returncode == 0
    assert autograph("diff", "expr.graph.txt", "expr.py").returncode == 0


def test_a_page_shows_both_graphs_beside_each_other(cli: Cli, traces: list[str], tmp_path: Path) -> None:
    result = cli("diff", *traces, "-o", "changes.html")
    page = (tmp_path / "changes.html").read_text()
    assert result.exit_code == 1 and page.count("<figcaption>") == page.count("<iframe") == 2
    assert (
        "<code>mul</code> became <code>div</code>" in page and "before: old.json" in page and "after: new.json" in page
    )
    assert "The numbers cannot be compared" in page and "default-src 'none'" in page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_a_page_of_snapshots_has_both_graphs_without_a_script(
    cli: Cli, autograph: Run, traces: list[str], tmp_path: Path
) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("def f(x):\n    return x.tanh()\n")
    assert autograph("snapshot", "expr.py").returncode == 0
    page = cli("diff", "-f", "html", "expr.graph.txt", traces[0]).stdout
    assert page.count("<figcaption>") % 2 == 0 and "<script" not in page and "default-src 'none'" in page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_a_comment_has_sentences_lines_and_a_picture(cli: Cli, traces: list[str]) -> None:
    told = cli("diff", "-f", "markdown", *traces).stdout
    assert told.startswith("### Graphs: old.json → new.json\n\n````text\n") or "```text\n`mul` became" in told
    assert told.count("<details>") == told.count("</details>") == 2
    assert "```diff\n" in told and "```mermaid\nflowchart TD\n" in told
    assert len(told) < 65_536


def test_names_in_a_comment_are_neither_markup_nor_people(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    step = trace.steps[0]
    node = replace(step.graph[2], op="```</details><img>@all", name="DivBackward0")
    store.save(trace, tmp_path / "old.json")
    store.save(
        replace(trace, steps=(replace(step, graph=replace(step.graph, nodes=(*step.graph.nodes[:2], node))),)),
        tmp_path / "new.json",
    )
    told = cli("diff", "-f", "markdown", "old.json", "new.json").stdout
    outside = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", told, flags=re.DOTALL | re.MULTILINE)
    assert "@all" in told and "@all" not in outside and "<img>" not in outside
    assert outside.count("</details>") == 2
    page = cli("diff", "-f", "html", "old.json", "new.json").stdout
    assert "<img>" not in page


def test_a_module_is_compared_alone(autograph: Run, tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(2, 2), nn.GELU(), nn.Linear(2, 1))\n"
        "net(torch.ones(1, 2)).sum().backward()\n"
    )
    (tmp_path / "old.py").write_text(text, "utf-8")
    (tmp_path / "new.py").write_text(text.replace("GELU()", "GELU('tanh')"), "utf-8")
    same = autograph("diff", "old.py", "new.py", "--module", "net.2")
    assert (same.returncode, same.stdout) == (0, "")
    other = autograph("diff", "old.py", "new.py", "--module", "net.1")
    assert (other.returncode, "approximate" in other.stdout) == (1, True)
    assert autograph("diff", "old.py", "new.py", "--module", "net.7").returncode == 2


def test_equal_graphs_make_a_page_and_a_comment_that_say_so(cli: Cli, traces: list[str]) -> None:
    for format_ in ("html", "markdown"):
        result = cli("diff", "-f", format_, traces[0], traces[0])
        assert result.exit_code == 0 and "The graphs are the same." in result.stdout


def test_a_detach_after_a_layer_is_no_change_of_what_the_layer_was_given(autograph: Run, tmp_path: Path) -> None:
    script = (
        "import torch\nbn = torch.nn.BatchNorm1d(3)\nw = torch.ones(4, 3, requires_grad=True)\n"
        "h = bn(torch.randn(4, 3) * w)\nloss = (h * w).sum()\nloss.backward()\n"
    )
    (tmp_path / "one.py").write_text(script)
    (tmp_path / "other.py").write_text(script.replace("(h * w)", "(h.detach() * w)"))
    told = autograph("diff", "one.py", "other.py").stdout.partition("@@")[0]
    assert "`h`, `bn.weight` and `bn.bias` no longer get a gradient: detach at line 5 of other.py\n" in told
    assert told.strip().count("\n") == 2, "no consequence is told"
    assert "called with" not in told
