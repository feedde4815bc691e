"""Options of `render` and `show` that stand in pyproject.toml."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.record.run import runner, store

SCRIPT = "import torch\nx = torch.ones(3, requires_grad=True)\nloss = (x * 2).sum()\nloss.backward()\n"


def keep(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    (folder / "expr.py").write_text(SCRIPT)
    # Not by the command: it would serve the engine until this process ends.
    _, trace = runner.record(runner.Target.of(str(folder / "expr.py")))
    store.save(trace, folder / "expr.json")


@pytest.mark.parametrize(
    ("words", "name", "begins"),
    [
        ((), "expr.forward.dot", b"digraph"),
        (("-f", "json"), "expr.forward.json", b"{"),
        (("-o", "graph.svg"), "graph.svg", b"<?xml"),
    ],
)
def test_a_project_chooses_the_format_unless_the_command_line_does(
    cli: Callable[..., Result], tmp_path: Path, words: tuple[str, ...], name: str, begins: bytes
) -> None:
    keep(tmp_path, '[tool.autograph.render]\nformat = "dot"\nmax-nodes = 50\nroll = false\n')
    assert cli("render", "expr.json", *words).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_show_has_a_table_of_its_own(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, "[tool.autograph.show]\ndetails = true\n")
    assert "expr.py:3" in cli("show", "expr.json").output


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (".render]\nformad = 'dot'", "tool.autograph.render has no setting 'formad'; known ones: "),
        (".render]\nbackward = true", "tool.autograph.render has no setting 'backward'"),
        (".render]\nformat = 'gif'", "tool.autograph.render.format: 'gif' is not one of"),
        (".render]\nmax-nodes = -1", "tool.autograph.render.max-nodes: -1 is not in the range"),
        (".render]\nmax-nodes = true", "tool.autograph.render.max-nodes must be a text or a number, not True"),
        (".render]\nroll = 'yes'", "tool.autograph.render.roll must be true or false, not 'yes'"),
        (".rendr]\ndepth = 1", "tool.autograph has no setting 'rendr'; known ones: "),
        ("]\nrender = 3", "tool.autograph.render is no table"),
    ],
)
def test_a_wrong_setting_is_named(cli: Callable[..., Result], tmp_path: Path, text: str, sentence: str) -> None:
    keep(tmp_path, f"[tool.autograph{text}\n")
    result = cli("render", "expr.json")
    assert result.exit_code == 2
    assert sentence in result.output
    assert "pyproject.toml" in result.output
