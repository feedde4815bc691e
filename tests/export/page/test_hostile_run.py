"""A whole run in which every text is hostile: names, lines, values, ledger, findings and curves stay text on its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.options import Panels
from autograph_cli.export.page.beside import Run, to_beside
from autograph_cli.findings import Finding
from autograph_cli.graph import Source, Trace, from_json, to_json
from tests.cli.test_hostile import WORDS, hostile, unprinted
from tests.export.page.test_run_steps import gan as gan
from tests.export.pages import go_to

SHOWN = ("markup", "link", "quotes", "bidi", "escape")


def spoiled(trace: Trace, word: str) -> Trace:
    def without(value: Any) -> Any:
        """Leave out the numbers that have a form, which the reader refuses in another one."""
        if isinstance(value, dict):
            return {name: without(its) for name, its in value.items() if name not in ("exact", "flows")}
        return [without(its) for its in value] if isinstance(value, list) else value

    return from_json(json.dumps(hostile(without(json.loads(to_json(trace))), word)), "t.json")


def page_of(trace: Trace, word: str) -> str:
    step = trace.main_step()
    assert step is not None
    findings = (Finding(word, word, Source(word, 3), word, word, (word, word), (0, 1), step.number),)
    return render(
        step, "forward", "html", title=trace.script, panels=Panels(findings, trace.watched, trace), sources={word: word}
    ).decode()


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_of_a_hostile_run_is_obeyed(browser: Any, gan: Trace, tmp_path: Path, name: str) -> None:
    page = page_of(spoiled(gan, WORDS[name]), WORDS[name])
    assert page.count("<script") == 2 + page.count('class="pack"')
    (tmp_path / "odd.html").write_text(page)
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    said: list[str] = []
    for event in ("dialog", "console", "pageerror"):
        opened.on(event, lambda what: said.append(str(what)))
    go_to(opened, (tmp_path / "odd.html").as_uri())
    opened.locator("#findings button").first.click()
    opened.locator("#names button").first.click()
    opened.locator("#lane button").first.click()
    opened.select_option("#marks", "all")
    opened.select_option("#since", index=1)
    opened.locator("#changes p, #changes button").first.wait_for()
    opened.keyboard.press("<")
    opened.locator("#step-words", has_text="Step 7 of 8").wait_for()
    opened.fill("#search", "_loss")
    opened.locator("#found li").first.wait_for()
    assert opened.locator("a, img, b:has(script), main script").count() == 0
    text = opened.locator("body").inner_text()
    assert "Step 7 of 8" in text and [line for line in text.splitlines() if unprinted(line)] == []
    assert said == []
    opened.close()


def test_hostile_runs_beside_each_other_stay_text(gan: Trace) -> None:
    word = WORDS["markup"]
    odd = spoiled(gan, word)
    page = to_beside(Run(word, odd, {word: word}), Run(word, odd, {}), [word, f"`{word}`"])
    assert page.count("<script") == 2 and "<b>" not in page and page.count("<iframe") == 2
