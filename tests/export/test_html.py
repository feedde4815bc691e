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
from autograph_cli.export.html import execution_order
from autograph_cli.graph import Edge, Graph, Measured, Node, Output, Root, TensorType, Trace, backward, reachable
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
def test_the_slider_runs_as_the_backward_pass_did(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, trace = record(Target.of(str(ROOT / script)))
    graph = trace.steps[-1].graph
    entry = graph.passes[0]
    names = [root.name for root in graph.roots if root.node == entry.roots[0].node]
    numbers = reachable(graph, names)
    assert [numbers[number] for number in execution_order(backward(graph, names), "backward")] == list(entry.ran)


def test_a_forward_graph_runs_in_order_of_creation(traces: dict[str, Trace]) -> None:
    steps = data_of(render(traces["logits_loss"].steps[0], "forward", "html").decode())["steps"]
    assert [step for step in steps if step in ("mm", "add", "binary_cross_entropy_with_logits")] == [
        "mm", "add", "binary_cross_entropy_with_logits",
    ]  # fmt: skip


# ---------------------------------------------------------------- in a browser


@pytest.fixture
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


def test_what_ran_inside_of_a_node_is_told_beside_it() -> None:
    one = TensorType("float32", (3,))
    given = Node(0, "input", "Input", "", (Output(one, ("grad",)),))
    inner = Graph((given, Node(1, "operation", "neg", "neg", (Output(one),), args=(Edge(0),))), (Root("grad_self", 1),))
    leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(one, ("x",)),))
    neg = Node(1, "operation", "NegBackward0", "neg", (Output(one),), (Edge(0),), measured=Measured(inside=inner))
    page = render(Graph((leaf, neg), (Root("y", 1),)), "backward", "html").decode()
    assert data_of(page)["boxes"]["n1"]["text"].endswith(
        "inside of its backward\n  input grad: float32[3]\n  %1: float32[3] = neg(grad)\nroots\n  grad_self = %1"
    )
