"""Derivatives written out as a person would: `dloss/dw = 2·y·(1 - y²)·x`, from a recorded graph."""

from autograph_cli.formulas.records import Formula, FormulaError
from autograph_cli.graph import Graph

__all__ = ["Formula", "FormulaError", "formulas_of", "why_none"]


def formulas_of(graph: Graph) -> tuple[Formula, ...]:
    """The formulas of a step's named tensors and of its derivatives, each after those that it stands on.

    Each gave the numbers of the graph when that was run again on others; what did not, or cannot be run, is left out.
    Raises `FormulaError`: without SymPy, for a graph of too many operations, or one in which nothing has a name.
    """
    try:
        from autograph_cli.formulas.derivation import derive  # SymPy is an extra; and the engine
    except ModuleNotFoundError as error:
        if error.name != "sympy":
            raise
        raise FormulaError("formulas need SymPy: pip install sympy") from None
    return derive(graph)


def why_none(graph: Graph) -> str:
    """Return a sentence on a graph without formulas: the first operation of the script that cannot be run again."""
    from autograph_cli.formulas.replay import played_operations

    known = played_operations(graph)
    own = (node for node in graph if node.kind == "operation" and node.pass_id is None)
    unknown = next((node for node in own if node.id not in known), None)
    if unknown is None:
        return "no formula gives the numbers of this graph, as far as it can be run again"
    where = f" at {unknown.source.file}:{unknown.source.line}" if unknown.source is not None else ""
    return (
        f"a formula is checked by running its operations again, and {unknown.op or unknown.name}{where} cannot be: it "
        "is a custom Function, it is random, or an argument of it is not recorded"
    )
