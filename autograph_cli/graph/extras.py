"""Packages that autograph does without, but for what needs them."""

from __future__ import annotations

import importlib
from typing import Any

from autograph_cli.graph.errors import GraphError


def extra(module: str, what: str, package: str) -> Any:
    """The module; raises `GraphError` where its package is not installed, which says `what` needs it.

    >>> extra("no_such_module", "This", "such")
    Traceback (most recent call last):
    autograph_cli.graph.errors.GraphError: This needs such: pip install such
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise GraphError(f"{what} needs {package}: pip install {package}") from None
