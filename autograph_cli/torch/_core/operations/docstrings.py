"""Docstrings of public functions: what a record says in words, and what follows from its other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .operation import Operation


def of_operation(op: Operation, doc: str) -> str:
    """`doc`, and what the record tells of broadcasting, dtypes and shapes."""
    facts = []
    if op.view:
        facts.append("The result shares the memory of `input`.")
    elif len(op.tensors) > 1 and (op.promotes or op.pointwise):
        facts.append("Arguments are broadcast; RuntimeError if their shapes do not fit.")
    elif op.pointwise:
        facts.append("The result has the shape of `input`.")
    if op.promotes:
        facts.append("They are cast to a common dtype.")
    if op.floating:
        facts.append("Integers and booleans become the default dtype.")
    return f"{doc}\n\n{' '.join(facts)}" if facts else doc


def in_place(name: str) -> str:
    """The docstring of `name_`."""
    return (
        f"`{name}` in place: overwrites `input` with the result and returns it.\n\n"
        "RuntimeError if `input` is a leaf that requires a gradient, or if the result has another shape or does not "
        "fit its dtype."
    )


def documented(run: Callable[..., Any], doc: str, name: str = "") -> Callable[..., Any]:
    """`run` with a docstring and, if it is given one, another name."""
    run.__doc__ = doc
    if name:
        run.__name__ = run.__qualname__ = name
    return run
