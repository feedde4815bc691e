"""Which way a picture runs, and in how many columns, so that it fits a page."""

from __future__ import annotations

import math

from autograph_cli.export.columns import LOW, SHAPE, WIDEST, in_columns
from autograph_cli.export.direction import RIGHT
from autograph_cli.export.layered import lay_out
from autograph_cli.export.placed import Placed
from autograph_cli.export.scene import Scene

BETTER = 0.3
"""How much better a picture to the right must fit a page than one that runs down, which is read more easily."""
SMALL_TEXT = 2.0
"""How much worse than a wrong shape a width is at which text gets too small."""
MOST_TRIED = 400
"""Boxes up to which a picture is tried both ways."""


def misfit(placed: Placed) -> float:
    """How badly a picture fits a page: 0 for 4:3, more the taller or wider it is, and for text that gets too small."""
    shape = abs(math.log(placed.height / placed.width / SHAPE))
    return shape + SMALL_TEXT * max(0.0, math.log(placed.width / WIDEST))


def fitted(scene: Scene, direction: str, *, columns: bool) -> Placed:
    """The scene laid out `down` or `right`, or as fits better (`auto`); down it may stand in several columns."""
    if direction == "right":
        return lay_out(scene, RIGHT)
    down = in_columns(lay_out(scene)) if columns else lay_out(scene)
    if direction == "down" or len(scene.boxes) > MOST_TRIED or _is_small(down):
        return down
    right = lay_out(scene, RIGHT)
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
