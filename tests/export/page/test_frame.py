"""The page within a notebook, as its editors show it: in frames of their own, under their policies."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.page.html import in_frame
from tests.export.pages import ROOT, await_true, go_to

POLICIES = {
    "Jupyter": "",
    "VS Code": "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src https:; connect-src https:; child-src https: data:",
    "Colab": "",
}
"""As the outputs of cells have them; a frame without an address is under that of what is around it as well."""

COLOURS = """map => {
  const ink = map.getContext("2d").getImageData(0, 0, map.width, map.height).data, found = new Set();
  for (let at = 0; at < ink.length; at += 4) if (ink[at + 3] === 255) found.add(String([ink[at], ink[at + 1], ink[at + 2]]));
  return found.size;
}"""
"""Of the map's lines: that of what is seen, and those of the boxes."""


@pytest.mark.parametrize("editor", POLICIES)
def test_the_page_runs_in_a_cell(browser: Any, measured_step: Any, tmp_path: Path, editor: str) -> None:
    script = {"penalty.py": (ROOT / "samples/penalty.py").read_text()}
    cell = in_frame(render(measured_step, "forward", "html", title="penalty.py", sources=script).decode())
    if editor == "Colab":
        cell = f'<iframe sandbox="allow-scripts allow-downloads" width="900" height="650" srcdoc="{html.escape(cell)}"></iframe>'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICIES[editor]}">' if POLICIES[editor] else ""
    file = tmp_path / "cell.html"
    file.write_text(f"<!DOCTYPE html><html><head>{policy}</head><body>{cell}</body></html>")
    shown, said = browser.new_page(viewport={"width": 950, "height": 700}), []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto(file.as_uri())
    frame = shown.frame_locator("iframe")
    frame = frame.frame_locator("iframe") if editor == "Colab" else frame
    frame.locator('[aria-label="sin"]').click()
    assert frame.locator("#name").text_content() == "sin"
    frame.get_by_role("tab", name="Backward").click()
    assert frame.locator(".box.chosen").get_attribute("aria-label") == "SinBackward0"
    frame.locator("#on1").click()
    assert frame.locator("#step").text_content().startswith("1/")
    with shown.expect_download() as waiting:
        frame.locator("#svg").click()
    assert waiting.value.suggested_filename == "penalty.py.backward.svg"
    assert [line for line in said if "clipboard" not in line.lower()] == []


def test_a_frame_that_is_shown_later_has_the_picture_in_its_middle(browser: Any, measured_step: Any) -> None:
    cell = in_frame(render(measured_step, "forward", "html", title="penalty.py").decode())
    shown = browser.new_page(viewport={"width": 950, "height": 700})
    shown.set_content(f'<div id="output" style="display: none">{cell}</div>')
    frame = shown.frame_locator("iframe")
    frame.locator("#picture svg").wait_for(state="attached")
    shown.locator("#output").evaluate("output => { output.style.display = 'block'; }")
    await_true(frame.locator("#map"), f"map => ({COLOURS})(map) > 1")
    frame.locator('[aria-label="sin"]').click()
    assert frame.locator("#name").text_content() == "sin"


def test_what_is_chosen_in_the_tools_is_not_cut(browser: Any, measured_step: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(render(measured_step, "forward", "html", title="penalty.py"))
    shown = browser.new_page(viewport={"width": 1280, "height": 800})
    go_to(shown, file.as_uri())
    rooms = shown.locator("#tools select:visible").evaluate_all(
        """all => all.map(one => {
             const ink = document.createElement("canvas").getContext("2d");
             ink.font = getComputedStyle(one).font;
             return one.clientWidth - ink.measureText(one.selectedOptions[0].text).width;
           })"""
    )
    assert rooms
    assert min(rooms) > 24  # for the arrow
