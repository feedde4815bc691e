"""What goes wrong when formulas are written."""


class FormulaError(Exception):
    """Why there are no formulas, as a sentence."""
