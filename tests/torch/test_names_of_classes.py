"""The engine's own members of classes that users subclass, or put attributes on, have names that no user picks."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.torch.record_names_of_classes import EXPECTED, PARTS, classes, members

RECORDED: dict[str, list[str]] = json.loads(Path(EXPECTED).read_text())
FUNCTIONS = {
    "combinations", "histogramdd", "multigammaln", "multigammaln_", "svd_lowrank", "view_as_complex", "view_as_real",
}  # fmt: skip
"""What PyTorch has as functions alone."""
ON_INSTANCES = {"_flat_weights", "_flat_weights_names"}
"""What PyTorch's instances have."""


@pytest.mark.parametrize("path", PARTS)
def test_a_class_has_no_names_of_its_own_but_private_ones(path: str) -> None:
    more: dict[str, Any] = {}
    root = set(RECORDED[f"{path}.{PARTS[path][0]}"])
    for name, cls in classes(importlib.import_module(f"autograph_cli.{path}"), PARTS[path]):
        theirs = RECORDED.get(f"{path}.{name}")
        if theirs is not None:
            own = {n for n in members(cls) - root - set(theirs) - FUNCTIONS - ON_INSTANCES if not n.startswith("_ag_")}
            more |= {name: own} if own else {}
    assert not more
