"""The switch that leaves the compiled modules alone, as the engine, `autograph info` and the build read it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from autograph_cli.pure import SWITCH, is_pure

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "pure"),
    [
        (None, False), ("", False), ("0", False), (" 0 ", False), ("false", False), ("False", False), ("no", False),
        ("OFF", False), ("1", True), ("true", True), ("yes", True),
    ],
)  # fmt: skip
def test_the_switch_is_read_by_its_meaning(monkeypatch: pytest.MonkeyPatch, text: str | None, pure: bool) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    if text is not None:
        monkeypatch.setenv(SWITCH, text)
    assert is_pure() is runpy.run_path(str(ROOT / "autograph_cli" / "pure.py"))["is_pure"]() is pure


def test_the_switch_is_read_in_one_place() -> None:
    read = re.compile(rf"environ\S*{SWITCH}|getenv\S*{SWITCH}")
    files = [ROOT / "hatch_build.py", *(ROOT / "autograph_cli").rglob("*.py")]
    assert [path.name for path in files if read.search(path.read_text(encoding="utf-8"))] == []
    named = [path.name for path in files if f'"{SWITCH}"' in path.read_text(encoding="utf-8")]
    assert named == ["pure.py"]
