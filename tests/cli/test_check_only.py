"""`autograph run --check-only` lists what is missing; `autograph run` says it in a sentence first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Cli = Callable[..., Result]
OLD = "import torch\nprint('ran')\nif 0: torch.symeig(x)\nx.to_mkldnn\nif 0: x.to_mkldnn()\n"
LISTED = (
    "old.py:3: torch.symeig is missing; use torch.linalg.eigh instead\n"
    "old.py:5: .to_mkldnn may be missing: tensors lack it\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.py").write_text(OLD)
    (tmp_path / "good.py").write_text("import torch\nprint('ran')\ntorch.ones(3)\n")
    (tmp_path / "maybe.py").write_text("import torch\nx.to_mkldnn()\n")
    (tmp_path / "broken.py").write_text("def\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["old.py"], 1, LISTED),
        (["-m", "old"], 1, LISTED),
        (["old.py", "--epochs", "3"], 1, LISTED),
        (["-"], 1, LISTED.replace("old.py", "<stdin>")),
        (["good.py"], 0, "good.py uses nothing that autograph's engine lacks.\n"),
        (["maybe.py"], 0, "maybe.py:2: .to_mkldnn may be missing: tensors lack it\n"),
        (["-q", "old.py"], 1, ""),
    ],
)
def test_what_is_missing_is_listed_and_nothing_is_run(cli: Cli, words: list[str], code: int, said: str) -> None:
    result = cli("run", "--check-only", *words, input=OLD)
    assert (result.exit_code, result.stdout, result.stderr) == (code, said, "")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (["broken.py"], "Cannot read broken.py: line 1: invalid syntax"),
        (["none.py"], "Cannot read none.py: No such file"),
        (["-m", "none"], "There is no module named none in this folder."),
    ],
)
def test_what_cannot_be_read_is_an_error(cli: Cli, target: list[str], message: str) -> None:
    result = cli("run", "--check-only", *target)
    assert result.exit_code == 2
    assert message in result.stderr


def test_run_warns_and_runs(cli: Cli, recorded: object, folder: Path) -> None:
    (folder / "old.py").write_text(OLD.replace("x.to_mkldnn\n", ""))
    result = cli("run", "old.py")
    assert (result.exit_code, result.stdout) == (0, "ran\n")
    assert result.stderr.startswith(
        "autograph: old.py uses what the engine lacks: torch.symeig (line 3; use torch.linalg.eigh instead); "
        "it runs as far as it can. The option --check-only lists all.\n"
    )


def test_warning_names_three_and_counts_the_rest(cli: Cli, recorded: object, folder: Path) -> None:
    (folder / "old.py").write_text("import torch\nif 0: torch.aa, torch.bb, torch.cc, torch.dd, torch.ee\n")
    line = cli("run", "old.py").stderr.splitlines()[0]
    assert "torch.aa (line 2), torch.bb (line 2), torch.cc (line 2) and 2 more;" in line


def test_run_of_standard_input_warns_and_runs(cli: Cli, recorded: object) -> None:
    result = cli("run", "-", input="import torch\nprint('ran')\nif 0: torch.symeig\n")
    assert result.stdout == "ran\n"
    assert result.stderr.startswith("autograph: <stdin> uses what the engine lacks: torch.symeig (line 3;")


def test_quiet_run_does_not_warn(cli: Cli, recorded: object, folder: Path) -> None:
    (folder / "old.py").write_text(OLD.replace("x.to_mkldnn\n", ""))
    assert cli("run", "-q", "old.py").stderr == ""
