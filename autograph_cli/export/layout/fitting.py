"""Which way a picture runs, and in how many columns, so that it fits a page."""

from __future__ import annotations

from autograph_cli.export.layout.breaks import WIDEST
from autograph_cli.export.layout.columns import LOW, in_columns, misfit
from autograph_cli.export.layout.direction import DOWN, RIGHT, Direction
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.scene.scene import Scene

BETTER = 0.3
"""How much better a picture to the right must fit a page than one that runs down, which is read more easily."""
MOST_TRIED = 400
"""Boxes up to which a picture is tried both ways."""


def fitted(scene: Scene, direction: str, *, columns: bool) -> Placed:
    """The scene laid out `down` or `right`, or as fits better (`auto`), in `columns` or rows if it is long."""

    def laid_out(way: Direction) -> Placed:
        placed = lay_out(scene, way)
        return in_columns(placed, way) if columns else placed

    if direction == "right":
        return laid_out(RIGHT)
    down = laid_out(DOWN)
    if direction == "down" or len(scene.boxes) > MOST_TRIED or _is_small(down) or misfit(down) <= BETTER:
        return down
    right = laid_out(RIGHT)
    return right if misfit(right) + BETTER < misfit(down) else down


def runs_right(scene: Scene, direction: str) -> bool:
    """Whether a scene that another program lays out should run to the right."""
    if direction != "auto" or len(scene.boxes) > MOST_TRIED or not scene.boxes:
        return direction == "right"
    down = lay_out(scene)
    return not _is_small(down) and misfit(lay_out(scene, RIGHT)) + BETTER < misfit(down)


def _is_small(placed: Placed) -> bool:
    """Whether a picture fits a page whatever its shape: so what is alike looks alike."""
    return placed.height <= LOW and placed.width <= WIDEST
