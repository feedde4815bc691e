"""The steps that are kept: `first`, `last`, `all`, `3`, `10:20`, or several with commas."""

from __future__ import annotations

import sys

from msgspec import Struct

USUAL = "first,last"
"""The steps that are kept unless told."""
COMPARED = "1:9,last"
"""The steps whose numbers are recorded, so that two runs can be compared from the beginning on."""


class Selection(Struct, frozen=True):
    """A choice of steps, which count from 1; ranges are as Python's, their end left out.

    >>> chosen = Selection.parse("first,last,10:12")
    >>> [number for number in range(20) if chosen.keeps(number)], chosen.last
    ([0, 9, 10], True)
    """

    ranges: tuple[tuple[int, int | None], ...] = ()
    """The steps that are kept by number; here, and wherever a number is not spoken of, they count from 0."""
    last: bool = False
    """True if the last step of each kind is kept, whichever it is."""
    named: tuple[tuple[int, int | None], ...] = ()
    """The steps that were asked for one by one or by a range, and the first one: few enough to be worth extra work."""
    first: bool = False
    """True if the first step of each kind is kept."""

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read what `--steps` takes; raises `ValueError` for a part that is none of its forms."""
        ranges: list[tuple[int, int | None]] = []
        named: list[tuple[int, int | None]] = []
        parts = [part.strip() for part in text.split(",")]
        for part in parts:
            if part == "all":
                ranges.append((0, None))
            elif part != "last":
                named.append(_range(part))
        named = [(start, stop) for start, stop in named if stop != 0]  # no step has the number 0
        return cls((*ranges, *named), "last" in parts, tuple(named), "first" in parts)

    def keeps(self, number: int) -> bool:
        """Return whether this step is kept by its number."""
        return _within(number, self.ranges)

    def after(self, number: int) -> int:
        """Return the next step after this one that is kept by its number, or a number that no step comes to."""
        following = [max(start, number + 1) for start, stop in self.ranges if stop is None or stop > number + 1]
        return min(following, default=sys.maxsize)

    def names(self, number: int) -> bool:
        """Return whether this step was asked for by its number, as `first`, or by a range."""
        return _within(number, self.named)


def _range(part: str) -> tuple[int, int | None]:
    if part == "first":
        return 0, 1
    start, colon, stop = part.partition(":")
    try:
        if not colon:
            return int(start) - 1, int(start)
        if start or stop:
            return max(int(start or 1) - 1, 0), max(int(stop) - 1, 0) if stop else None
    except ValueError:
        pass
    raise ValueError(f"{part!r} is none of: first, last, all, a number such as 3, a range such as 10:20.")


def _within(number: int, ranges: tuple[tuple[int, int | None], ...]) -> bool:
    return any(start <= number and (stop is None or number < stop) for start, stop in ranges)


class Progress(Struct, frozen=True):
    """The progress of a run."""

    steps: int
    nodes: int
    """The new operations, leaves and inputs of the step that has just ended."""
    kept: int
    """Steps that are kept for good."""
