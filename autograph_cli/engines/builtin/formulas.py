"""The derivatives of a node as the table of operations has them."""

from __future__ import annotations

import functools
from typing import Any

from autograph_cli.engines.builtin.readable import readable, readable_source
from autograph_cli.engines.operations import source_of
from autograph_cli.torch._core.tape.node import Node

SHORT = 8
"""The most lines of a function that are shown whole."""


@functools.cache
def formula_of(cls: type[Node]) -> tuple[str, ...]:
    """The lines that tell how this kind of node computes its gradients; none for one that has no formula.

    >>> from autograph_cli.torch._core.operations.operation import table
    >>> formula_of(table["tanh"].node)
    ('self: tanh_backward(grad, result)',)
    """
    function = getattr(cls, "_forward_cls", None)
    if function is not None:
        return source_of(function._ag_user_backward())
    operation: Any = cls._ag_operation
    if operation is None:
        return ()
    lines: list[str] = []
    for derivative in operation.derivatives:
        lines.append(f"{', '.join(derivative.inputs)}: {readable(derivative.formula)}")
        source = readable_source(derivative.formula)
        lines += source if len(source) <= SHORT else ()
    return tuple(lines)
