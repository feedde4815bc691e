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
from autograph_cli.graph import Edge, Graph, Node, Output, Root, Slice, TensorType, Trace, backward, reachable
from autograph_cli.record.runner import Target, record
from tests.export.nets import Net, layers

ROOT = Path(__file__).parents[2]
ODD = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"&quot;'",
    "权重",
    "\u2028",
    "${x}",
    "{title}",
)


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


def test_the_same_graph_gives_the_same_bytes() -> None:
    assert render(layers(4), "forward", "html", depth=1) == render(layers(4), "forward", "html", depth=1)


def test_what_is_more_than_asked_for_is_closed_at_first_and_there_to_open() -> None:
    data = data_of(render(layers(20), "forward", "html", max_nodes=30).decode())
    assert sum(key.startswith("n") for key in data["boxes"]) == 62
    assert (
        sorted(data["frames"][key]["title"].split(": ")[1] for key in data["closed"])
        == ["Block"] * 20 + ["Linear"] * 20
    )
    assert not data_of(render(layers(20), "forward", "html", max_nodes=None).decode())["closed"]
    folded = data_of(render(layers(20), "forward", "html", max_nodes=10).decode())
    assert len(folded["boxes"]) <= 10, "where closing is not enough, it is folded as other pictures are"


def test_a_slice_knows_its_moments(capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "tests/programs/02_logits_loss.py")))[1].steps[-1]
    data = data_of(render(step, "backward", "html", part=Slice(around=("mm",), radius=1)).decode())
    assert [title for _, title, runs, _ in data["steps"] if runs] == ["SqueezeBackward4", "MmBackward0", "w"]


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
    data = data_of(render(step, "double-backward", "html").decode())
    assert [f"{data['phases'][phase]}: {title}" for phase, title, _, _ in data["steps"]] == [
        "forward: CubeBackward",
        "forward: SumBackward0",
        "grad 1: SumBackward0",
        "grad 1: CubeBackward",
        "grad 1 makes: CubeBackwardBackward",
        "grad 1: x",
        "grad 2: CubeBackwardBackward",
        "grad 2: x",
    ]


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
    def eye() -> list[float]:
        """How far the picture is moved, and how large it is."""
        return [
            float(number)
            for number in re.findall(r"-?[\d.]+", page.evaluate("document.querySelector('svg').style.transform"))
        ]

    whole = eye()
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        f"document.querySelector('svg').getBoundingClientRect().width > 1.5 * {whole[2]} * document.querySelector('svg').viewBox.baseVal.width"
    )
    closer = eye()
    page.mouse.down()
    page.mouse.move(300, 350)
    page.mouse.up()
    assert eye() == pytest.approx([closer[0] - 100, closer[1] - 50, closer[2]], abs=0.1)
    page.keyboard.press("ArrowRight")
    assert eye() == pytest.approx([closer[0] - 160, closer[1] - 50, closer[2]], abs=0.1)
    page.keyboard.press("0")
    assert eye() == pytest.approx(whole)


def modules_page(browser: Any, folder: Path, said: list[str], **options: Any) -> Any:
    (folder / "layers.html").write_bytes(render(layers(3), "forward", "html", title="layers", **options))
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto((folder / "layers.html").as_uri())
    return opened


def test_modules_close_and_open(browser: Any, tmp_path: Path) -> None:
    opened = modules_page(browser, tmp_path, said := [])

    def seen() -> int:
        return opened.locator(".box:visible").count()

    whole, height = seen(), opened.locator("svg").bounding_box()["height"]
    block = next(
        key for key, frame in data_of(opened.content())["frames"].items() if frame["title"].startswith("blocks.1")
    )
    opened.click(f"#{block} .sign")
    assert seen() == whole - 2
    assert opened.locator("svg").bounding_box()["height"] < height
    assert "3 parameters" in opened.text_content(f"#shut_{block}")
    inside, arrows = opened.locator(f"#shut_{block}").bounding_box(), opened.locator(".arrow:visible polygon")
    heads = [arrows.nth(number).bounding_box() for number in range(arrows.count())]
    assert any(abs(head["y"] + head["height"] - inside["y"]) < 3 for head in heads), (
        "an arrow ends at the closed module"
    )
    opened.click(f"#shut_{block}")
    assert opened.locator(".chosen").count() == 1 and "above" in opened.text_content("#hangs")
    opened.click("#toggle")
    assert seen() == whole
    assert opened.locator("svg").bounding_box()["height"] == pytest.approx(height, abs=0.5)
    assert said == []


