"""[tool.autograph] in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.testing.settings import Settings, SettingsError, load, read


def test_settings_of_the_nearest_project_are_taken(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.autograph]\nsteps = "all"\ninclude = ["shapes", "names"]\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[tool.other]\n")
    found = load(inner)
    assert found.folder == tmp_path
    assert found.steps == "all"
    assert found.include == ("names", "shapes")
    assert load(inner.parent) == found


def test_without_settings_the_defaults_hold(tmp_path: Path) -> None:
    assert read({}, tmp_path) == Settings(tmp_path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"stepz": "all"}, "tool.autograph has no setting 'stepz'; known ones: files, exclude, steps,"),
        ({"steps": "most"}, "tool.autograph.steps must be such as 'first,last', 'all', '3' or '10:20', not 'most'"),
        ({"views": ["sideways"]}, "has 'sideways', which is none of graph, forward, backward, double-backward"),
        ({"include": ["names", "colours"]}, "tool.autograph.include has 'colours', which is none of names, shapes"),
        ({"include": "names"}, "must be a list of strings, not 'names'"),
        ({"tolerance": -1}, "tool.autograph.tolerance must be a number from 0 to 1, not -1"),
        ({"arguments": ["a"]}, "tool.autograph.arguments must be a table of lists of strings"),
        (3, "tool.autograph is no table"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(table: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message.replace("[", r"\[")):
        read(table, Path("."))


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool")
    with pytest.raises(SettingsError, match="Cannot read"):
        load(tmp_path)
