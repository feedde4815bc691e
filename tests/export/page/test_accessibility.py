"""axe-core finds nothing to mend in any state of the pages, in light and dark, wide and narrow."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export.comparison_report import to_page
from autograph_cli.graph.snapshot import compare
from autograph_cli.testing.scripts import take
from autograph_cli.testing.settings import Settings
from tests.export.pages import await_rest, modules_page

WIDTHS = {"wide": (1300, 850), "phone": (390, 844)}
UNTOLD = """() => [...document.querySelectorAll('header button, header input, header select, footer button, footer input, aside button')]
  .filter((element) => !(element.title || element.closest('[title]'))).map((element) => element.outerHTML)"""


def violations(page: Any, scheme: str = "light") -> list[str]:
    """Return what breaks WCAG 2.2 AA or a good practice, with the first element that does; in the dark, which is the same
    but for its colours, what these break."""
    axe = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("'axe' in window"):
        page.evaluate((files(axe) / "axe.min.js").read_text("utf-8"))
    await_rest(page)
    rules = {"light": "{}", "dark": "{runOnly: ['color-contrast', 'link-in-text-block']}"}[scheme]
    found = page.evaluate(f"axe.run(document, {rules}).then((result) => result.violations)")
    return [f"{one['id']}: {one['nodes'][0]['html']}: {one['nodes'][0]['failureSummary']}" for one in found]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_all_views(opened: Any, scheme: str, width: str) -> None:
    opened.set_viewport_size(dict(zip(("width", "height"), WIDTHS[width], strict=True)))
    opened.reload()
    opened.emulate_media(color_scheme=scheme)
    assert opened.evaluate(UNTOLD) == []
    states = {
        "whole": lambda: None,
        "a node chosen": lambda: opened.locator('[aria-label="sin"]').click(),
        "all orders": lambda: opened.keyboard.press("8"),
        "played": lambda: opened.keyboard.press("."),
        "steps": lambda: opened.keyboard.press("9"),
        "found": lambda: (opened.fill("#search", "m"), opened.locator("#found li").first.wait_for()),
        "panes": lambda: opened.click("#panes"),
    }
    for state, act in states.items():
        act()
        assert violations(opened, scheme) == [], state


def test_modules_and_colours(browser: Any, tmp_path: Path) -> None:
    page = modules_page(browser, tmp_path, said := [], depth=1)
    assert violations(page) == []
    page.select_option("#colour", "module")
    page.locator(".shut:visible").first.click()
    assert violations(page) == [] and said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_what_differs(browser: Any, tmp_path: Path, scheme: str) -> None:
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w).sum()\nloss.backward()\n"
    scripts = [tmp_path / "old.py", tmp_path / "new.py"]
    for script, operation in zip(scripts, ("tanh", "sigmoid"), strict=True):
        script.write_text(text.replace("tanh", operation))
    one, other = (take(script, Settings()) for script in scripts)
    (tmp_path / "diff.html").write_bytes(to_page(compare(one, other), ("old.py", "new.py")))
    page = browser.new_page(color_scheme=scheme)
    page.goto((tmp_path / "diff.html").as_uri())
    assert violations(page, scheme) == []
    page.click("summary")
    assert violations(page, scheme) == []
