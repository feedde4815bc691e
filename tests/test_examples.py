"""The examples in the docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.record.run.imports import serve
from tests.conftest import ROOT

PACKAGE = ROOT / "autograph_cli"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8")]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class Everywhere(doctest.DocTestFinder):
    """Looks at all that a module shows: what is written in it may name the package around it, as PyTorch's classes do."""

    def _from_module(self, module: Any, object: Any) -> bool:
        return True


def examples_in(path: Path) -> Iterator[doctest.DocTest]:
    """The examples that are written in a file, each docstring once."""
    text, torch = path.read_text("utf-8").replace(r"\\", "\\"), importlib.import_module("autograph_cli.torch")
    shown = Everywhere().find(importlib.import_module(name_of(path)), extraglobs={"torch": torch})
    written = {
        it.docstring: it
        for it in shown
        if all(f">>> {example.source.splitlines()[0]}" in text for example in it.examples)
    }
    return iter(written.values())


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_of_a_module_print_what_they_show(path: Path) -> None:
    if path.parent.name == "pytorch":
        pytest.importorskip("torch", reason="the module drives an installed PyTorch")
    examples = examples_in(path)
    runner = doctest.DocTestRunner()
    with serve():
        deque(map(runner.run, examples), maxlen=0)
    found = runner.summarize()
    assert not found.failed, "the output above says where"
    text = path.read_text("utf-8")
    tried = found.attempted - getattr(found, "skipped", 0)  # from Python 3.13 on, skipped ones are attempted as well
    assert tried == text.count(">>> ") - text.count("doctest: +SKIP"), "some examples are where doctest does not look"
