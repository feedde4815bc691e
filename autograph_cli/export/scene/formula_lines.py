"""Formulas in a picture, beside the band that computes them, and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.scene import Band, Scene, band_title
from autograph_cli.formulas import Formula

WIDEST = 90
"""Characters of a line beside a band."""


def with_formulas(scene: Scene, formulas: Sequence[Formula], view: str) -> Scene:
    """The scene with each formula beside the band of its order.

    A picture of one order gets a band around it: the forward view has what the script computed, the backward view its
    derivatives.
    """
    if scene.bands:
        bands = [replace(band, beside=_of(band, formulas)) for band in scene.bands]
        shown = {band.order for band in bands}
        above = [_short(str(formula)) for formula in formulas if formula.order not in shown]
        bands[-1] = replace(bands[-1], beside=(*bands[-1].beside, *above))  # of a last pass, which leaves no graph
        return replace(scene, bands=tuple(bands))
    number = scene.boxes[0].band
    order = 1 if view == "backward" else 0
    lines = tuple(_short(str(formula)) for formula in formulas if formula.order == order)
    return replace(scene, bands=(Band(number, band_title(2 * order), lines),)) if lines else scene


def _of(band: Band, formulas: Sequence[Formula]) -> tuple[str, ...]:
    """The formulas of a band: what was made from derivatives comes after the first of these."""
    first = next((position for position, formula in enumerate(formulas) if formula.order), len(formulas))
    made = [formulas[:first], formulas[first:]][band.number % 2] if band.order == 0 else formulas
    return tuple(_short(str(formula)) for formula in made if formula.order == band.order)


def _short(line: str) -> str:
    return line if len(line) <= WIDEST else line[: WIDEST - 1].rstrip() + "…"


def to_latex(formulas: Iterable[Formula], title: str) -> str:
    """The formulas as a list of aligned equations, to be included in a document that uses amsmath.

    >>> print(to_latex([], "a.py"), end="")
    % a.py; needs \\usepackage{amsmath}
    """
    lines = [rf"% {title}; needs \usepackage{{amsmath}}".replace("\n", " ")]
    order = -1
    rows: list[str] = []
    for formula in [*formulas, None]:
        if rows and (formula is None or formula.order != order):
            lines += [r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]
            rows = []
        if formula is not None:
            order = formula.order
            rows.append("  " + formula.latex.replace(" = ", " &= ", 1))
    return "\n".join(lines) + "\n"
