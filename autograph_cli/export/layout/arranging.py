"""The layout of one level of a picture: the whole picture, or the inside of one frame."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from autograph_cli.export.layout.compound import BOTTOM, TOP, Level, Plan, Port
from autograph_cli.export.layout.coordinates import across
from autograph_cli.export.layout.direction import Direction
from autograph_cli.export.layout.ordering import SMALL, Web, crossings_in, weave
from autograph_cli.export.layout.placed import HEAD, Line, Rectangle
from autograph_cli.export.layout.routes import Fixed, Row, label_points, routes
from autograph_cli.export.scene.records import Frame
from autograph_cli.export.style import text_width

BARE, RISE, CROWDED = 18.0, 25.0, 34.0
"""The least height between two rows: with no label at the arrows between them, with a few, and with many aside."""
FEW, ALMOST = 2, 2.0
"""The most arrows that count as few, and the most points aside that count as straight."""
BESIDE_LABEL = 14.0
"""The length of an arrow before and after its label, taken together, in a picture to the right."""
SLOPE, HIGHEST = 0.04, 36.0
"""The height added for each point that an edge leads aside, and the most that is added."""
PAD, BETWEEN, HEADING = 10.0, 10.0, 22.0
"""Inside a band, between two bands, and the height of a band's title."""
FRAME_PAD, FRAME_HEADING, FRAME_TITLE = 7.0, 16.0, 10
"""Inside a frame, the height of its title, and the title's font size."""
ASIDE = 30.0
"""The room above and below from which on a box does not stand amid its row."""
ENTRY, STRAIGHT_ENTRY = 11.0, 3.0
"""The least height between the border of a frame, or its title, and the next row, where an arrow passes, and where all
of them pass straight."""


BOTH = TOP, BOTTOM
TURNS = (
    (BOTH, False),
    (BOTH, True),
    ((TOP,), False),
    ((BOTTOM,), False),
    (BOTH, True),
    ((BOTTOM,), True),
    (BOTH, False),
)
"""Turn by turn the sides whose ports take the order of what is outside, and whether frames are taken to follow with
their own ports whatever order there is around them."""
FEW_ITEMS = 150
"""Boxes, frames and ports up to which there is more than one turn."""


_remembered = lru_cache(maxsize=500)(weave)
"""`weave`: in turn after turn, and in picture after picture, most levels are as they were."""


class Shape(NamedTuple):
    """The size of an item, and whether it is an ellipse."""

    width: float
    height: float
    round: bool = False


class Arranged(Struct, frozen=True):
    """One level with positions; of a frame from its left upper corner."""

    positions: tuple[Rectangle, ...]
    """The places of its items."""
    lines: tuple[Line, ...]
    """The courses of its wires."""
    bounds: tuple[tuple[float, float], ...]
    """The upper and lower end of each band, the highest first."""
    left: float
    right: float
    height: float = 0.0
    title: float = 0.0
    """The point at which the title of a frame starts."""


def order(plan: Plan) -> int:
    """Order the rows of all levels so that few wires cross; return how many do.

    First from the inside out, which tells what order suits the ports of a frame; then back, with the ports in the order
    of what is on the other side of them.
    """
    for level in reversed(plan.levels):
        _weave(plan, level, {})
    return _turn(plan, *TURNS[0])


def order_again(plan: Plan, fewest: int) -> int:
    """Order the rows once more where so many wires cross, in several turns; return how many cross in the best of them,
    which stays."""
    if plan.quick or sum(len(level.row) for level in plan.levels) > FEW_ITEMS:
        return fewest
    kept = [level.web for level in plan.levels]
    for sides, free in TURNS[1:] if any(level.ports for level in plan.levels) else ():
        if not fewest:
            break
        crossed = _turn(plan, sides, free)
        if crossed < fewest:
            kept, fewest = [level.web for level in plan.levels], crossed
    for level, web in zip(plan.levels, kept, strict=True):
        level.web = web
    return fewest


def _turn(plan: Plan, sides: Sequence[int], free: bool) -> int:
    if free:
        _weave(plan, plan.levels[0], {}, free=True)
    for around in plan.levels:
        for level in _with_ports(plan, around, upwards=sides == (BOTTOM,)):
            _weave(plan, level, _ports_in_order(plan, around, level, sides), free=free)
    for level in reversed(plan.levels) if len(sides) == 1 else ():
        _weave(plan, level, {} if level.web is None else _kept_ports(level))
    return _crossed(plan)


def _crossed(plan: Plan) -> int:
    return sum(crossings_in(level.web, _ends(plan, level)) for level in plan.levels if level.web is not None)


