"""The page: one file, its own script and style alone, every name as text; and in a real browser, that it works."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import weakref
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.export import render
from autograph_cli.export.page import html, sheets
from autograph_cli.export.page.timeline import execution_order, moments
from autograph_cli.graph import Slice, Trace, backward, reachable
from autograph_cli.record.run.runner import Target, record
from tests.export.nets import layers
from tests.export.pages import ODD, ROOT, data_of, odd_graph, pictures_of, view_of


def test_the_policy_allows_the_pages_own_script_and_style_alone(traces: dict[str, Trace]) -> None:
    page = render(traces["higher_order"].steps[0], "double-backward", "html").decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src 'none'; ")
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]
    assert not re.search(r' (?:style|on\w+|href|src)="', page)
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_same_graph_gives_the_same_bytes() -> None:
    assert render(layers(4), "forward", "html", depth=1) == render(layers(4), "forward", "html", depth=1)


def test_what_is_more_than_asked_for_is_closed_at_first_and_there_to_open() -> None:
    data = view_of(render(layers(20), "forward", "html", max_nodes=30).decode())
    assert sum(key.startswith("n") for key in data["boxes"]) == 42
    assert (
        sorted(data["frames"][key]["title"].split(": ")[1] for key in data["closed"])
        == ["Block"] * 20 + ["Linear"] * 20
    )
    assert not view_of(render(layers(20), "forward", "html", max_nodes=None).decode())["closed"]
    folded = view_of(render(layers(20), "forward", "html", max_nodes=10).decode())
    assert len(folded["boxes"]) <= 10, "where closing is not enough, it is folded as other pictures are"


def test_a_slice_knows_its_moments(capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "tests/programs/02_logits_loss.py")))[1].steps[-1]
    data = view_of(render(step, "backward", "html", part=Slice(around=("mm",), radius=1)).decode())
    assert [title for _, title, runs, _ in data["steps"] if runs] == ["SqueezeBackward4", "MmBackward0", "w"]


def test_a_sheet_is_let_go_of_before_the_next_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a large graph take more room together than all else."""
    made: list[weakref.ref[Any]] = []
    make = sheets.sheet_of

    class Folds(list[Any]):
        """A list that can be watched."""

    def sheet_of(*args: Any) -> Any:
        assert [ref() for ref in made] == [None] * len(made)
        sheet = make(*args)
        made.append(weakref.ref(folds := Folds(sheet.folds)))
        return replace(sheet, folds=folds)

    page = render(layers(3), "forward", "html")
    monkeypatch.setattr(sheets, "sheet_of", sheet_of)
    assert render(layers(3), "forward", "html") == page and len(made) == len(data_of(page.decode())["views"]) > 1


def test_data_of_a_large_page_are_packed_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    page = render(layers(4), "forward", "html").decode()
    plain, pictures = data_of(page), pictures_of(page)
    monkeypatch.setattr(html, "PLAIN", 0)
    packed = render(layers(4), "forward", "html").decode()
    told = data_of(packed)
    assert told.pop("drawn") is not None and told == plain
    assert pictures_of(packed) == pictures and "<template>" not in packed
    assert '"nodes":' in json.dumps(plain) and '"nodes":' not in packed


def test_the_data_tell_every_box_and_arrow(traces: dict[str, Trace]) -> None:
    page = render(traces["higher_order"].steps[0], "double-backward", "html", title="a.py").decode()
    data = view_of(page)
    pictures = "".join(pictures_of(page))
    assert all(f'id="{key}"' in pictures for key in data["boxes"])
    drawn = sum(len(view["arrows"]) for view in data["views"])
    assert drawn == pictures.count('class="arrow"')
    assert {key for ends in data["arrows"] for key in ends} <= data["boxes"].keys()
    assert data["when"].keys() == data["boxes"].keys()
    shown = {box["node"] for box in data["boxes"].values() if "node" in box}
    assert max(shown) < len(data["nodes"]) and data["first"] == "double-backward"
    assert "<title>a.py</title>" in page


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_text(name: str) -> None:
    page = render(odd_graph(), "forward", "html", title=name).decode()
    assert page.count("<script") == 2
    assert "<img" not in page
    shown = {box["title"] for box in view_of(page)["boxes"].values()}
    assert (name if name.isprintable() else "\\u2028") in shown


@pytest.mark.parametrize("script", ["samples/first.py", "tests/programs/03_cubic_fit.py"])
def test_a_pass_runs_in_the_order_that_is_worked_out_where_none_was_recorded(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, trace = record(Target.of(str(ROOT / script)))
    graph = trace.steps[-1].graph
    entry = graph.passes[0]
    names = [root.name for root in graph.roots if root.node == entry.roots[0].node]
    numbers = reachable(graph, names)
    assert [numbers[number] for number in execution_order(backward(graph, names))] == list(entry.ran)
    assert [moment.node for moment in moments(graph) if moment.runs] == list(entry.ran)


@pytest.mark.parametrize("name", ["04_retain_graph", "12_sinh_function", "22_higher_order"])
def test_moments_are_in_true_order(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / f"tests/programs/{name}.py")))[1].steps[-1]
    for graph in (step.graph, step.double or step.graph):
        made: set[int] = {node.id for node in graph if node.kind != "operation"}
        ran: dict[int, list[int]] = {entry.id: [] for entry in graph.passes}
        for moment in moments(graph):
            node = graph.nodes[moment.node]
            if moment.runs:
                assert node.id in made and moment.pass_id is not None
                ran[moment.pass_id].append(node.id)
            else:
                assert {edge.node for edge in node.args} <= made
                assert node.pass_id is None or node.parent is None or ran[node.pass_id][-1] == node.parent
                made.add(node.id)
        assert made == {node.id for node in graph}
        assert {number: tuple(its) for number, its in ran.items()} == {entry.id: entry.ran for entry in graph.passes}


def test_a_forward_graph_runs_forward_and_then_backward(capsys: pytest.CaptureFixture[str]) -> None:
    _, trace = record(Target.of(str(ROOT / "tests/programs/02_logits_loss.py")))
    data = view_of(render(trace.steps[-1], "forward", "html", level="aten").decode())
    assert [(data["phases"][phase], title) for phase, title, _, _ in data["steps"]] == [
        ("forward", "unsqueeze dim 0"),
        ("forward", "mm"),
        ("forward", "squeeze_ dim 0"),
        ("forward", "add"),
        ("forward", "binary_cross_entropy_with_logits"),
        ("backward", "binary_cross_entropy_with_logits"),
        ("backward", "add"),
        ("backward", "b"),
        ("backward", "squeeze_ dim 0"),
        ("backward", "mm"),
        ("backward", "w"),
    ]
    still = [data["arrows"][number] for number in data["still"]]
    titles = {tuple(data["boxes"][end]["title"] for end in ends) for ends in still}
    assert titles == {
        ("x", "unsqueeze dim 0"),
        ("unsqueeze dim 0", "mm"),
        ("target", "binary_cross_entropy_with_logits"),
    }


def test_derivatives_are_made_while_their_pass_runs(capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "tests/programs/14_cube_function.py")))[1].steps[-1]
    data = view_of(render(step, "double-backward", "html").decode())
    assert [f"{data['phases'][phase]}: {title}" for phase, title, _, _ in data["steps"]] == [
        "forward: CubeBackward",
        "forward: SumBackward0",
        "grad 1: SumBackward0",
        "grad 1: CubeBackward",
        "grad 1 makes: CubeBackward",
        "grad 1: x",
        "grad 2: CubeBackward",
        "grad 2: x",
    ]
