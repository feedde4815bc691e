"""Errors that the engine raises on purpose have its mark; those of Python and NumPy inside it have none."""

import ast
import builtins
from pathlib import Path

import numpy as np
import pytest

import autograph_cli.torch
from autograph_cli import torch
from autograph_cli.torch._core.base.errors import is_refusal, refused
from tests.cases import for_each

ROOT = Path(autograph_cli.torch.__file__).parent
FILES = [
    *(path for part in ("_core", "_ops", "_kernels", "_arrays") for path in sorted((ROOT / part).rglob("*.py"))),
    *(ROOT / "nn" / "functional.py", ROOT / "signal" / "windows.py"),
]
"""Where the functions stand that explain what went wrong inside them."""


def needs_mark(name: str) -> bool:
    kind = getattr(builtins, name, None)
    unmarked = (RuntimeError, AssertionError, Warning)
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, unmarked)


@for_each("path", FILES)
def test_errors_of_classes_that_python_raises_are_marked(path: Path) -> None:
    if path.name == "arg_check.py":
        return  # What it raises itself leaves it as it is.
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Return) else None
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Name):
            assert not needs_mark(found.func.id), f"line {found.lineno}: write refused({found.func.id}, ...)"


def test_the_mark_leaves_class_and_words_as_they_are() -> None:
    error = refused(ValueError, "no such mode")
    assert type(error) is ValueError and repr(error) == "ValueError('no such mode')" and is_refusal(error)


def test_what_fails_inside_is_none() -> None:
    with pytest.raises(ValueError) as wrong:
        np.zeros(2) + np.zeros(3)
    assert not is_refusal(wrong.value)
    with pytest.raises(RuntimeError) as meant:
        torch.zeros(2) + torch.zeros(3)
    assert is_refusal(meant.value)
