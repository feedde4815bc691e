"""The ways of arrows: straight down through the rows, curved between them, so that no arrow crosses a box."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from autograph_cli.export.layout.compound import Wire
from autograph_cli.export.layout.coordinates import packed
from autograph_cli.export.layout.direction import Direction
from autograph_cli.export.layout.ordering import Web
from autograph_cli.export.layout.placed import HEAD, Line, Point, Rectangle, Stroke
from autograph_cli.export.style import label_width

PORTS, NEXT_PORT, CLOSE = 0.76, 14.0, 9.0
"""The part of a box's width that arrows end on, and how far apart they like to be, and bear to be."""
STRIP = 64.0
"""Points that a strip of the picture is wide."""
ALONG = (0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8)
"""The places on a short arrow where its label may stand, the best first."""
FARTHER = 60
"""The points of other labels in a row that are as bad as one row more away from the middle."""
WORSE = 100.0
"""The cost of covering another label, beside that of being on another line."""
CROWDED = 120
"""The lines between two rows from which on labels no longer keep clear of all of them, which takes the square."""


class Row(Struct, frozen=True):
    """A row's upper and lower end, and where the curves that lead into it end."""

    top: float
    bottom: float
    curves_end: float


Fixed = Mapping[tuple[int, int], float]
"""The place where an edge, by number, must leave its upper box (0) or enter its lower one (1), right of its middle."""


