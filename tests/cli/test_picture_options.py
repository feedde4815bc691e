"""The options of a picture are declared once, at the fields of `RenderOptions`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from autograph_cli.cli.picture_options import FLAGS
from autograph_cli.cli.render import render
from autograph_cli.export import READABLE, RenderOptions
from autograph_cli.graph import Trace
from autograph_cli.record.run import store

OPTIONS = {option.name: option for option in render.params if isinstance(option, click.Option)}
ELSEWHERE = {"roots", "part", "shown", "inside", "title", "total_steps", "held", "hooks", "sources", "panels"}
"""Fields that have options which `show` has too, or none."""
SAID: dict[str, tuple[list[str], Any]] = {
    "order": (["--order", "3"], 3),
    "depth": (["--depth", "0"], 0),
    "max_nodes": (["--max-nodes", "7"], 7),
    "roll": (["--no-roll"], False),
    "level": (["--level", "aten"], "aten"),
    "tags": (["--no-tags"], False),
    "parameters": (["--parameters", "boxes"], "boxes"),
    "direction": (["--direction", "right"], "right"),
    "columns": (["--no-columns"], False),
    "flow": (["--flow", "data"], "data"),
    "marks": (["--no-marks"], False),
    "colour": (["--color", "bytes"], "bytes"),
    "tracked_only": (["--tracked-only"], True),
    "formula": (["--formula"], True),
    "layout": (["--layout", "dot"], "dot"),
}
Cli = Callable[..., Result]


def test_every_field_has_an_option_or_is_named_here() -> None:
    assert set(FLAGS) | ELSEWHERE == set(RenderOptions.__struct_fields__)
    assert not set(FLAGS) & ELSEWHERE
    assert set(SAID) == set(FLAGS) and set(FLAGS) <= set(OPTIONS)


@pytest.mark.parametrize("field", FLAGS)
def test_an_option_has_the_help_and_the_default_of_its_field(field: str) -> None:
    assert OPTIONS[field].help == FLAGS[field].help
    default = READABLE if field == "max_nodes" else getattr(RenderOptions(), field)
    assert OPTIONS[field].get_default(click.Context(render)) == default


@pytest.mark.parametrize("field", FLAGS)
def test_what_is_said_reaches_the_picture(
    cli: Cli, trace: Trace, tmp_path: Path, drawn: list[dict[str, Any]], field: str
) -> None:
    store.keep(trace, tmp_path)
    said, value = SAID[field]
    plain = RenderOptions(max_nodes=READABLE)
    assert cli("render", *said).exit_code == 0
    assert {name: drawn[0][name] for name in FLAGS} == {
        name: value if name == field else getattr(plain, name) for name in FLAGS
    }
