"""Graphs that PyTorch 2.13 made of real scripts; inputs, which it does not tell, are added by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.graph import Trace, from_json

FOLDER = Path(__file__).parents[1] / "data" / "traces"


@pytest.fixture(scope="session")
def traces() -> dict[str, Trace]:
    """One layer and a loss; a custom Function and its gradient; derivatives up to order 4 and a penalty."""
    return {path.stem: from_json(path.read_text("utf-8"), path.name) for path in sorted(FOLDER.glob("*.json"))}
