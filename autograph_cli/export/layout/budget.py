"""A picture small enough to be read on a page, by what it folds and not by how small it is."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from autograph_cli.export.layout.fitting import fitted
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.style import SUBTITLE, TITLE

WIDE, HIGH = 900.0, 1_200.0
"""Pixels that a page has for a picture."""
SMALLEST = 8.0
"""The height of text that can be read."""
FLATTEST, STEEPEST = 0.42, 1.75
"""Heights over widths between which a picture is neither a ribbon nor a tower."""
WHOLE = 30
"""Boxes below which no picture along the data is broken into columns."""
CAREFUL, CAREFULLY = 60, 0.8
"""Boxes from which on a picture is folded a little at a time, and to what part of them."""
FEWEST = 8


def within_budget(
    first: Scene, folded: Callable[[int], Scene], fewer: float, direction: str, *, columns: bool
) -> Placed:
    """The scene laid out, folded again and again until it fits a page; if nothing fits, what comes nearest.

    `folded` makes the scene with about as many boxes as it is told, each time `fewer` of them.
    """

    def laid_out(scene: Scene) -> Placed:
        whole = fitted(scene, direction, columns=False)
        if not columns or excess(whole) <= 1 or (scene.data and len(scene.boxes) < WHOLE):
            return whole
        return min(whole, fitted(scene, direction, columns=True), key=excess)

    best, limit = laid_out(first), len(first.boxes)
    while excess(best) > 1 and limit > FEWEST:
        limit = int(limit * (fewer if limit > CAREFUL else CAREFULLY))
        scene = folded(limit)
        if len(scene.boxes) < len(best.scene.boxes):
            best = min(best, laid_out(scene), key=excess)
    return shaped(best)


def excess(placed: Placed) -> float:
    """By how much a picture is too big for a page, at most 1 if it fits."""
    shrunk = min(1.0, WIDE / placed.width)
    least = min(SUBTITLE, TITLE) * shrunk
    return max(SMALLEST / least, placed.height * shrunk / HIGH)


def shaped(placed: Placed) -> Placed:
    """The picture on paper that is neither a ribbon nor a tower."""
    width = max(placed.width, placed.height / STEEPEST)
    height = max(placed.height, placed.width * FLATTEST)
    return replace(placed, width=width, height=height)