def _weave(plan: Plan, level: Level, fixed: Mapping[int, list[int]], *, free: bool = False) -> None:
    below, edges = plan.scene.data and level.frame >= 0, tuple([(wire.tail, wire.head) for wire in level.wires])
    ends = () if free else _ends(plan, level)
    given = tuple([(row, tuple(points)) for row, points in fixed.items()])
    its = _remembered if len(level.row) <= SMALL else weave
    level.web = its(len(level.row), edges, tuple(level.row), given, from_below=below, ends=ends, quick=plan.quick)


def _ends(plan: Plan, level: Level) -> tuple[tuple[tuple[int, int], float], ...]:
    """Return where wires end on the frames of a level, as `weave` wants to know it."""
    return tuple(
        [
            ((number, int(level.row[item] > level.row[other])), _part(plan.level(port.frame), port))
            for number, wire in enumerate(level.wires)
            for port, item, other in ((wire.tail_port, wire.tail, wire.head), (wire.head_port, wire.head, wire.tail))
            if port is not None
        ]
    )


def _part(level: Level, port: Port) -> float:
    """Return where on its side a port stands among the others, from -0.5 to 0.5."""
    if level.web is None:
        return 0.0
    row = level.web.rows[level.row[port.item]]
    return (row.index(port.item) + 1) / (len(row) + 1) - 0.5


def _with_ports(plan: Plan, around: Level, *, upwards: bool) -> list[Level]:
    """The frames on a level that have ports, from the top down or the other way."""
    items = [(around.row[item], frame) for item, frame in enumerate(around.frames) if frame >= 0]
    return [plan.level(frame) for _, frame in sorted(items, reverse=upwards) if plan.level(frame).ports]


def _kept_ports(level: Level) -> dict[int, list[int]]:
    """The rows of the ports of a frame as they are."""
    assert level.web is not None
    rows = {level.row[port.item] for port in level.ports}
    return {row: list(level.web.rows[row]) for row in rows}


def _ports_in_order(plan: Plan, around: Level, level: Level, sides: Sequence[int]) -> dict[int, list[int]]:
    """The rows of the ports of a frame, on these sides, by the positions of the points next to them."""
    web = around.web
    assert web is not None
    position = {point: number for points in web.rows for number, point in enumerate(points)}
    near: dict[int, list[float]] = {}
    for wire, chain in zip(around.wires, web.chains, strict=True):
        for port, mine, other, far in (
            (wire.tail_port, wire.tail, wire.head, wire.head_port),
            (wire.head_port, wire.head, wire.tail, wire.tail_port),
        ):
            if port is not None and port.frame == level.frame and port.side in sides:
                next_to = chain[1] if chain[0] == mine else chain[-2]
                # Of another frame, in the order of its ports.
                fine = _part(plan.level(far.frame), far) if next_to == other and far is not None else 0.0
                near.setdefault(port.item, []).append(position[next_to] + fine)
    fixed: dict[int, list[int]] = {}
    for item in sorted(near, key=lambda item: (math.fsum(near[item]) / len(near[item]), item)):
        fixed.setdefault(level.row[item], []).append(item)
    return fixed


def arrange(
    level: Level,
    shapes: Sequence[Shape],
    band: Sequence[int],
    frame: Frame | None,
    data: bool,
    way: Direction,
    least: Mapping[int, float],
) -> Arranged:
    """Lay out a level whose items have these shapes; `band` is that of each item; none where bands are not drawn.

    `least` are heights that bands have at least.
    """
    web = level.web
    assert web is not None
    count = len(shapes)
    labelled = label_points(level.wires, web)
    widths, heights = _sizes(level, web, shapes, labelled, way)
    fixed = _fixed(level, web, shapes)
    ports = {port.item for port in level.ports if not port.beside}
    x = across(web, widths, count, root_below=data, aside=_aside(web, fixed), main=ports)
    left, right, title = _sides(level, frame, x, widths, way)
    x = [value - left for value in x]
    rise = _rises(level, web, x, fixed, way)
    if frame is not None:
        rows, bounds, height = _rows_in_frame(level, web, x, heights, rise, frame, way)
    else:
        rows, bounds, height = _rows(web, x, heights, rise, band, way, least)
    middles = _middles(web, rows, shapes)
    positions = tuple(Rectangle(x[item], middles[item], *shapes[item]) for item in range(count))
    for port in level.ports:
        port.x = x[port.item]
    lines = routes(level.wires, web, x, rows, positions, fixed, labelled, way)
    return Arranged(positions, tuple(lines), bounds, left, right, height, title - left)