def label_points(wires: Sequence[Wire], web: Web) -> list[int]:
    """For each long wire the point at which its label stands: amid it, but in no row full of labels; else -1."""
    taken: Counter[int] = Counter()
    points = []
    for wire, chain in zip(wires, web.chains, strict=True):
        if len(chain) == 2:
            points.append(-1)
            continue
        costs = [
            (taken[web.row[point]] + FARTHER * abs(position - len(chain) // 2), position)
            for position, point in enumerate(chain[1:-1], 1)
        ]
        points.append(chain[min(costs)[1]])
        taken[web.row[points[-1]]] += int(label_width(wire.label))
    return points


def routes(
    wires: Sequence[Wire],
    web: Web,
    x: Sequence[float],
    rows: Sequence[Row],
    positions: Sequence[Rectangle],
    fixed: Fixed,
    labelled: Sequence[int],
    way: Direction,
) -> list[Line]:
    """A line for each wire, from its tail to its head; `labelled` are the points at which labels stand."""
    ports = _ports(wires, web, x, positions, fixed, way)
    lines, ways = [], []
    for number, (wire, chain) in enumerate(zip(wires, web.chains, strict=True)):
        start, end = ports[number, 0], ports[number, 1]
        stops = [start[0], *(x[point] for point in chain[1:-1]), end[0]]
        line = _way(stops, chain, web, rows, start[1], end[1], up=chain[0] != wire.tail)
        label = None
        if wire.label and len(chain) > 2:
            point = labelled[number]
            row = rows[web.row[point]]
            label = (x[point], (row.top + row.bottom) / 2)
        lines.append(Line(line.start, line.strokes, label))
        ways.append(stops)
    return _with_labels(wires, web, rows, lines, ways, way)


def _ports(
    wires: Sequence[Wire], web: Web, x: Sequence[float], positions: Sequence[Rectangle], fixed: Fixed, way: Direction
) -> dict[tuple[int, int], Point]:
    """Return where each edge leaves its upper box (0) and enters its lower one (1): side by side, straight if it
    can."""
    ends: dict[tuple[int, int], list[int]] = {}
    for number, chain in enumerate(web.chains):
        ends.setdefault((chain[0], 0), []).append(number)
        ends.setdefault((chain[-1], 1), []).append(number)
    ports = {end: x[web.chains[end[0]][-end[1]]] + dx for end, dx in fixed.items()}
    # Boxes with several arrows have least freedom, then narrow ones.
    for box, side in sorted(ends, key=lambda end: (len(ends[end]) == 1, positions[end[0]].width, end)):
        its, position = [number for number in ends[box, side] if (number, side) not in fixed], positions[box]
        if not its:
            continue
        reach = position.width * PORTS / 2
        goals = {number: _goal(web.chains[number], number, side, x, ports) for number in its}
        if len(its) == 1:
            ((number, goal),) = goals.items()
            ports[number, side] = goal if abs(goal - position.x) <= reach else position.x
            continue
        its.sort(key=lambda number: (goals[number], number))
        halves = [_half(wires[number], web.chains[number], way) for number in its]
        steps = _steps([web.chains[number] for number in its], halves, reach)
        wanted = [min(max(goals[number] - position.x, -reach), reach) for number in its]
        spread = packed(wanted, [1.0] * len(its), steps)
        slack = reach - steps[-1]
        offsets = [step + min(max(dx - step, 0.0), slack) for dx, step in zip(spread, steps, strict=True)]
        straight = [abs(position.x + dx - goals[number]) < 0.3 for number, dx in zip(its, offsets, strict=True)]
        _spread_ports(offsets, halves, straight, reach)
        for number, dx in zip(its, offsets, strict=True):
            ports[number, side] = position.x + dx
    return {end: (at, _border(positions[web.chains[end[0]][-end[1]]], at, end[1])) for end, at in ports.items()}


def _steps(chains: Sequence[Sequence[int]], halves: Sequence[float], reach: float) -> list[float]:
    """Return where the ports of a box stand that are as far to the left as can be; edges between the same two boxes
    have room for their labels side by side, if the box is wide enough."""
    apart = min(NEXT_PORT, 2 * reach / (len(chains) - 1))
    pairs = zip(pairwise(chains), pairwise(halves), strict=True)
    wide = [max(apart, sum(its)) if a[0] == b[0] and a[-1] == b[-1] else apart for (a, b), its in pairs]
    steps = wide if sum(wide) <= 2 * reach else [apart] * len(wide)
    return list(accumulate(steps, initial=-reach))


def _half(wire: Wire, chain: Sequence[int], way: Direction) -> float:
    """Return how far to either side the label of a short edge reaches."""
    return way.across(wire.label) / 2 + 3 if wire.label and len(chain) == 2 else 0.0


def _spread_ports(offsets: list[float], halves: Sequence[float], straight: Sequence[bool], reach: float) -> None:
    """Move ports outwards from those of straight edges, as far as labels need it and the box has room."""
    for turn in (1, -1):
        numbers = range(len(offsets))[::turn]
        outermost = max((position for position, number in enumerate(numbers) if straight[number]), default=len(offsets))
        least = min([CLOSE, *(turn * (offsets[b] - offsets[a]) for a, b in pairwise(numbers))])
        for position in range(outermost + 1, len(offsets)):
            before, number = numbers[position - 1], numbers[position]
            wanted = turn * offsets[before] + halves[before] + halves[number]
            limit = reach - least * (len(offsets) - 1 - position)
            offsets[number] = turn * max(turn * offsets[number], min(wanted, limit))


def _goal(chain: list[int], number: int, side: int, x: Sequence[float], ports: dict[tuple[int, int], float]) -> float:
    """The x that the end of an edge would like best: where its other end is, or the next point that it visits."""
    if len(chain) == 2:
        return ports.get((number, 1 - side), x[chain[1 - side]])
    return x[chain[-2 if side else 1]]


def _border(position: Rectangle, x: float, side: int) -> float:
    """The height of a box's lower (side 0) or upper border at this x."""
    half = position.height / 2
    if position.round:
        half *= math.sqrt(max(0.0, 1 - (2 * (x - position.x) / position.width) ** 2))
    return position.y - half if side else position.y + half


def _way(
    stops: Sequence[float], chain: Sequence[int], web: Web, rows: Sequence[Row], top: float, bottom: float, *, up: bool
) -> Line:
    """Down through the points of a chain; the other way round if the arrow leads `up`."""
    knots: list[Point] = [(stops[0], top)]
    strokes: list[Stroke] = []
    for here, there, a, b in zip(stops, stops[1:], chain, chain[1:], strict=False):
        upper, lower = rows[web.row[a]], rows[web.row[b]]
        begin, end = upper.bottom, lower.curves_end
        if up and a == chain[0]:
            begin = min(end - 1, begin + HEAD)
        _straight(knots, strokes, (here, begin))
        if abs(there - here) > 0.3:
            middle = (begin + end) / 2
            strokes.append(((here, middle), (there, middle), (there, end)))
            knots.append((there, end))
        else:
            _straight(knots, strokes, (there, end))
        if b != chain[-1]:
            _straight(knots, strokes, (there, lower.bottom))
    _straight(knots, strokes, (stops[-1], bottom))
    if up:
        turned = [tuple(reversed((knot, *stroke[:-1]))) for knot, stroke in zip(knots, strokes, strict=False)]
        return Line(knots[-1], tuple(reversed(turned)))
    return Line(knots[0], tuple(strokes))


def joined(start: Point, strokes: Sequence[Stroke]) -> tuple[Stroke, ...]:
    """The strokes of several lines that follow each other, what goes on straight as one."""
    whole: list[Stroke] = []
    knots = [start]
    for stroke in strokes:
        if len(stroke) == 1:
            _straight(knots, whole, stroke[0])
        else:
            whole.append(stroke)
            knots.append(stroke[-1])
    return tuple(whole)


def _straight(knots: list[Point], strokes: list[Stroke], to: Point) -> None:
    """Go on straight; what leads on in the same line becomes one stroke."""
    if strokes and len(strokes[-1]) == 1 and abs(knots[-1][0] - to[0]) <= 0.3 and abs(knots[-2][0] - to[0]) <= 0.3:
        strokes[-1], knots[-1] = (to,), to
    elif abs(knots[-1][1] - to[1]) > 0.01:
        strokes.append((to,))
        knots.append(to)


_Spot = tuple[float, float, float, float]
"""The middle of a label, how far it reaches to both sides of it, and how much of its arrow it takes."""


class _Gap:
    """The space between two rows: the lines that lead through it, and the labels that have a position there."""

    def __init__(self, ways: Sequence[tuple[int, float, float]]) -> None:
        self.labels: list[_Spot] = []
        self.ways = ways
        """The lines: which it is, and its x on the upper row and on the lower one."""
        self.at: dict[int, list[int]] = {}
        """The lines that are met in each strip of the picture."""
        for number, (_, above, below) in enumerate(ways):
            for strip in range(int(min(above, below) // STRIP), int(max(above, below) // STRIP) + 1):
                self.at.setdefault(strip, []).append(number)
        self.labels_at: dict[int, list[int]] = {}

    def add(self, spot: _Spot) -> None:
        """Note a label."""
        for strip in _strips(spot[0], spot[2]):
            self.labels_at.setdefault(strip, []).append(len(self.labels))
        self.labels.append(spot)

    def clash(self, spot: _Spot, own: int, parts: tuple[float, float]) -> float:
        """Return how badly such a label of line `own` would cover others, or be on other lines.

        `parts` are the parts of their way aside that lines have made at its upper end and at its lower one.
        """
        x, _, half, _ = spot
        crossed = 0.0
        for number in _near(self.at, x, half):
            line, above, below = self.ways[number]
            ends = [above + (below - above) * part - x for part in parts]
            if line != own and min(ends) < half and max(ends) > -half:
                crossed += half + 1 - (0.0 if min(ends) < 0 < max(ends) else min(map(abs, ends)))
        return self.covered(spot) * WORSE + crossed

    def covered(self, spot: _Spot) -> float:
        """Return how much of other labels such a label would cover."""
        x, y, half, along = spot
        others = [self.labels[number] for number in _near(self.labels_at, x, half)]
        return math.fsum(
            max(0.0, half + its - abs(x - ox)) for ox, oy, its, far in others if abs(y - oy) < (along + far) / 2 + 1
        )


def _strips(x: float, half: float) -> range:
    return range(int((x - half) // STRIP), int((x + half) // STRIP) + 1)


def _near(at: Mapping[int, Sequence[int]], x: float, half: float) -> list[int]:
    return sorted({number for strip in _strips(x, half) for number in at.get(strip, ())})


def _with_labels(
    wires: Sequence[Wire],
    web: Web,
    rows: Sequence[Row],
    lines: list[Line],
    stops: Sequence[Sequence[float]],
    way: Direction,
) -> list[Line]:
    """Put the labels of short arrows on their lines, where they cover no other label and are on no other line.

    Of arrows that leave one box close together, with the same label, one has it where there is no room for more.
    """
    short = [number for number, line in enumerate(lines) if line.label is None and wires[number].label]
    ways: dict[int, list[tuple[int, float, float]]] = {web.row[web.chains[number][0]]: [] for number in short}
    for number, (chain, its) in enumerate(zip(web.chains, stops, strict=True)):
        for point, above, below in zip(chain, its, its[1:], strict=False):
            if web.row[point] in ways:
                ways[web.row[point]].append((number, above, below))
    gaps = {row: _Gap(its if len(its) < CROWDED else ()) for row, its in ways.items()}
    said: set[tuple[int, str]] = set()
    for number in sorted(short, key=lambda number: (web.row[web.chains[number][0]], lines[number].start[0])):
        chain, line = web.chains[number], lines[number]
        upper, lower = rows[web.row[chain[0]]], rows[web.row[chain[-1]]]
        half, height = way.across(wires[number].label) / 2 + 2, max(lower.curves_end - upper.bottom, 1.0)
        gap, along = gaps[web.row[chain[0]]], way.along(wires[number].label)
        spots: list[tuple[float, int, float, float]] = []
        for t in ALONG:
            least = min(along / 2 + 1, height / 2)
            y = upper.bottom + min(max(height * t, least), height - least)
            if lower.top - lower.curves_end > 2 * HEAD and not way.right:  # into another band, below its border
                y = (lower.curves_end + lower.top - HEAD) / 2
            spot = _at(line, y)
            ends = _aside((y - along / 2 - upper.bottom) / height), _aside((y + along / 2 - upper.bottom) / height)
            clash = gap.clash((spot, y, half, along), number, ends)
            spots.append((clash, len(spots), spot, y))
            if clash == 0:
                break
        _, _, spot, y = min(spots)
        words = wires[number].tail, wires[number].label
        if words in said and gap.covered((spot, y, half, along)):
            continue
        if wires[number].tail_port is None:
            said.add(words)
        gap.add((spot, y, half, along))
        lines[number] = Line(line.start, line.strokes, (spot, y))
    return lines


def _aside(down: float) -> float:
    """The part of its way aside that a curve has made where it has come down so far, from 0 to 1."""
    if not 0.0 < down < 1.0:
        return min(max(down, 0.0), 1.0)
    low, high = 0.0, 1.0
    for _ in range(12):
        t = (low + high) / 2
        low, high = (t, high) if 1.5 * t * (1 - t) + t**3 < down else (low, t)
    return low * low * (3 - 2 * low)


def _at(line: Line, y: float) -> float:
    """The x of the line at this height."""
    before = line.start
    for point in line.points():
        if min(before[1], point[1]) <= y <= max(before[1], point[1]) and before != point:
            part = (y - before[1]) / (point[1] - before[1]) if point[1] != before[1] else 0.0
            return before[0] + (point[0] - before[0]) * part
        before = point
    return before[0]
