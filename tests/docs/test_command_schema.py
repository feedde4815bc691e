"""docs/commands.schema.json is what its maker writes, every `--json` has a schema in it, and what commands print keeps to it."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import click
import jsonschema
import pytest

from autograph_cli.cli.main import main
from tests.conftest import ROOT
from tests.docs.pages import blocks
from tests.docs.test_commands import run

_spec = importlib.util.spec_from_file_location("make_command_schema", ROOT / "docs" / "make_command_schema.py")
assert _spec and _spec.loader
maker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(maker)

CALLS = {
    "autograph check FILE --json": "autograph check samples/custom_function.py --json",
    "autograph check FILE FILE --json": "autograph check samples/custom_function.py samples/first.py --json",
    "autograph check --independence FILE --json": "autograph check --independence mask.py --json",
    "autograph diff A B --json": "autograph diff samples/first.py samples/penalty.py --json",
    "autograph diff --values A B --json": "autograph diff --values samples/first.py samples/other.py --json",
    "autograph explain FILE --format json": "autograph explain train.py --format json",
    "autograph inspect FILE NAME --json": "autograph inspect samples/first.py w --json",
    "autograph profile FILE --json": "autograph profile samples/first.py --json",
    "autograph show --ledger --json": "autograph show samples/train.py --ledger --json",
    "autograph steps FILE --json": "autograph steps samples/train.py --json",
    "autograph why LOSS LEAF FILE --json": "autograph why loss w samples/penalty.py --json",
}
"""How each is called here."""


def test_the_file_is_what_its_maker_writes() -> None:
    assert maker.FILE.read_text("utf-8") == maker.text(), "run python docs/make_command_schema.py"


def test_every_command_with_json_has_a_schema() -> None:
    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    takers = {name for name, each in commands.items() if each and any("--json" in one.opts for one in each.params)}
    assert {name.split()[1] for name in maker.SHAPES} == takers | {"explain"}


@pytest.mark.parametrize("name", maker.SHAPES)
def test_what_a_command_prints_keeps_to_its_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("samples").mkdir()
    for script in ("first", "penalty", "custom_function", "train"):
        shutil.copy(ROOT / "samples" / f"{script}.py", "samples")
    Path("samples/other.py").write_text((ROOT / "samples/first.py").read_text("utf-8").replace("tanh", "sin"), "utf-8")
    for page, script in (("docs/how-to/training.md", "mask.py"), ("README.md", "train.py")):
        (block,) = (text for _, text in blocks(ROOT / page) if text.startswith(f"# {script}\n"))
        Path(script).write_text(block, "utf-8")
    code, (stdout, _) = run(CALLS[name])
    assert code in (0, 1)
    printed = json.loads(stdout)
    assert printed
    whole = maker.schema()
    jsonschema.Draft202012Validator({**whole, "$ref": maker.of(name)["$ref"]}).validate(printed)
