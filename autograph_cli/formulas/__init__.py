"""Derivatives written out as a person would: `dloss/dw = 2·y·(1 - y²)·x`, from a recorded graph."""

from autograph_cli.formulas.derivation import Formula, formulas_of
from autograph_cli.formulas.errors import FormulaError

__all__ = ["Formula", "FormulaError", "formulas_of"]
