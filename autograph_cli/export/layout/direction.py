"""The direction in which a picture runs: down the page, or to the right.

A picture to the right is laid out as one that runs down, with width and height of all in it exchanged, and then turned.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from autograph_cli.export.style import EDGE, label_width

T = TypeVar("T")
DIRECTIONS = ("auto", "down", "right")
"""The words for a direction, the default first."""
AROUND = 2.0
"""Points that a label keeps free above and below it."""


class Direction(NamedTuple):
    """The sizes of things across the arrows of a picture and along them."""

    right: bool = False

    def across(self, label: str) -> float:
        """The points that a label takes beside its arrow, from the one side to the other."""
        if not label:
            return 0.0
        return EDGE + AROUND if self.right else label_width(label)

    def along(self, label: str) -> float:
        """The points of its arrow that a label takes."""
        return label_width(label) if self.right else float(EDGE)

    def pick(self, down: T, right: T) -> T:
        """The first of two in a picture that runs down, the second in one to the right."""
        return right if self.right else down

    def turned(self, width: float, height: float) -> tuple[float, float]:
        """The size of a box for the layout."""
        return (height, width) if self.right else (width, height)


DOWN, RIGHT = Direction(), Direction(right=True)
