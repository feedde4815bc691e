"""The steps that are kept: `first`, `last`, `all`, `3`, `10:20`, `1::100`, or several with commas."""

from __future__ import annotations

import re
import sys

from msgspec import Struct

USUAL = "first,last"
"""The steps that are kept unless told."""
COMPARED = "1:9,last"
"""The steps whose numbers are recorded, so that two runs can be compared from the beginning on."""


KNOWN = re.compile(r"first|last|all|\d{1,18}|\d{0,18}:\d{0,18}(:[1-9]\d{0,17})?")
"""The forms of steps that are no names."""
ALL = range(sys.maxsize)


class Selection(Struct, frozen=True):
    """A choice of steps, which count from 1; ranges are as Python's, their end left out.

    >>> chosen = Selection.parse("first,last,10:12")
    >>> [number for number in range(20) if chosen.keeps(number)], chosen.last
    ([0, 9, 10], True)
    """

    ranges: tuple[range, ...] = ()
    """The steps that are kept by number; here, and wherever a number is not spoken of, they count from 0."""
    last: bool = False
    """True if the last step of each kind is kept, whichever it is."""
    named: tuple[range, ...] = ()
    """The steps that were asked for one by one or by a range, and the first one: few enough to be worth extra work."""
    first: bool = False
    """True if the first step of each kind is kept."""

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read what `--steps` takes; raises `ValueError` for a part that is none of its forms."""
        ranges: list[range] = []
        named: list[range] = []
        parts = [part.strip() for part in text.split(",")]
        for part in parts:
            if part == "all":
                ranges.append(ALL)
            elif part != "last":
                named.append(_range(part))
        named = [those for those in named if those]  # no step has the number 0
        return cls((*ranges, *named), "last" in parts, tuple(named), "first" in parts)

    @classmethod
    def divided(cls, text: str) -> tuple[Selection, str, tuple[str, ...]]:
        """Read a list in which steps may stand by a line or a root, as in `first,train.py:12,loss_g`: the others, the
        steps to record so that all are among them, and the names.

        >>> Selection.divided("3,loss_g")[1:]
        ('3,first,last', ('loss_g',))
        """
        parts = [part.strip() for part in text.split(",")]
        names = tuple(part for part in parts if not KNOWN.fullmatch(part))
        others = [part for part in parts if part not in names]
        recorded = dict.fromkeys([*others, *(USUAL.split(",") if names else ())])
        return cls.parse(",".join(others)) if others else cls(), ",".join(recorded), names

    def keeps(self, number: int) -> bool:
        """Return whether this step is kept by its number."""
        return any(number in those for those in self.ranges)

    def after(self, number: int) -> int:
        """Return the next step after this one that is kept by its number, or a number that no step comes to."""
        following = [those[max(0, (number - those.start) // those.step + 1) :] for those in self.ranges]
        return min((those.start for those in following if those), default=sys.maxsize)

    def names(self, number: int) -> bool:
        """Return whether this step was asked for by its number, as `first`, or by a range."""
        return any(number in those for those in self.named)


def _range(part: str) -> range:
    if part == "first":
        return range(1)
    start, colon, rest = part.partition(":")
    stop, _, every = rest.partition(":")
    try:
        if not colon:
            return range(int(start) - 1, int(start))
        if start or rest:
            end = max(int(stop) - 1, 0) if stop else sys.maxsize
            return range(max(int(start or 1) - 1, 0), end, int(every or 1))
    except ValueError:
        pass
    raise ValueError(f"{part!r} is none of: first, last, all, a number such as 3, a range such as 10:20 or 1::100.")


class Progress(Struct, frozen=True):
    """The progress of a run."""

    steps: int
    nodes: int
    """The new operations, leaves and inputs of the step that has just ended."""
    kept: int
    """Steps that are kept for good."""