def _sizes(
    level: Level, web: Web, shapes: Sequence[Shape], labelled: Sequence[int], way: Direction
) -> tuple[list[float], list[float]]:
    """Return the width and the height that each point takes: an item, or the label of a wire."""
    widths = [shape.width for shape in shapes] + [0.0] * (len(web.row) - len(shapes))
    heights = [shape.height for shape in shapes] + [0.0] * (len(web.row) - len(shapes))
    ends = Counter((point, side) for chain in web.chains for side, point in enumerate((chain[0], chain[-1])))
    for wire, chain, at in zip(level.wires, web.chains, labelled, strict=True):
        if len(chain) > 2:
            widths[at] = way.across(wire.label)
            heights[at] = way.along(wire.label) + 4 if way.right and wire.label else 0.0
            continue
        for side, point in enumerate(chain):
            if wire.label and ends[point, side] == 1:  # its label stands straight above or below the box
                widths[point] = max(widths[point], way.across(wire.label) + 4)
    return widths, heights


def _sides(
    level: Level, frame: Frame | None, x: Sequence[float], widths: Sequence[float], way: Direction
) -> tuple[float, float, float]:
    """Return the left and the right end of a level, and where the title of its frame begins."""
    left = min(middle - max(width / 2, 4.0) for middle, width in zip(x, widths, strict=True))
    right = max(middle + max(width / 2, 4.0) for middle, width in zip(x, widths, strict=True))
    if frame is None or frame.bare:
        return left, right, 0.0
    if way.right:
        return left - FRAME_PAD - FRAME_HEADING, right + FRAME_PAD, 0.0
    return _with_title(frame, [x[port.item] for port in level.ports if port.side == TOP], left, right)


def _middles(web: Web, rows: Sequence[Row], shapes: Sequence[Shape]) -> list[float]:
    """Return how low items are laid out: amid their row; beside what is much taller, on the side of it that all their
    arrows are on."""
    below, above = {chain[0] for chain in web.chains}, {chain[-1] for chain in web.chains}
    middles = []
    for item, shape in enumerate(shapes):
        row = rows[web.row[item]]
        slack = (row.bottom - row.top - shape.height) / 2
        side = (item in below) - (item in above) if slack > ASIDE else 0
        middles.append((row.top + row.bottom) / 2 + side * slack)
    return middles


def _fixed(level: Level, web: Web, shapes: Sequence[Shape]) -> Fixed:
    """Return where wires meet the ports of frames, from the middle of the frame."""
    fixed = {}
    for number, (wire, chain) in enumerate(zip(level.wires, web.chains, strict=True)):
        for port, item in ((wire.tail_port, wire.tail), (wire.head_port, wire.head)):
            if port is not None:
                fixed[number, int(chain[0] != item)] = port.x - shapes[item].width / 2
    return fixed


def _aside(web: Web, fixed: Fixed) -> Mapping[tuple[int, int], float] | None:
    """Return how far from its middle a point would like the next one on an edge to stand."""
    if not fixed:
        return None
    sides: dict[tuple[int, int], list[float]] = {}
    for number in dict.fromkeys(number for number, _ in fixed):
        for upper, lower in ((web.chains[number][0], web.chains[number][1]), web.chains[number][-2:]):
            at_upper = fixed.get((number, 0), 0.0) if upper == web.chains[number][0] else 0.0
            at_lower = fixed.get((number, 1), 0.0) if lower == web.chains[number][-1] else 0.0
            sides.setdefault((upper, lower), []).append(at_upper - at_lower)
            sides.setdefault((lower, upper), []).append(at_lower - at_upper)
    return {pair: math.fsum(values) / len(values) for pair, values in sides.items()}


def _with_title(frame: Frame, passing: Sequence[float], left: float, right: float) -> tuple[float, float, float]:
    """The ends of a frame around this inside, and where its title starts, beside all that passes."""
    width = text_width(frame.title) * FRAME_TITLE
    left, right = left - FRAME_PAD, right + FRAME_PAD
    gaps = [(a + 5, b - 5) for a, b in pairwise([left + 2, *sorted(passing), right - 2])]
    for start, end in gaps:
        if end - start >= width:
            return left, right, start
    first, last = gaps[0], gaps[-1]
    if first[1] - first[0] > last[1] - last[0] + 1:
        start = first[1] - width
        return min(left, start - 7), right, start
    return left, max(right, last[0] + width + 7), last[0]


