"""The page: one file, its own script and style alone, every name as text; and in a real browser, that it works."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.timeline import execution_order, moments
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType, Trace, backward, reachable
from autograph_cli.record.runner import Target, record

ROOT = Path(__file__).parents[2]
ODD = ("</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"&quot;\'', "权重", "\u2028", "${x}", "{title}")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


def odd_graph() -> Graph:
    kind = TensorType("float32", (3,))
    nodes = [Node(i, "leaf", "AccumulateGrad", "", (Output(kind, (name,)),)) for i, name in enumerate(ODD)]
    edges = tuple(Edge(i) for i in range(len(ODD)))
    nodes.append(Node(len(ODD), "operation", "CatBackward0", "cat", (Output(kind),), edges, edges))
    return Graph(tuple(nodes), (Root("</title><b>", len(ODD)),))


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


def test_the_data_tell_every_box_and_arrow(traces: dict[str, Trace]) -> None:
    page = render(traces["higher_order"].steps[0], "double-backward", "html", title="a.py").decode()
    data = data_of(page)
    assert all(f'id="{key}"' in page for key in data["boxes"])
    assert len(data["arrows"]) == page.count('class="arrow"')
    assert {key for ends in data["arrows"] for key in ends} <= data["boxes"].keys()
    assert data["when"].keys() == data["boxes"].keys()
    assert all(other in data["boxes"] for links in data["links"].values() for other in links)
    assert "<title>a.py · double-backward</title>" in page


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_text(name: str) -> None:
    page = render(odd_graph(), "forward", "html", title=name).decode()
    assert page.count("<script") == 2
    assert "<img" not in page
    shown = {box["title"] for box in data_of(page)["boxes"].values()}
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
    data = data_of(render(trace.steps[-1], "forward", "html").decode())
    assert [(data["phases"][phase], title) for phase, title, _, _ in data["steps"]] == [
        ("forward", "mm"), ("forward", "squeeze_"), ("forward", "add"), ("forward", "binary_cross_entropy_with_logits"),
        ("backward", "binary_cross_entropy_with_logits"), ("backward", "add"), ("backward", "b"),
        ("backward", "squeeze_"), ("backward", "mm"), ("backward", "w"),
    ]  # fmt: skip
    still = [data["arrows"][number] for number in data["still"]]
    titles = {tuple(data["boxes"][end]["title"] for end in ends) for ends in still}
    assert titles == {("x", "mm"), ("target", "binary_cross_entropy_with_logits")}


def test_derivatives_are_made_while_their_pass_runs(capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "tests/programs/14_cube_function.py")))[1].steps[-1]
    data = data_of(render(step, "double-backward", "html").decode())
    assert [f"{data['phases'][phase]}: {title}" for phase, title, _, _ in data["steps"]] == [
        "forward: CubeBackward", "forward: SumBackward0",
        "grad 1: SumBackward0", "grad 1: CubeBackward", "grad 1 makes: CubeBackwardBackward", "grad 1: x",
        "grad 2: CubeBackwardBackward", "grad 2: x",
    ]  # fmt: skip


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> Iterator[Any]:
    """The page of a double-backward graph; at the end, nothing may have been said on its console."""
    file = tmp_path / "graph.html"
    file.write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html", title="a.py"))
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(file.as_uri())
    opened.keyboard.press("0")
    yield opened
    assert said == []


def test_search_finds_and_shows(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("tanhbackward")
    page.keyboard.press("Enter")
    assert page.text_content("#hits").startswith("1/")
    assert "Tanh" in page.text_content("#name")
    page.keyboard.press("Escape")
    assert page.locator(".found").count() == 0


def test_a_click_lights_what_hangs_together(page: Any) -> None:
    page.click('[aria-label="TanhBackwardBackward0"]')
    assert page.locator(".chosen").count() == 1
    assert 0 < page.locator(".box.lit").count() < page.locator(".box").count()
    assert page.locator(".linked").count() == 1
    assert "linked in other orders" in page.text_content("#hangs")
    page.keyboard.press("Escape")
    assert page.locator(".lit").count() == 0


def test_the_slider_shows_what_has_run(page: Any) -> None:
    page.locator("#slider").fill("3")
    assert page.text_content("#step").startswith("3/")
    assert page.locator(".now").count() >= 1
    assert page.locator(".later").count() > 10
    page.locator("#slider").fill("0")
    assert page.locator(".later").count() == 0


def test_wheel_drag_and_keys_move_the_picture(page: Any) -> None:
    def box() -> list[float]:
        return [float(number) for number in page.get_attribute("svg", "viewBox").split()]

    whole = box()
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"document.querySelector('svg').viewBox.baseVal.width < {whole[2]}")
    closer = box()
    page.mouse.down()
    page.mouse.move(300, 350)
    page.mouse.up()
    assert box()[0] > closer[0] and box()[2] == closer[2]
    page.keyboard.press("0")
    assert box() == pytest.approx(whole)


def test_a_hostile_name_stays_text_in_a_browser(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "odd.html").write_bytes(render(odd_graph(), "forward", "html", title=ODD[0]))
    opened = browser.new_page()
    said: list[str] = []
    opened.on("dialog", lambda dialog: said.append(dialog.message))
    opened.on("console", lambda message: said.append(message.text))
    opened.goto((tmp_path / "odd.html").as_uri())
    opened.click("text=onerror")
    assert opened.text_content("#name") == ODD[1]
    assert said == []
