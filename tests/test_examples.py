"""The examples in the docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from collections import deque
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from autograph_cli.record.imports import serve
from tests.conftest import ROOT

PACKAGE = ROOT / "autograph_cli"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8")]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class Finder(doctest.DocTestFinder):
    """Finds classes in the file that they are written in, also where they name the package around it, as PyTorch's do."""

    def _from_module(self, module: Any, object: Any) -> bool:
        around = isinstance(object, type) and module.__name__.startswith(f"{object.__module__}.")
        inside = vars(object).values() if around else ()
        files = {x.__code__.co_filename for x in inside if isinstance(x, FunctionType)}
        return module.__file__ in files or super()._from_module(module, object)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_of_a_module_print_what_they_show(path: Path) -> None:
    # Found before the engine is served: then its classes carry other names, and doctest would pass them by.
    torch = importlib.import_module("autograph_cli.torch")
    examples = iter(Finder().find(importlib.import_module(name_of(path)), extraglobs={"torch": torch}))
    runner = doctest.DocTestRunner()
    with serve():
        deque(map(runner.run, examples), maxlen=0)
    found = runner.summarize()
    assert not found.failed, "the output above says where"
    text = path.read_text("utf-8")
    tried = found.attempted - getattr(found, "skipped", 0)  # from Python 3.13 on, skipped ones are attempted as well
    assert tried == text.count(">>> ") - text.count("doctest: +SKIP"), "some examples are where doctest does not look"
