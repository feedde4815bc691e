"""`autograph open` makes the page of all views, and gives it to the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.graph import Trace
from autograph_cli.record.run import store

Cli = Callable[..., Result]


def test_the_last_run_is_opened(cli: Cli, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(trace, tmp_path)
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda link: not seen.append(link))
    result = cli("open")
    page = tmp_path / ".autograph" / "page.html"
    assert result.exit_code == 0 and seen == [page.as_uri()]
    assert page.read_text().startswith("<!DOCTYPE html>") and '"views":' in page.read_text()


def test_a_page_is_kept_where_it_is_asked_for(
    cli: Cli, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda link: pytest.fail("nothing was to be opened"))
    store.save(trace, tmp_path / "t.json")
    result = cli("open", "t.json", "-o", "page.html", "--no-browser")
    assert result.exit_code == 0 and result.stderr == "page.html\n"
    assert (tmp_path / "page.html").exists() and not (tmp_path / ".autograph").exists()


def test_where_there_is_no_browser_it_says_where_the_page_is(
    cli: Cli, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(trace, tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda link: False)
    result = cli("open")
    assert result.exit_code != 0 and "No browser was found here" in result.stderr and "page.html" in result.stderr


def test_all_views_are_one_file(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.save(trace, tmp_path / "t.json")
    result = cli("render", "t.json", "--forward", "--backward", "-f", "html")
    assert result.exit_code == 0 and result.stderr == "t.html\n"
