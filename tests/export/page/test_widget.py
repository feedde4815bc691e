"""The widget of a notebook's cell in a browser: its frame shows the page that the model has, and the next one at the same place."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import Any

from autograph_cli.export import render
from tests.export.nets import layers
from tests.export.pages import await_true

MODEL = """async (code) => {
  const { default: widget } = await import("data:text/javascript;base64," + code), heard = {}, has = { page: "", said: "" };
  addEventListener("message", ({ data }) => { window.place = data.place; });
  window.set = (name, value) => { has[name] = value; heard["change:" + name](); };
  widget.render({ model: { get: (name) => has[name], on: (event, act) => { heard[event] = act; } }, el: document.body });
}"""


def test_the_next_page_opens_at_the_place_that_was_seen(browser: Any) -> None:
    page, said = browser.new_page(viewport={"width": 1300, "height": 700}), []
    page.on("pageerror", lambda error: said.append(str(error)))
    code = files("autograph_cli.export.page").joinpath("widget.js").read_bytes()
    page.evaluate(MODEL, base64.b64encode(code).decode())
    page.evaluate("([page, said]) => { set('page', page); set('said', said); }", [_page("step 1"), "1 step"])
    frame = page.frame_locator("iframe")
    frame.get_by_role("tab", name="Backward").click()
    frame.locator("#picture .box:visible").nth(2).click()
    frame.locator(".box.chosen").first.wait_for()
    chosen = frame.locator("#name").text_content()
    await_true(page, "(window.place || '').includes('node=')")
    page.evaluate("([page, said]) => { set('page', page); set('said', said); }", [_page("step 2"), "2 steps"])
    frame.locator("h1", has_text="step 2").wait_for()
    frame.locator(".box.chosen").first.wait_for()
    assert frame.get_by_role("tab", selected=True).text_content() == "Backward"
    assert frame.locator("#name").text_content() == chosen
    assert page.locator("p[role=status]").text_content() == "2 steps" and said == []


def _page(title: str) -> str:
    return render(layers(2), "forward", "html", title=title).decode()