def _rises(level: Level, web: Web, x: Sequence[float], fixed: Fixed, way: Direction) -> list[float]:
    """The least height above each row."""
    labels: list[list[float]] = [[] for _ in web.rows]
    aside: Counter[int] = Counter()
    spots: list[list[tuple[float, float]]] = [[] for _ in web.rows]
    for number, (wire, chain) in enumerate(zip(level.wires, web.chains, strict=True)):
        if wire.label and len(chain) == 2:
            row = web.row[chain[1]]
            labels[row].append(way.along(wire.label))
            start, end = (x[point] + fixed.get((number, side), 0.0) for side, point in enumerate(chain))
            aside[row] += abs(start - end) > ALMOST
            half = way.across(wire.label) / 2
            spots[row].append(((start + end) / 2 - half, (start + end) / 2 + half))
    if way.right:
        return [max(its) + HEAD + BESIDE_LABEL if its else BARE for its in labels]
    for row, its in enumerate(spots):
        if any(other < end for (_, end), (other, _) in pairwise(sorted(its))):
            aside[row] += FEW + 1
    return [CROWDED if aside[row] > FEW else RISE if its else BARE for row, its in enumerate(labels)]


def _tall(web: Web, x: Sequence[float], heights: Sequence[float]) -> tuple[list[float], list[float]]:
    """The height of each row, and how far aside edges lead below it."""
    tall = [max((heights[point] for point in points), default=0.0) for points in web.rows]
    aside = [0.0] * len(web.rows)
    for chain in web.chains:
        for upper, lower in pairwise(chain):
            aside[web.row[upper]] = max(aside[web.row[upper]], abs(x[upper] - x[lower]))
    return tall, aside


def _rows(
    web: Web,
    x: Sequence[float],
    heights: Sequence[float],
    rise: Sequence[float],
    band: Sequence[int],
    way: Direction,
    least: Mapping[int, float],
) -> tuple[list[Row], tuple[tuple[float, float], ...], float]:
    """Return where each row is, from where to where each band reaches, and the height of it all."""
    tall, aside = _tall(web, x, heights)
    of_row = [next((band[point] for point in points if point < len(band)), None) for points in web.rows]
    several, heading = bool(band), 0.0 if way.right else HEADING
    y, rows, bounds = 0.0, [], []
    start = y
    if several:
        y += heading + 4 if heading else PAD
    for number, height in enumerate(tall):
        curves_end = y - HEAD
        if number:
            extra = min(HIGHEST, SLOPE * aside[number - 1])
            if of_row[number] != of_row[number - 1]:
                bounds.append((start, max(y + PAD, start + least.get(of_row[number - 1] or 0, 0.0))))
                start = bounds[-1][1] + BETWEEN + max(0.0, extra - HEAD)  # there is as much more between two bands
                start = max(start, y + rise[number] - HEAD) if way.right else start
                curves_end = start
                y = start + (heading or PAD) + HEAD
            else:
                y += rise[number] + extra
                curves_end = y - HEAD
        rows.append(Row(y, y + height, curves_end))
        y += height
    bounds.append((start, max(y + PAD, start + least.get(of_row[-1] or 0, 0.0))))
    return rows, tuple(bounds) if several else (), y


def _all_apart(level: Level) -> bool:
    """Return whether the wires through the top of a frame lead to different items."""
    tops = {port.item for port in level.ports if port.side == TOP}
    far = [wire.head if wire.tail in tops else wire.tail for wire in level.wires if {wire.tail, wire.head} & tops]
    return len(set(far)) == len(far)


def _rows_in_frame(
    level: Level,
    web: Web,
    x: Sequence[float],
    heights: Sequence[float],
    rise: Sequence[float],
    frame: Frame,
    way: Direction,
) -> tuple[list[Row], tuple[tuple[float, float], ...], float]:
    """The rows in a frame, below its title or beside it; its ports are on the border."""
    tall, aside = _tall(web, x, heights)
    heading = 0.0 if way.right or frame.bare else FRAME_HEADING
    entry = STRAIGHT_ENTRY if aside[0] < 1 and _all_apart(level) else ENTRY
    entry = 0.0 if frame.bare else max(entry, FRAME_PAD) if way.right else entry
    first = 0.0 if frame.bare else FRAME_PAD if way.right else FRAME_PAD - 5
    last = 0.0 if frame.bare else FRAME_PAD
    sides = {port.side for port in level.ports}
    rows: list[Row] = [Row(0.0, heading, 0.0)] if TOP in sides else []
    y = heading
    for number in range(len(rows), len(tall) - (BOTTOM in sides)):
        extra = min(HIGHEST, SLOPE * aside[number - 1]) if number else 0.0
        y += (rise[number] if number > (TOP in sides) else entry if number else first) + extra
        rows.append(Row(y, y + tall[number], y - HEAD))
        y += tall[number]
    least = text_width(frame.title) * FRAME_TITLE + 2 * FRAME_PAD if way.right and not frame.bare else 0.0
    if BOTTOM in sides:
        turned = aside[len(rows) - 1]
        y = max(least, y + (last if turned < 1 else ENTRY + min(HIGHEST, SLOPE * turned)))
        rows.append(Row(y, y, y))
        return rows, (), y
    return rows, (), max(least, y + last)
