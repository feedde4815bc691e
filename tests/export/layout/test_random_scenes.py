"""Pictures of layered graphs made by chance: nothing lies on anything else, and few arrows cross."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import pairwise

import pytest

from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.layout.fitting import crossings, within_budget
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Line, Placed
from autograph_cli.export.style import EDGE, label_width
from tests.export.layout.random_scenes import random_scene
from tests.export.measured_svg import NARROW, Svg

MANY = int(os.environ.get("AUTOGRAPH_SCENES", "24"))
FIRST = 1_000
"""The first seed; those of benchmarks/layouts.py are below."""
KNOWN = {"1021, whole", "1021, on a page"}
"""Pictures in which two labels still lie on each other: of arrows close together from one frame straight to the next."""
MOST, MOST_TOGETHER = 5, 0.7
"""Arrows that cross in one picture at most, and in all on average."""


@pytest.fixture(scope="module")
def pictures() -> dict[str, Placed]:
    found = {}
    for seed in range(FIRST, FIRST + MANY):
        found[f"{seed}, whole"] = lay_out(random_scene(seed))
        found[f"{seed}, on a page"] = within_budget([(random_scene(seed), False)], "auto", columns=True)
    return found


def test_nothing_lies_on_anything_else(pictures: dict[str, Placed]) -> None:
    covered = {name: its for name, placed in pictures.items() if (its := Svg(to_svg(placed)).covered())}
    assert covered.keys() <= KNOWN, covered


def test_no_label_lies_on_an_arrow_of_others(pictures: dict[str, Placed]) -> None:
    assert {name: its for name, placed in pictures.items() if (its := list(on_foreign(placed)))} == {}


def test_few_arrows_cross(pictures: dict[str, Placed]) -> None:
    counts = [crossings(placed, 99) for name, placed in pictures.items()]
    assert max(counts) <= MOST
    assert sum(counts) <= MOST_TOGETHER * len(counts)


def test_pictures_on_a_page_have_its_shape(pictures: dict[str, Placed]) -> None:
    shapes = [placed.height / placed.width for name, placed in pictures.items() if name.endswith("page")]
    assert all(0.4 <= shape <= 1.8 for shape in shapes)


def on_foreign(placed: Placed) -> Iterator[tuple[str, str, str]]:
    """Yield the labels on arrows that neither begin nor end where their own does, and these."""
    drawn = list(zip(placed.scene.arrows, placed.lines, strict=True))
    for arrow, line in drawn:
        if arrow.label and line.label:
            for other, its in drawn:
                apart = arrow.tail != other.tail and arrow.head != other.head
                if apart and _meets(its, *line.label, label_width(arrow.label) * NARROW / 2):
                    yield arrow.label, other.tail, other.head


def _meets(line: Line, x: float, y: float, half: float) -> bool:
    for a, b in pairwise(line.points()):
        steps = math.ceil(math.dist(a, b)) + 1
        for step in range(steps + 1):
            px, py = (a[axis] + (b[axis] - a[axis]) * step / steps for axis in (0, 1))
            if abs(px - x) < half and abs(py - y) < EDGE * 0.4:
                return True
    return False
