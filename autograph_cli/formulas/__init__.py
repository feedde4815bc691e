"""Derivatives written out as a person would: `dloss/dw = 2·y·(1 - y²)·x`, from a recorded graph."""

from autograph_cli.formulas.records import Formula, FormulaError
from autograph_cli.graph import Graph

__all__ = ["Formula", "FormulaError", "formulas_of"]


def formulas_of(graph: Graph, *, needed: bool = False) -> tuple[Formula, ...]:
    """The formulas of a step's named tensors and of its derivatives, each after those that it stands on.

    Each gave the numbers of the graph when that was run again on others; what did not, or cannot be run, is left out.
    Raises `FormulaError`: without SymPy, for a graph of too many operations, or one in which nothing has a name; with
    `needed`, also where there are none.
    """
    try:
        from autograph_cli.formulas.derivation import derive  # SymPy is an extra; and the engine
    except ModuleNotFoundError as error:
        if error.name != "sympy":
            raise
        raise FormulaError("formulas need SymPy: pip install sympy") from None
    return derive(graph, needed=needed)
