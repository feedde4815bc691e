"""All views on one page, in a real browser: tabs, panes, search, links, colours, steps, copies, print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType, Trace
from autograph_cli.record.run.runner import Target, record
from tests.export.pages import (
    ROOT,
    await_count,
    await_link,
    await_rest,
    await_text,
    await_true,
    go_to,
    modules_page,
    only_in_chromium,
    view_of,
)


def test_a_page_has_a_tab_for_each_view_and_the_choice_stays(opened: Any) -> None:
    tabs = opened.get_by_role("tab")
    assert tabs.all_text_contents() == ["Forward", "Backward", "Order 1", "All orders", "Step by step"]
    opened.click('[aria-label="sin"]')
    opened.get_by_role("tab", name="Backward").click()
    assert opened.locator(".box.chosen").get_attribute("aria-label") == "SinBackward0"
    opened.keyboard.press("8")
    assert opened.locator(".box.chosen").get_attribute("aria-label") == "SinBackward0"
    linked = opened.locator(".box.linked")
    assert sorted(linked.nth(i).get_attribute("aria-label") for i in range(linked.count())) == [
        "cos",
        "mul",
    ]
    opened.keyboard.press("9")
    assert opened.locator("#table tr.chosen").count() == 3, "it was made, and two passes ran it"
    assert opened.locator("#table tr.linked").count() >= 2
    opened.keyboard.press("Escape")
    assert opened.locator(".chosen").count() == 0


def test_derivatives_are_shown_as_gradient_graph_or_as_data_flow(opened: Any) -> None:
    assert not opened.locator("#flow").is_visible()
    opened.keyboard.press("8")
    assert opened.locator('.box[aria-label="CosBackward0"], .box[aria-label="cos"]').count() == 1
    assert opened.locator('.box[aria-label="gradient of sin"]').count() == 0
    before = view_of(opened.content(), "double-backward")["arrows"]
    opened.select_option("#flow", ".data")
    assert opened.get_by_role("tab", selected=True).text_content() == "All orders"
    assert opened.locator("#picture svg").get_attribute("aria-label").startswith("All orders")
    after = view_of(opened.content(), "double-backward.data")
    assert after["data"] and len(after["arrows"]) != len(before)
    assert opened.locator('.box[aria-label="1, gradient of sin"]').count() == 1
    await_link(opened, "view=double-backward.data")
    opened.keyboard.press("1")
    opened.keyboard.press("8")
    await_link(opened, "view=double-backward.data")
    opened.keyboard.press(".")
    assert opened.locator(".now").count() > 0
    opened.evaluate("location.hash = '#view=double-backward'")
    await_true(opened, "document.querySelector('#flow').value === ''")


def test_a_page_begins_with_the_flow_that_was_asked_for(measured_step: Any) -> None:
    assert (
        view_of(render(measured_step, "double-backward", "html", flow="data").decode())["key"] == "double-backward.data"
    )


def test_each_order_of_a_higher_derivative_has_a_tab(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> None:
    (tmp_path / "high.html").write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html"))
    shown = browser.new_page()
    go_to(shown, (tmp_path / "high.html").as_uri())
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
    assert sorted(lit.nth(i).get_attribute("aria-label") for i in range(lit.count())) == ["add", "× 10"]


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
    assert shown.locator(".box.chosen:not(.shut)").count() == 2
    assert said == []


def test_details_have_numbers_formulas_and_times(opened: Any) -> None:
    opened.click('[aria-label="sin"]')
    told = opened.text_content("#text")
    names = opened.locator("#text dt").all_text_contents()
    assert names == ["node", "tensor", "line", "formula", "value", "gradient", "saved", "bytes", "time"]
    assert (
        "self: grad * self.cos()" in told
        and "penalty.py:8" in told
        and "self: float32[3], 12 B, in the memory of" in told
    )
    assert re.search(r"[\d.]+ .s", told)
    opened.click("#kin button >> nth=0")
    assert opened.locator("#text dt", has_text="made by").count() == 1
    assert "the backward of" in opened.text_content("#text")


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
        await_text(opened.locator("#found li").first, f"^{first}")
    if many is not None:
        await_text(opened.locator("#hits"), f"^{many}$")
        assert opened.locator("#found li").count() == many


def test_search_by_module(browser: Any, tmp_path: Path) -> None:
    shown = modules_page(browser, tmp_path, said := [])
    shown.fill("#search", "module:blocks.1")
    await_count(shown.locator("#found li"), 3)
    shown.keyboard.press("ArrowDown")
    assert shown.locator('#found [aria-selected="true"]').count() == 1
    assert said == []


def test_links_name_a_view_and_a_node(opened: Any) -> None:
    opened.click('[aria-label="sin"]')
    opened.keyboard.press("2")
    await_link(opened, r"#view=backward&node=\d+$")
    link = opened.evaluate("location.hash")
    opened.evaluate("location.hash = '#view=forward'")
    opened.locator(".box.chosen").wait_for(state="detached")
    opened.evaluate(f"location.hash = {link!r}")
    opened.locator(".box.chosen").wait_for()
    assert opened.get_by_role("tab", selected=True).text_content() == "Backward"
    file = opened.url.partition("#")[0]
    opened.goto("about:blank")
    go_to(opened, f"{file}#view=nowhere&node=999999")
    assert opened.get_by_role("tab", selected=True).text_content() == "Forward"


def test_a_link_that_comes_while_another_is_followed_is_not_written_over(opened: Any) -> None:
    opened.evaluate("dispatchEvent(new Event('hashchange')); location.hash = '#view=backward'")
    opened.locator("[role=tab][aria-selected=true]", has_text="Backward").wait_for()


def test_the_picture_is_copied_as_svg_and_png(opened: Any) -> None:
    only_in_chromium(opened, "what was copied cannot be read")
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
    only_in_chromium(opened, "WebDriver BiDi tells of no download")
    opened.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    with opened.expect_download() as waiting:
        opened.click("#svg")
    assert waiting.value.suggested_filename == "penalty.py.forward.svg"


def test_colours_say_what_was_recorded_and_no_more(opened: Any, browser: Any, tmp_path: Path) -> None:
    choices = opened.locator("#colour option").all_text_contents()
    assert choices == ["colour: kind", "order", "bytes made", "bytes kept", "time", "gradient norm", "value norm"]
    fill = "getComputedStyle(document.querySelector('[aria-label=\"sin\"]').firstElementChild).fill"
    plain = opened.evaluate(fill)
    opened.select_option("#colour", "time")
    assert opened.evaluate(fill) != plain and "µs" in opened.text_content("#scale")
    opened.keyboard.press("2")
    opened.select_option("#colour", "")
    assert not opened.locator("#scale").is_visible()
    shown = modules_page(browser, tmp_path, [])
    assert shown.locator("#colour option").all_text_contents() == ["colour: kind", "module"]


@pytest.mark.parametrize(
    "kind, low, high",
    [
        ("order", "order 0", "order 1"),
        ("bytes made", "4 B", "12 B"),
        ("bytes kept", "4 B", "24 B"),
        ("time", "s", "s"),
        ("gradient norm", "1", "48.7"),
    ],
)
def test_a_colour_has_its_scale_and_is_darker_where_there_is_more(opened: Any, kind: str, low: str, high: str) -> None:
    opened.keyboard.press("8")
    opened.select_option("#colour", kind)
    ends = opened.locator("#scale span").all_text_contents()
    assert opened.text_content("#scale").startswith(kind) and ends[0].endswith(low) and ends[-1].endswith(high)
    fills = opened.evaluate(
        "[...document.querySelectorAll('#picture .box')].map((box) => box.firstElementChild.style.fill)"
    )
    first, last = opened.evaluate("[...document.querySelectorAll('#scale span')].map((s) => s.style.backgroundColor)")
    assert {first, last} <= set(fills) and first != last


def test_a_picture_is_where_it_was_after_the_steps_were_looked_at(opened: Any) -> None:
    place = "document.querySelector('#picture svg').style.transform"
    opened.click("#in")
    before = opened.evaluate(place)
    for view in ("2", "9"):
        opened.keyboard.press(view)
        await_rest(opened)
    shown = opened.locator("#tools button:visible, #tools select:visible")
    assert [shown.nth(n).get_attribute("id") for n in range(shown.count())] == ["dark", "help", "panes"]
    opened.keyboard.press("1")
    await_rest(opened)
    assert opened.evaluate(place) == before


def test_at_usual_widths_the_header_is_one_row_and_no_word_of_the_table_is_broken(opened: Any) -> None:
    opened.set_viewport_size({"width": 1280, "height": 800})
    opened.keyboard.press("8")
    await_rest(opened)
    assert opened.locator("header").bounding_box()["height"] < 50
    opened.keyboard.press("9")
    for cells in ("tbody th", "tbody td:nth-child(4)"):
        heights = opened.evaluate(
            f"[...document.querySelectorAll('{cells}')].filter((cell) => !cell.textContent.includes(' '))"
            ".map((cell) => { const words = new Range(); words.selectNodeContents(cell); return words.getClientRects().length; })"
        )
        assert max(heights) == 1, cells


def test_inputs_are_those_of_the_script(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "samples/recurrence.py")))[1].steps[-1]
    (tmp_path / "loop.html").write_bytes(render(step, "forward", "html", max_nodes=200))
    shown = browser.new_page()
    go_to(shown, (tmp_path / "loop.html").as_uri())
    assert shown.locator("#names b").all_text_contents() == ["loss", "h", "u.grad", "w.grad", "u", "w", "sequence"]


def test_the_source_begins_where_something_is_recorded(browser: Any, measured_step: Any, tmp_path: Path) -> None:
    script = (ROOT / "samples/penalty.py").read_text()
    page = render(measured_step, "forward", "html", sources={"penalty.py": script + "# the end\n" * 40})
    (tmp_path / "long.html").write_bytes(page)
    shown = browser.new_page(viewport={"width": 1280, "height": 300})
    go_to(shown, (tmp_path / "long.html").as_uri())
    pane, line = shown.locator("#source").bounding_box(), shown.locator("#source button").first.bounding_box()
    assert pane["y"] < line["y"] < pane["y"] + pane["height"]


def test_the_backward_pass_is_played_with_its_numbers(opened: Any) -> None:
    opened.keyboard.press("2")
    last = int(opened.get_attribute("#slider", "max"))
    opened.locator("#slider").fill(str(last))
    assert re.fullmatch(
        rf"{last}/{last} backward 2: ∂\w+/∂\w+ = \[−?[\d.]+, −?[\d.]+, −?[\d.]+\]", opened.text_content("#step")
    )
    assert opened.locator(".now.ran").count() >= 1


def test_a_click_on_the_map_moves_there(opened: Any) -> None:
    opened.set_viewport_size({"width": 1000, "height": 400})
    opened.keyboard.press("0")
    opened.locator("#map").wait_for(state="hidden")  # it would cover a part of what is seen whole
    for _ in range(6):
        opened.click("#in")
    opened.locator("#map").click(position={"x": 8, "y": 8})
    eye = "document.querySelector('#picture svg').getBoundingClientRect()"
    assert opened.evaluate(f"{eye}.left > 0 && {eye}.top > 0"), "the upper left corner is in the middle"


def test_the_steps_are_played_with_their_numbers(opened: Any) -> None:
    for _ in range(3):
        opened.click("#on1")
    assert re.fullmatch(r"3/\d+ forward: sum = -?[\d.]+", opened.text_content("#step"))
    assert "torch.sin" in opened.locator("#source .now").text_content()
    opened.click("#play")
    opened.locator("#step", has_text=re.compile(r"^([5-9]|\d\d)/")).wait_for()
    opened.click("#play")


def test_the_table_of_steps_has_numbers_and_lines(opened: Any) -> None:
    opened.keyboard.press("9")
    first = opened.locator("tbody tr").first.text_content()
    assert "forward" in first and "mul" in first and "8" in first
    assert opened.locator("tbody .runs").count() > 5


def test_print_shows_the_picture_and_what_is_told(opened: Any) -> None:
    only_in_chromium(opened, "WebDriver BiDi has no media for print")
    opened.select_option("#colour", "time")
    opened.emulate_media(media="print")
    assert opened.locator("#scale").evaluate("it => getComputedStyle(it).printColorAdjust") == "exact"
    told, picture = (opened.locator(each).bounding_box() for each in ("#scale", "#picture svg"))
    assert told["y"] >= picture["y"] + picture["height"], "the scale stands below the picture, not on its legend"
    assert not opened.locator("#names-pane").is_visible(), "its rows are buttons"
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


def test_a_result_has_its_own_shape_and_the_view_is_in_the_titles(browser: Any, tmp_path: Path) -> None:
    kinds = tuple(Output(TensorType("float32", (rows, 2)), (name,)) for rows, name in ((3, "upper"), (1, "lower")))
    leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (4, 2)), ("x",)),))
    split = Node(1, "operation", "SplitBackward0", "split", kinds, (Edge(0),), (Edge(0),))
    graph = Graph((leaf, split), (Root("upper", 1, 0), Root("lower", 1, 1)))
    (tmp_path / "split.html").write_bytes(render(graph, "forward", "html", title="split.py"))
    shown = browser.new_page()
    go_to(shown, (tmp_path / "split.html").as_uri())
    assert shown.locator("#names button small").all_text_contents()[:2] == ["[3, 2]", "[1, 2]"]
    assert shown.locator("#picture svg text").first.text_content() == "split.py · forward · upper, lower"
    shown.get_by_role("tab", name="Backward").click()
    assert shown.title() == "split.py · Backward"
    assert shown.locator("#picture svg text").first.text_content() == "split.py · backward · upper, lower"
