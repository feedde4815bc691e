"""The examples in the docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from autograph_cli.record.imports import serve
from tests.conftest import ROOT

PACKAGE = ROOT / "autograph_cli"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8")]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_of_a_module_print_what_they_show(path: Path) -> None:
    with serve():
        torch = importlib.import_module("torch")
        found = doctest.testmod(importlib.import_module(name_of(path)), extraglobs={"torch": torch})
    assert not found.failed, "the output above says where"
    text = path.read_text("utf-8")
    tried = found.attempted - getattr(found, "skipped", 0)  # from Python 3.13 on, skipped ones are attempted as well
    assert tried == text.count(">>> ") - text.count("doctest: +SKIP"), "some examples are where doctest does not look"
