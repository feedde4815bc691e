"""The page: one file, its own script and style alone, every name as text; and in a real browser, that it works."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

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


def view_of(page: str, key: str = "") -> dict[str, Any]:
    """What the page knows of one view, by default the one that is seen at first."""
    data = data_of(page)
    (found,) = (view for view in data["views"] if view["key"] == (key or data["first"]))
    return {**data, **found}


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
    data = view_of(render(layers(20), "forward", "html", max_nodes=30).decode())
    assert sum(key.startswith("n") for key in data["boxes"]) == 62
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


def test_the_data_tell_every_box_and_arrow(traces: dict[str, Trace]) -> None:
    page = render(traces["higher_order"].steps[0], "double-backward", "html", title="a.py").decode()
    data = view_of(page)
    assert all(f'id="{key}"' in page for key in data["boxes"])
    drawn = sum(len(view["arrows"]) for view in data["views"])
    assert drawn == page.count('class="arrow"')
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
    data = view_of(render(trace.steps[-1], "forward", "html").decode())
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
    page.click('[aria-label="tanh_backward"]')
    assert page.locator(".box.chosen").count() == 1
    assert 0 < page.locator(".box.lit").count() < page.locator(".box").count()
    assert page.locator(".box.linked").count() == 1
    assert "linked in other orders" in page.text_content("#hangs")
    page.keyboard.press("Escape")
    assert page.locator(".box.lit").count() == 0


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
        key for key, frame in view_of(opened.content())["frames"].items() if frame["title"].startswith("blocks.1")
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
    assert opened.locator(".box.chosen:visible").count() == 1 and "above" in opened.text_content("#hangs")
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
    assert not opened.locator("#inside").is_visible() and opened.locator(".box.chosen").count() == 1


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


# ---------------------------------------------------------------- all views on one page


@pytest.fixture(scope="module")
def measured_step() -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return record(Target.of(str(ROOT / "samples/penalty.py")), record={"values", "time", "formula"})[1].steps[-1]


@pytest.fixture
def opened(browser: Any, measured_step: Any, tmp_path: Path) -> Iterator[Any]:
    """A page with values, times and the script; at the end, nothing may have been said on its console."""
    script = {"penalty.py": (ROOT / "samples/penalty.py").read_text()}
    (tmp_path / "all.html").write_bytes(render(measured_step, "forward", "html", title="penalty.py", sources=script))
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = context.new_page()
    said: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto((tmp_path / "all.html").as_uri())
    yield shown
    assert said == []
    context.close()


def test_a_page_has_a_tab_for_each_view_and_the_choice_stays(opened: Any) -> None:
    tabs = opened.get_by_role("tab")
    assert tabs.all_text_contents() == ["Forward", "Backward", "All orders", "Step by step"]
    opened.click('[aria-label="sin"]')
    opened.get_by_role("tab", name="Backward").click()
    assert opened.locator(".box.chosen").get_attribute("aria-label") == "SinBackward0"
    opened.keyboard.press("3")
    assert opened.locator(".box.chosen").get_attribute("aria-label") == "SinBackward0"
    linked = opened.locator(".box.linked")
    assert sorted(linked.nth(i).get_attribute("aria-label") for i in range(linked.count())) == [
        "cos",
        "mul",
    ]
    opened.keyboard.press("4")
    assert opened.locator("#table tr.chosen").count() == 3, "it was made, and two passes ran it"
    assert opened.locator("#table tr.linked").count() >= 2
    opened.keyboard.press("Escape")
    assert opened.locator(".chosen").count() == 0


def test_each_order_of_a_higher_derivative_has_a_tab(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> None:
    (tmp_path / "high.html").write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html"))
    shown = browser.new_page()
    shown.goto((tmp_path / "high.html").as_uri())
    names = shown.get_by_role("tab").all_text_contents()
    assert names[:2] == ["Forward", "Backward"] and names[-2:] == ["All orders", "Step by step"]
    assert names[2:-2] == [f"Order {order}" for order in range(1, len(names) - 3)] and len(names) > 4
    shown.get_by_role("tab", name="Order 1").click()
    assert "order 2" not in shown.locator("#picture").text_content()


def test_lines_are_marked_as_nodes_are(opened: Any) -> None:
    assert opened.locator("#source li").count() == len((ROOT / "samples/penalty.py").read_text().splitlines())
    opened.click('[aria-label="sin"]')
    assert "torch.sin" in opened.locator("#source .chosen").text_content()
    opened.click('#source button:has-text("loss = score")')
    assert (
        opened.locator("#source .chosen").count() == 1
        and "loss = score" in opened.locator("#source .chosen").text_content()
    )
    lit = opened.locator(".box.chosen")
    assert sorted(lit.nth(i).get_attribute("aria-label") for i in range(lit.count())) == ["add", "mul × 10"]


def test_a_script_that_was_changed_since_is_not_shown(measured_step: Any) -> None:
    page = render(measured_step, "forward", "html", sources={"penalty.py": "print('elsewhere')\n" * 30}).decode()
    assert "elsewhere" not in page and "penalty = (slope.norm() - 1) ** 2" in page


def test_results_and_leaves_lead_to_their_nodes(opened: Any) -> None:
    opened.click('#names button:has-text("penalty")')
    assert opened.text_content("#name").startswith("pow")
    assert opened.locator("#names .chosen").count() == 1
    assert opened.locator(".box.chosen").count() == 1


def test_the_tree_of_modules_chooses_what_ran_in_them(browser: Any, tmp_path: Path) -> None:
    shown = modules_page(browser, tmp_path, said := [])
    shown.click('#tree button:has-text("blocks.1: Block")')
    assert shown.locator(".box.chosen").count() == 2
    assert said == []


def test_details_have_numbers_formulas_and_times(opened: Any) -> None:
    opened.click('[aria-label="sin"]')
    told = opened.text_content("#text")
    assert "self: grad * self.cos()" in told and "penalty.py:8" in told and "saved _saved_self" in told
    assert re.search(r"[\d.]+ .s", told)
    opened.click("#kin button >> nth=0")
    assert "one order higher" not in opened.text_content("#text") and "made by the backward of" in opened.text_content(
        "#text"
    )


@pytest.mark.parametrize(
    "words, first, many",
    [
        ("w", "w", None),
        ("op:sin", "sin", 1),
        ("line:11", "mul × 10", None),
        ("line:11 op:add", "loss", 1),
        ("shape:[3] op:mul", "mul", None),
        ("nothing like this", None, 0),
    ],
)
def test_search_ranks_names_and_narrows(opened: Any, words: str, first: str | None, many: int | None) -> None:
    opened.fill("#search", words)
    if first is not None:
        assert opened.locator("#found li").first.text_content().startswith(first)
    if many is not None:
        assert opened.locator("#found li").count() == many and opened.text_content("#hits") == str(many)


def test_search_by_module(browser: Any, tmp_path: Path) -> None:
    shown = modules_page(browser, tmp_path, said := [])
    shown.fill("#search", "module:blocks.1")
    assert shown.locator("#found li").count() == 3
    shown.keyboard.press("ArrowDown")
    assert shown.locator('#found [aria-selected="true"]').count() == 1
    assert said == []


def test_links_name_a_view_and_a_node(opened: Any) -> None:
    opened.click('[aria-label="sin"]')
    opened.keyboard.press("2")
    link = opened.evaluate("location.hash")
    assert re.fullmatch(r"#view=backward&node=\d+", link)
    opened.evaluate("location.hash = '#view=forward'")
    opened.locator(".box.chosen").wait_for(state="detached")
    opened.evaluate(f"location.hash = {link!r}")
    opened.locator(".box.chosen").wait_for()
    assert opened.get_by_role("tab", selected=True).text_content() == "Backward"
    file = opened.url.partition("#")[0]
    opened.goto("about:blank")
    opened.goto(f"{file}#view=nowhere&node=999999")
    assert opened.get_by_role("tab", selected=True).text_content() == "Forward"


def test_the_picture_is_copied_as_svg_and_png(opened: Any) -> None:
    opened.click("#svg")
    opened.locator("#said", has_text="Copied as SVG").wait_for()
    svg = opened.evaluate("navigator.clipboard.readText()")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg" and "tabindex" not in svg
    opened.click("#png")
    opened.locator("#said", has_text="Copied as PNG").wait_for()
    size = opened.evaluate(
        "navigator.clipboard.read().then(([item]) => item.getType('image/png')).then((blob) => blob.size)"
    )
    assert size > 1000


def test_where_the_clipboard_is_refused_the_picture_is_a_file(opened: Any) -> None:
    opened.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    with opened.expect_download() as waiting:
        opened.click("#svg")
    assert waiting.value.suggested_filename == "penalty.py.forward.svg"


def test_colours_say_what_was_recorded_and_no_more(opened: Any, browser: Any, tmp_path: Path) -> None:
    choices = opened.locator("#colour option").all_text_contents()
    assert choices == ["kind", "order", "bytes made", "bytes kept", "time", "largest gradient"]
    fill = "getComputedStyle(document.querySelector('[aria-label=\"sin\"]').firstElementChild).fill"
    plain = opened.evaluate(fill)
    opened.select_option("#colour", "time")
    assert opened.evaluate(fill) != plain and "µs" in opened.text_content("#scale")
    opened.keyboard.press("2")
    opened.select_option("#colour", "")
    assert not opened.locator("#scale").is_visible()
    shown = modules_page(browser, tmp_path, [])
    assert shown.locator("#colour option").all_text_contents() == ["kind", "module"]


def test_the_steps_are_played_with_their_numbers(opened: Any) -> None:
    for _ in range(3):
        opened.click("#on1")
    assert re.fullmatch(r"3/\d+ forward: sum = -?[\d.]+", opened.text_content("#step"))
    assert "torch.sin" in opened.locator("#source .now").text_content()
    opened.click("#play")
    opened.locator("#step", has_text="5/").wait_for()
    opened.click("#play")


def test_the_table_of_steps_has_numbers_and_lines(opened: Any) -> None:
    opened.keyboard.press("4")
    first = opened.locator("tbody tr").first.text_content()
    assert "forward" in first and "mul" in first and "8" in first
    assert opened.locator("tbody .runs").count() > 5


def test_a_click_on_the_map_moves_there(opened: Any) -> None:
    before = opened.evaluate("document.querySelector('#picture svg').style.transform")
    opened.locator("#map").click(position={"x": 5, "y": 5})
    assert opened.evaluate("document.querySelector('#picture svg').style.transform") != before


def test_print_shows_the_picture_and_what_is_told(opened: Any) -> None:
    opened.emulate_media(media="print")
    assert not opened.locator("#search").is_visible() and not opened.locator("nav").is_visible()
    assert opened.locator("#picture svg").is_visible() and opened.locator("h1").is_visible()
    picture = opened.locator("#picture svg").bounding_box()
    assert picture["x"] >= 0 and picture["width"] <= 1300
    assert opened.pdf()[:4] == b"%PDF"


def test_what_the_page_does_can_be_done_with_keys(opened: Any) -> None:
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.getAttribute('role')") == "tab"
    opened.keyboard.press("ArrowRight")
    assert opened.get_by_role("tab", selected=True).text_content() == "Backward"
    opened.locator(".box").first.focus()
    opened.keyboard.press("Enter")
    assert opened.locator(".box.chosen").count() == 1
    opened.keyboard.press("\\")
    assert not opened.locator("nav").is_visible()


CONTRAST = """() => {
  const found = [];
  const channel = (c) => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  for (const element of document.querySelectorAll('header *, nav *, aside *, footer *, #table *')) {
    if (!element.checkVisibility() || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    let at = element, ground = [255, 255, 255];
    for (; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor);
      if (a > 0.9) { ground = [r, g, b]; break; }
    }
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(element.outerHTML.slice(0, 90));
  }
  return found;
}"""
UNNAMED = """() => [...document.querySelectorAll('button, input, select, [role=button], [role=tab], [role=option], canvas, dialog, nav, aside')]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.getAttribute('aria-label') || element.textContent.trim() || (element.labels && element.labels.length)))
  .map((element) => element.outerHTML.slice(0, 90))"""
BROKEN = """() => {
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  const lost = [...document.querySelectorAll('[aria-controls], [aria-labelledby]')]
    .flatMap((element) => [element.getAttribute('aria-controls'), element.getAttribute('aria-labelledby')])
    .filter((id) => id && !document.getElementById(id));
  const untold = [...document.querySelectorAll('header button, footer button, header input')].filter((button) => !button.title).map((button) => button.id);
  return [...twice, ...lost, ...untold];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_a_role_and_contrast(opened: Any, scheme: str) -> None:
    opened.emulate_media(color_scheme=scheme)
    for key in ("1", "4"):
        opened.keyboard.press(key)
        assert opened.evaluate(UNNAMED) == []
        assert opened.evaluate(BROKEN) == []
        assert opened.evaluate(CONTRAST) == []
    opened.keyboard.press("1")
    opened.click('[aria-label="sin"]')
    assert opened.evaluate(CONTRAST) == []
    assert opened.evaluate("document.documentElement.lang") == "en" and opened.locator("main, h1").count() == 2
