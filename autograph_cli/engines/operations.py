"""Facts of PyTorch's operations that recording an installed PyTorch needs and PyTorch does not tell.

They stand in `operations.json`, which `make operations` writes from the records of the built-in engine, so that
recording PyTorch imports nothing of that engine.
"""

from __future__ import annotations

import functools
import inspect
import json
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("operations.json")


class Facts(NamedTuple):
    """Facts of the operation that makes nodes of one name."""

    operation: str
    outputs: int
    formula: tuple[str, ...]
    """The lines that tell how the gradients are computed."""


def facts_of(node_name: str) -> Facts | None:
    """Return the facts of the operation whose nodes have this name.

    >>> facts_of("TanhBackward0")
    Facts(operation='tanh', outputs=1, formula=('self: tanh_backward(grad, result)',))
    """
    return _facts().get(node_name)


def source_of(function: Any) -> tuple[str, ...]:
    """Return the lines of a function without its decorators and blank lines."""
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):  # a script from standard input that is gone, or a function that is no Python
        return ()
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    start = next((position for position, line in enumerate(lines) if line.startswith(("def ", "async def "))), 0)
    return tuple(lines[start:])


@functools.cache
def _facts() -> dict[str, Facts]:
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Facts(operation, outputs, tuple(lines)) for name, (operation, outputs, *lines) in rows.items()}
