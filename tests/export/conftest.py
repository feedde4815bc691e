"""Graphs that PyTorch 2.13 made of real scripts; inputs, which it does not tell, are added by hand."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Trace, from_json
from autograph_cli.record.run.runner import Target, record
from tests.export.pages import ROOT, go_to
from tests.processes import PATIENCE

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FOLDER = Path(__file__).parents[1] / "data" / "traces"


@pytest.fixture(scope="session")
def traces() -> dict[str, Trace]:
    """One layer and a loss; a custom Function and its gradient; derivatives up to order 4 and a penalty."""
    return {path.stem: from_json(path.read_text("utf-8"), path.name) for path in sorted(FOLDER.glob("*.json"))}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        playwright.expect.set_options(timeout=1000 * PATIENCE)
        if os.environ.get("AUTOGRAPH_BROWSER") == "firefox":
            own = Path(started.firefox.executable_path).exists()
            system = {} if own else {"channel": "moz-firefox", "executable_path": shutil.which("firefox-esr")}
            opened = started.firefox.launch(**system)
            yield opened
            opened.close()
            return
        program = next(filter(None, map(shutil.which, (*CHROMIUM, started.chromium.executable_path))), None)
        if program is None:
            pytest.skip("no Chromium is installed: apt install chromium, or playwright install chromium")
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


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
    if browser.browser_type.name == "chromium":
        context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = context.new_page()
    said: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    go_to(shown, (tmp_path / "all.html").as_uri())
    yield shown
    assert said == []
    context.close()
