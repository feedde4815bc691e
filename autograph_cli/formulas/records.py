"""A formula as a record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autograph_cli.graph import GraphError


class FormulaError(GraphError):
    """The reason why there are no formulas, as a sentence."""


class Formula(Struct, frozen=True):
    """One line: what a name of the script is, or the derivative of one name by another."""

    name: str
    """`y`, `dloss/dw`, or `g = dloss/dw`."""
    order: int
    """0 of what the script computed; of a derivative, the order of the pass that made it."""
    text: str
    latex: str
    """The whole line as LaTeX, for mathematics mode."""
    expr: Any
    """The SymPy expression."""
    pass_id: int | None = None
    inexact: bool = False
    """True if it holds, or stands on, an operation without a rule."""

    def __str__(self) -> str:
        return f"{self.name} = {self.text}"
