"""autograph shows what autograd recorded: it runs a PyTorch-style script and draws the graphs that the script built.

>>> from autograph_cli import torch          # the engine, laid out as PyTorch's own namespace
>>> from autograph_cli import capture        # the graph of a tensor

pytest reads here that assertions stay as they are, or it warns of an import before its own: PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograph_cli.graph import Graph, GraphDiff
    from autograph_cli.record.capture import capture
    from autograph_cli.testing.asserts import assert_gradients, assert_no_findings, assert_same_graph
    from autograph_cli.testing.numbers import assert_same_numbers, first_divergence

__version__ = "0.2.0"
__all__ = [
    "AutographError",
    "Graph",
    "GraphDiff",
    "__version__",
    "assert_gradients",
    "assert_no_findings",
    "assert_same_graph",
    "assert_same_numbers",
    "capture",
    "first_divergence",
    "record",
]

_HOMES = {
    "Graph": "autograph_cli.graph",
    "GraphDiff": "autograph_cli.graph",
    "assert_gradients": "autograph_cli.testing.asserts",
    "assert_no_findings": "autograph_cli.testing.asserts",
    "assert_same_graph": "autograph_cli.testing.asserts",
    "assert_same_numbers": "autograph_cli.testing.numbers",
    "capture": "autograph_cli.record.capture",
    "first_divergence": "autograph_cli.testing.numbers",
}


def __getattr__(name: str) -> Any:
    """Return what is public, imported when it is first asked for."""
    if name == "record":  # the package of that name, which can be called
        return importlib.import_module("autograph_cli.record")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic `%%autograph`; `%load_ext autograph_cli` calls this."""
    importlib.import_module("autograph_cli.cli.notebook").load(shell)


class _Callable(ModuleType):
    """A module that is a function too: `autograph_cli.record(...)`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return importlib.import_module("autograph_cli.in_code").record(*args, **kwargs)


class AutographError(Exception):
    """An error that the user can mend, told in one sentence; `exit_code` is the exit code of the command.

    >>> from pathlib import Path
    >>> from autograph_cli.record.run.store import load
    >>> load(Path("missing.json"))
    Traceback (most recent call last):
    autograph_cli.record.run.store.StoreError: Cannot read missing.json: No such file or directory.
    """

    exit_code = 2
