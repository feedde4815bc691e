"""Two runs beside each other: what is chosen in one is chosen in the other, with its numbers, and where they part."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export.page.beside import Run, to_beside
from autograph_cli.graph import Trace
from autograph_cli.graph.diff import diff
from autograph_cli.record.run.runner import Target, record
from tests.export.page.test_accessibility import violations
from tests.export.pages import await_true
from tests.processes import PATIENCE

SCRIPT = """
import torch
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for turn in range(3):
    opt.zero_grad()
    h = torch.tanh(w)
    loss = (h * 3).sum()
    loss.backward()
    opt.step()
"""
EYE = "(svg) => svg.style.transform"
OTHERS = {"operation": ("torch.tanh(w)", "torch.sigmoid(w)"), "rate": ("lr=0.1", "lr=0.2"), "same": ("", "")}


def traced(folder: Path, name: str, text: str) -> Trace:
    (folder / name).write_text(text)
    return record(Target.of(str(folder / name)), "all", record={"values"})[1]


def page_of(folder: Path, which: str) -> str:
    traces = [
        traced(folder, "a.py", SCRIPT),
        traced(folder, "b.py", SCRIPT.replace(*OTHERS[which]) if which != "same" else SCRIPT),
    ]
    one, other = (Run(trace.script, trace, {}) for trace in traces)
    sentences = diff(traces[0].steps[0].graph, traces[1].steps[0].graph)
    return to_beside(one, other, sentences.sentences if sentences else [])


@pytest.fixture
def opened(browser: Any, tmp_path: Path, request: Any) -> Iterator[Any]:
    (tmp_path / "both.html").write_text(page_of(tmp_path, request.param))
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "both.html").as_uri())
    for side in sides(page):
        side.locator("#picture .box").first.wait_for()
    yield page
    assert said == []
    page.close()


def sides(page: Any) -> list[Any]:
    return [page.frame_locator("iframe").nth(0), page.frame_locator("iframe").nth(1)]


@pytest.mark.parametrize("opened", ["operation"], indirect=True)
def test_where_the_numbers_part_is_marked_in_both(opened: Any) -> None:
    assert "The runs part at a.py:7 and b.py:7, forward" in opened.text_content("#numbers")
    assert "tanh" in opened.text_content("#graphs") and "1 difference of the graphs" in opened.text_content("summary")
    for side, name, other in zip(sides(opened), ("tanh", "sigmoid"), ("b.py", "a.py"), strict=True):
        side.locator(".box.parted").wait_for()
        assert side.locator(".box.parted").get_attribute("aria-label").startswith(name)
        side.locator("#text .other h3", has_text=f"In {other}").wait_for()


@pytest.mark.parametrize("opened", ["rate"], indirect=True)
def test_both_show_the_step_in_which_they_part_and_go_on_together(opened: Any) -> None:
    one, other = sides(opened)
    for side in (one, other):
        side.locator("#step-words", has_text="Step 2 of 3").wait_for()
        side.locator(".box.parted").wait_for()
    one.locator("#step-on").click()
    other.locator("#step-words", has_text="Step 3 of 3").wait_for()
    other.locator("#step-back").click()
    one.locator("#step-words", has_text="Step 2 of 3").wait_for()
    one.get_by_role("tab", name="Backward").click()
    other.locator('[role="tab"][aria-selected="true"]', has_text="Backward").wait_for()
    one.locator('#colour option[value="apart"]').wait_for(state="attached")
    opened.click("#first")
    one.locator("#name", has_text="w").wait_for()


@pytest.mark.parametrize("opened", ["same"], indirect=True)
def test_what_is_chosen_has_the_numbers_of_both(opened: Any) -> None:
    assert "equal, bit for bit" in opened.text_content("#numbers") and not opened.locator("#first").is_visible()
    one, other = sides(opened)
    one.locator('.box[aria-label="tanh"]').click()
    other.locator('.box.chosen[aria-label="tanh"]').wait_for()
    told = one.locator("#text .other")
    told.locator("h3").wait_for()
    assert told.locator("dt").all_text_contents() == ["tensor", "value", "gradient"]
    values = one.locator("#text > dl dd").nth(3).text_content()
    assert told.locator("dd").nth(1).text_content() == values
    assert one.locator(".box.differs").count() == other.locator(".box.parted").count() == 0
    assert violations(opened) == []
    opened.set_viewport_size({"width": 390, "height": 844})
    await_true(opened, "[...document.querySelectorAll('iframe')].every((frame) => frame.clientHeight > 600)")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("opened", ["same"], indirect=True)
def test_both_are_moved_and_zoomed_together(opened: Any) -> None:
    other = sides(opened)[1].locator("#picture svg")
    frames = [side.locator("#picture") for side in sides(opened)]
    until = time.monotonic() + PATIENCE
    while abs(frames[0].bounding_box()["width"] - frames[1].bounding_box()["width"]) > 4:
        assert time.monotonic() < until
    at = frames[0].bounding_box()
    for act in (lambda: opened.mouse.wheel(0, -300), lambda: (opened.mouse.down(), opened.mouse.move(250, 330))):
        opened.mouse.move(at["x"] + 200, at["y"] + 250)
        before = other.evaluate(EYE)
        act()
        await_true(other, f"(svg, before) => ({EYE})(svg) !== before", before)


def test_the_policy_allows_both_scripts_and_no_more(tmp_path: Path) -> None:
    page = page_of(tmp_path, "operation")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src 'none'; ") and policy[1].count("'sha256-") == 4
    assert page == page_of(tmp_path, "operation")
    assert not re.search(r' (?:style|on\w+|href|src)="', page.partition("<iframe")[0])


def test_names_of_runs_are_text(tmp_path: Path) -> None:
    odd = "</iframe><script>alert(1)</script>\"'"
    trace = traced(tmp_path, "a.py", SCRIPT)
    page = to_beside(Run(odd, trace, {}), Run(odd, trace, {}), [f"`{odd}` became <b>"])
    assert "<script>alert" not in page and page.count("</iframe>") == 2 and "<b>" not in page
