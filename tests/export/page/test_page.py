"""The page of one view in a real browser: what it shows, and how it is moved, closed and opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.page import html
from autograph_cli.graph import Trace
from autograph_cli.record.run.runner import Target, record
from tests.export.nets import Net
from tests.export.pages import ODD, ROOT, await_count, await_text, await_true, go_to, modules_page, odd_graph, view_of


@pytest.fixture(params=[html.PLAIN, 0], ids=["plain", "packed"])
def page(
    browser: Any, traces: dict[str, Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Iterator[Any]:
    """The page of a double-backward graph; at the end, nothing may have been said on its console."""
    monkeypatch.setattr(html, "PLAIN", request.param)
    file = tmp_path / "graph.html"
    file.write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html", title="a.py"))
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    go_to(opened, file.as_uri())
    opened.keyboard.press("0")
    yield opened
    assert said == []


def test_search_finds_and_shows(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("tanhbackward")
    page.keyboard.press("Enter")
    await_text(page.locator("#hits"), "^1/")
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
        """Return how far the picture is moved, and how large it is."""
        at = "new DOMMatrix(document.querySelector('svg').style.transform)"
        return [page.evaluate(f"{at}.{key}") for key in "efa"]

    whole = eye()
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -400)
    await_true(
        page,
        f"document.querySelector('svg').getBoundingClientRect().width > 1.5 * {whole[2]} * document.querySelector('svg').viewBox.baseVal.width",
    )
    closer = eye()
    page.mouse.down()
    page.mouse.move(300, 350)
    page.mouse.up()
    assert eye() == pytest.approx([closer[0] - 100, closer[1] - 50, closer[2]], abs=0.1)
    page.keyboard.press("ArrowRight")
    assert eye() == pytest.approx([closer[0] - 160, closer[1] - 50, closer[2]], abs=0.1)
    page.keyboard.press("0")
    assert eye()[2] >= 1, "at first sight it can be read"
    page.keyboard.press("0")
    assert eye() == pytest.approx(whole), "and then all of it is seen"


def test_modules_close_and_open(browser: Any, tmp_path: Path) -> None:
    opened = modules_page(browser, tmp_path, said := [])

    def seen() -> int:
        return opened.locator(".box:visible").count()

    whole, height = seen(), opened.locator("#picture svg").bounding_box()["height"]
    block = next(
        key for key, frame in view_of(opened.content())["frames"].items() if frame["title"].startswith("blocks.1")
    )
    opened.click(f"#{block} .sign")
    assert seen() < whole
    assert opened.locator("#picture svg").bounding_box()["height"] < height
    assert "3 parameters" in opened.text_content(f"#shut_{block}")
    inside, arrows = opened.locator(f"#shut_{block}").bounding_box(), opened.locator(".arrow:visible polygon")
    heads = [arrows.nth(number).bounding_box() for number in range(arrows.count())]
    assert any(abs(head["y"] + head["height"] - inside["y"]) < 3 for head in heads), (
        "an arrow ends at the closed module"
    )
    opened.click(f"#shut_{block}")
    assert opened.locator(".box.chosen:visible").count() == 1 and "above" in opened.text_content("#hangs")
    assert "leaf: " in opened.text_content("#text") or "leaves: " in opened.text_content("#text")
    opened.click("#toggle")
    assert seen() == whole
    assert opened.locator("#picture svg").bounding_box()["height"] == pytest.approx(height, abs=0.5)
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
    await_count(opened.locator(".shut.found:visible"), 1)
    opened.press("#search", "Enter")
    await_count(opened.locator(".box.found:visible"), 1)
    assert opened.locator(".shut:visible").count() == 2
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
    (tmp_path / "flow.html").write_bytes(render(step, "forward", "html", level="aten"))
    opened = browser.new_page()
    go_to(opened, (tmp_path / "flow.html").as_uri())
    opened.locator("#slider").fill("1")
    assert opened.locator(".flow:not(.against)").count() == 1 and opened.locator(".gradient").count() == 0
    for _ in range(9):
        opened.evaluate("document.activeElement.blur()")
        opened.keyboard.press(".")
    assert opened.text_content("#step") == "10/11 backward: ∂loss/∂mm"
    assert opened.locator(".gradient.against").count() == 1, "the input needs no gradient"
    assert opened.locator(".ran").count() == 5 + 2  # with the two results, z and loss


def test_what_a_backward_ran_is_shown(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = record(Target.of(str(ROOT / "samples/first.py")), record={"inside"})[1].steps[-1]
    (tmp_path / "inside.html").write_bytes(render(step, "backward", "html"))
    opened = browser.new_page()
    go_to(opened, (tmp_path / "inside.html").as_uri())
    opened.click('[aria-label="PowBackward0"]')
    opened.click("#look")
    assert "inside PowBackward0" in opened.text_content("#inside") and opened.locator("#inside .operation").count() > 1
    assert opened.locator("#inside [id]:not(#back):not(#ran)").count() == 0
    opened.keyboard.press("Escape")
    assert not opened.locator("#inside").is_visible() and opened.locator(".box.chosen").count() == 1


def test_a_phone_shows_text_that_can_be_read(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> None:
    (tmp_path / "small.html").write_bytes(render(traces["higher_order"].steps[0], "double-backward", "html"))
    opened = browser.new_page(viewport={"width": 390, "height": 844})
    go_to(opened, (tmp_path / "small.html").as_uri())
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
    go_to(opened, (tmp_path / "odd.html").as_uri())
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
    go_to(opened, (tmp_path / "odd.html").as_uri())
    assert "<img src=x" in opened.locator(".shut:visible").text_content()
    opened.locator(".shut:visible").press("Enter")
    await_count(opened.locator(".shut:visible"), 0)
    assert opened.locator("img").count() == 0
    assert said == []
