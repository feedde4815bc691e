"""Which steps are kept: `first`, `last`, `all`, `3`, `10:20`, or several with commas."""

from __future__ import annotations

from msgspec import Struct

ALL_UNTIL, EACH = 16, 64
"""Nobody knows which step is the last. Where it costs something to follow a step, so many at the beginning may be it,
and each one of so many after them."""

USUAL = "first,last"
"""The steps that are kept unless told."""
COMPARED = "0:8,last"
"""Those where numbers are recorded, so that two runs can be compared from the beginning on."""


class Selection(Struct, frozen=True):
    """A choice of steps; ranges are as Python's, their end left out.

    >>> chosen = Selection.parse("first,last,10:12")
    >>> [number for number in range(20) if chosen.keeps(number)], chosen.last
    ([0, 10, 11], True)
    """

    ranges: tuple[tuple[int, int | None], ...] = ()
    """The steps that are kept by number."""
    last: bool = False
    """Whether the last step is kept, whichever it is."""
    named: tuple[tuple[int, int | None], ...] = ()
    """The steps that were asked for one by one or by a range, and the first one: few enough to be worth extra work."""

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read what `--steps` takes; raises `ValueError` for a part that is none of its forms."""
        ranges: list[tuple[int, int | None]] = []
        named: list[tuple[int, int | None]] = []
        last = False
        for part in (part.strip() for part in text.split(",")):
            if part == "last":
                last = True
            elif part == "all":
                ranges.append((0, None))
            else:
                named.append(_range(part))
        return cls((*ranges, *named), last, tuple(named))

    def keeps(self, number: int) -> bool:
        """Return whether this step is kept by its number."""
        return _within(number, self.ranges)

    def names(self, number: int) -> bool:
        """Return whether this step was asked for by its number, as `first`, or by a range."""
        return _within(number, self.named)


def may_be_last(number: int) -> bool:
    """Return whether this step is followed for the case that it is the last one."""
    return number < ALL_UNTIL or number % EACH == 0


def _range(part: str) -> tuple[int, int | None]:
    if part == "first":
        return 0, 1
    start, colon, stop = part.partition(":")
    try:
        if not colon:
            return int(start), int(start) + 1
        if start or stop:
            return int(start or 0), int(stop) if stop else None
    except ValueError:
        pass
    raise ValueError(f"{part!r} is none of: first, last, all, a number such as 3, a range such as 10:20.")


def _within(number: int, ranges: tuple[tuple[int, int | None], ...]) -> bool:
    return any(start <= number and (stop is None or number < stop) for start, stop in ranges)


class Progress(Struct, frozen=True):
    """How far a run has come."""

    steps: int
    nodes: int
    """Of the step that has just ended: operations, leaves and inputs that were new."""
    kept: int
    """Steps that are kept for good."""
