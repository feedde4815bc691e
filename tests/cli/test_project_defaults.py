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


def test_a_project_chooses_the_format(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, '[tool.autograph.render]\nformat = "dot"\nmax-nodes = 50\nroll = false\n')
    assert cli("render", "expr.json").exit_code == 0
    assert (tmp_path / "expr.forward.dot").is_file()


def test_the_command_line_goes_before(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, '[tool.autograph.render]\nformat = "dot"\n')
    assert cli("render", "expr.json", "-f", "json").exit_code == 0
    assert (tmp_path / "expr.forward.json").is_file()


def test_the_name_of_a_file_goes_before_the_project(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, '[tool.autograph.render]\nformat = "dot"\n')
    assert cli("render", "expr.json", "-o", "graph.svg").exit_code == 0
    assert (tmp_path / "graph.svg").read_bytes().startswith(b"<?xml")


def test_show_has_a_table_of_its_own(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, "[tool.autograph.show]\ndetails = true\n")
    assert "expr.py:3" in cli("show", "expr.json").output


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("formad = 'dot'", "tool.autograph.render has no setting 'formad'; known ones: "),
        ("backward = true", "tool.autograph.render has no setting 'backward'"),
        ("format = 'gif'", "tool.autograph.render.format: 'gif' is not one of"),
        ("max-nodes = -1", "tool.autograph.render.max-nodes: -1 is not in the range"),
        ("max-nodes = true", "tool.autograph.render.max-nodes must be a text or a number, not True"),
        ("roll = 'yes'", "tool.autograph.render.roll must be true or false, not 'yes'"),
    ],
)
def test_a_wrong_setting_is_named(cli: Callable[..., Result], tmp_path: Path, line: str, sentence: str) -> None:
    keep(tmp_path, f"[tool.autograph.render]\n{line}\n")
    result = cli("render", "expr.json")
    assert result.exit_code == 2
    assert sentence in result.output
    assert "pyproject.toml" in result.output


def test_a_table_of_no_command_is_refused(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, "[tool.autograph.rendr]\ndepth = 1\n")
    assert "tool.autograph has no setting 'rendr'; known ones: " in cli("render", "expr.json").output


def test_a_table_that_is_none_is_refused(cli: Callable[..., Result], tmp_path: Path) -> None:
    keep(tmp_path, "[tool.autograph]\nrender = 3\n")
    assert "tool.autograph.render is no table" in cli("render", "expr.json").output
