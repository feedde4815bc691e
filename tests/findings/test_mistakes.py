"""What people get wrong: each script is found out on its line, and nothing is found once it is mended.

In `mistakes/` a line marked `# wrong` is in the wrong script only, one marked `# right` in the mended one only; the
code behind `# wrong` or `# found` is that of the finding on this line.
"""

from __future__ import annotations

import gc
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograph_cli.findings import RULES
from tests.findings.test_explain import of_file

HERE = Path(__file__).parent
MISTAKES = sorted((HERE / "mistakes").glob("*.py"))
RIGHT = sorted((HERE / "right").glob("*.py"))
_MARK = re.compile(r"# (wrong|right|found)(?:: (AG\d+))?$", re.MULTILINE)


def variant(text: str, left_out: str) -> str:
    """The script without the lines of one kind; the others stay on theirs."""
    lines = text.splitlines()
    return "\n".join("" if line.endswith(f"# {left_out}") or f"# {left_out}: " in line else line for line in lines)


def expected(text: str) -> list[tuple[str, int]]:
    """The codes that a script is marked with, and their lines."""
    lines = enumerate(text.splitlines(), 1)
    return sorted((match[2], number) for number, line in lines if (match := _MARK.search(line)) and match[2])


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "script.py"


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Cycles live until the end of the run, whenever the collector would have come."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_found_on_its_line(path: Path, script: Path) -> None:
    text = path.read_text("utf-8")
    script.write_text(variant(text, "right"))
    found = {(finding.code, finding.source.line if finding.source else 0) for finding in of_file(script)}
    assert sorted(found) == expected(text)


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_nothing_is_found_once_it_is_mended(path: Path, script: Path) -> None:
    script.write_text(variant(path.read_text("utf-8"), "wrong"))
    assert of_file(script) == []


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_nothing_is_found_in_usual_training_loops(path: Path, script: Path) -> None:
    script.write_text(path.read_text("utf-8"))
    assert of_file(script) == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
@pytest.mark.usefixtures("uncollected")
def test_the_same_is_found_with_pytorch(path: Path, script: Path) -> None:
    text = path.read_text("utf-8")
    script.write_text(variant(text, "right"))
    found = {
        (finding.code, finding.source.line if finding.source else 0) for finding in of_file(script, engine="torch")
    }
    assert sorted(found) == expected(text)


def test_every_code_has_a_mistake() -> None:
    marked = {code for path in MISTAKES for code, _ in expected(path.read_text("utf-8"))}
    assert marked == {rule.code for rule in RULES if not rule.on_request}
