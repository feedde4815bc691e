"""The notes of a release are those of its version in CHANGELOG.md."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from autograph_cli import __version__
from tests.conftest import ROOT

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- new\n\n## [1.1.0] - 2026-01-02\n\n- a\n\n## 1.0.0\n\n- b\n"


@pytest.fixture(scope="module")
def notes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notes", ROOT / "packaging" / "notes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("version", "text"), [("1.1.0", "- a"), ("1.0.0", "- b")])
def test_the_notes_are_those_of_the_version(notes: ModuleType, version: str, text: str) -> None:
    assert notes.notes(CHANGELOG, version) == f"autograph {version}\n\n{text}\n"


def test_of_a_long_version_the_short_part_is_taken(notes: ModuleType) -> None:
    long = "## 2.0.0\n\n### In short\nFew words.\n\n- a\n\n### Added\n- b\n"
    assert notes.notes(long, "2.0.0") == "autograph 2.0.0\n\nFew words.\n\n- a\n"


def test_a_version_without_notes_is_not_released(notes: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md has nothing under `## 2\.0\.0`"):
        notes.notes(CHANGELOG, "2.0.0")


def test_the_version_is_that_of_the_package(notes: ModuleType) -> None:
    assert notes.version() == __version__
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