def test_keys_close_and_open_modules_and_search_opens_them(browser: Any, tmp_path: Path) -> None:
    opened = modules_page(browser, tmp_path, said := [], depth=0)
    assert opened.locator(".shut:visible").count() == 1
    opened.keyboard.press("]")
    assert opened.locator(".shut:visible").count() == 3
    opened.keyboard.press("[")
    assert opened.locator(".shut:visible").count() == 1
    opened.locator(".shut:visible").focus()
    opened.keyboard.press("Enter")
    assert opened.locator(".shut:visible").count() == 3
    opened.fill("#search", "blocks.2.fc.weight")
    assert opened.locator(".shut.found:visible").count() == 1
    opened.press("#search", "Enter")
    assert opened.locator(".box.found:visible").count() == 1 and opened.locator(".shut:visible").count() == 2
    assert said == []


def test_a_module_closed_is_lit_by_the_slider(browser: Any, tmp_path: Path) -> None:
    opened = modules_page(browser, tmp_path, said := [], depth=1)
    opened.locator("#slider").fill("1")
    assert opened.locator(".shut.now:visible").count() == 1 and opened.locator(".shut.later:visible").count() == 2
    assert said == []


def test_gradients_flow_back_along_the_arrows_of_the_data(
    browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = record(Target.of(str(ROOT / "tests/programs/02_logits_loss.py")))[1].steps[-1]
    (tmp_path / "flow.html").write_bytes(render(step, "forward", "html"))
    opened = browser.new_page()
    opened.goto((tmp_path / "flow.html").as_uri())
    opened.locator("#slider").fill("1")
    assert opened.locator(".flow:not(.against)").count() == 1 and opened.locator(".gradient").count() == 0
    for _ in range(9):
        opened.evaluate("document.activeElement.blur()")
        opened.keyboard.press(".")
    assert opened.text_content("#step") == "10/11 backward: mm"
    assert opened.locator(".gradient.against").count() == 1, "the input needs no gradient"
    assert opened.locator(".ran").count() == 5 + 2  # with the two results, z and loss


def test_what_a_backward_ran_is_shown(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "samples/first.py")), record={"inside"})[1].steps[-1]
    (tmp_path / "inside.html").write_bytes(render(step, "backward", "html"))
    opened = browser.new_page()
    opened.goto((tmp_path / "inside.html").as_uri())
    opened.click('[aria-label="PowBackward0"]')
    opened.click("#look")
    assert "inside PowBackward0" in opened.text_content("#inside") and opened.locator("#inside .operation").count() > 1
    assert opened.locator("#inside [id]:not(#back):not(#ran)").count() == 0
    opened.keyboard.press("Escape")
    assert not opened.locator("#inside").is_visible() and opened.locator(".chosen").count() == 1


def test_a_phone_shows_text_that_can_be_read(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> None:
    (tmp_path / "small.html").write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html"))
    opened = browser.new_page(viewport={"width": 390, "height": 844})
    opened.goto((tmp_path / "small.html").as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.locator("#picture").bounding_box()["height"] > 400
    assert (
        opened.evaluate(
            "document.querySelector('svg').getBoundingClientRect().width / document.querySelector('svg').viewBox.baseVal.width"
        )
        > 0.49
    )


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


def test_a_hostile_module_stays_text_when_it_is_closed(browser: Any, tmp_path: Path) -> None:
    net = Net()
    call = net.call(ODD[1], ODD[0], parameters=3)
    graph = net.graph(net.op("mul", net.leaf("x"), net.leaf(f"{ODD[1]}.weight", ODD[1]), call=call))
    (tmp_path / "odd.html").write_bytes(render(graph, "forward", "html", depth=0))
    opened = browser.new_page()
    said: list[str] = []
    for event in ("dialog", "console", "pageerror"):
        opened.on(event, lambda what: said.append(str(what)))
    opened.goto((tmp_path / "odd.html").as_uri())
    assert "<img src=x" in opened.locator(".shut:visible").text_content()
    opened.locator(".shut:visible").dblclick()
    assert opened.locator(".shut:visible").count() == 0 and opened.locator("img").count() == 0
    assert said == []
