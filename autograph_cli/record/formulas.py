"""The derivatives of a node as the table of operations has them, and the source of a custom backward."""

from __future__ import annotations

import functools
import inspect
import textwrap
from typing import Any

from autograph_cli.torch._core.node import Node

SHORT = 12
"""So many lines of a function are shown whole."""


@functools.cache
def formula_of(cls: type[Node]) -> tuple[str, ...]:
    """The lines that tell how this kind of node computes its gradients; none for one that has no formula.

    >>> from autograph_cli.torch._core.operation import table
    >>> formula_of(table["tanh"].node)
    ('self: f.tanh_backward(grad, result)',)
    """
    function = getattr(cls, "_forward_cls", None)
    if function is not None:
        return _source_of(function._user_backward())
    operation: Any = cls._operation
    if operation is None:
        return ()
    lines: list[str] = []
    for derivative in operation.derivatives:
        text = operation.formula_text(derivative.inputs[0])
        lines.append(f"{', '.join(derivative.inputs)}: {text}")
        if text.startswith(f"{derivative.formula.__name__}("):
            lines += _source_of(derivative.formula, short=True)
    return tuple(lines)


def _source_of(function: Any, *, short: bool = False) -> tuple[str, ...]:
    """The lines of a function, blank ones and its docstring left out; only if they are few, where `short`."""
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):  # a script from standard input that is gone, or a function that is no Python
        return ()
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if line.startswith(("def ", "async def "))), 0)
    lines = lines[start:]
    return () if short and len(lines) > SHORT else tuple(lines)
