"""Fits a picture to a page: its direction, its number of columns, and how much of it is folded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations, pairwise
from operator import itemgetter

from msgspec.structs import replace

from autograph_cli.export.layout.bent import along, bent
from autograph_cli.export.layout.columns import LOW, WIDEST, in_columns, misfit
from autograph_cli.export.layout.direction import DOWN, RIGHT, Direction
from autograph_cli.export.layout.layered import Layouts, size_of
from autograph_cli.export.layout.orders import moved, narrowed, side_by_side
from autograph_cli.export.layout.placed import Placed, Point
from autograph_cli.export.scene.labels import clipped
from autograph_cli.export.scene.records import Box, Scene
from autograph_cli.export.simplify.ports import with_ports
from autograph_cli.export.style import OPERATIONS, SUBTITLE, TITLE

BETTER = 0.3
"""The gain in fit that a picture to the right must have over one that runs down, which is read more easily."""
MOST_TRIED = 400
"""Boxes up to which a picture is tried both ways."""
WIDE, HIGH = 900.0, 1_200.0
"""Pixels that a page has for a picture."""
SMALLEST = 8.0
"""The height of text that can be read."""
FLATTEST, STEEPEST = 0.42, 1.75
"""Heights over widths between which a picture is neither a ribbon nor a tower."""
WHOLE, TORN, SHRUNK = 30, 0.05, 0.01
"""Boxes below which no picture along the data is broken into columns, if that can be; what it counts to do so, and to
show a picture that is higher than a page in a smaller size."""
MOST_DASHED = 6
"""Arrows from order to order in a picture whose orders stand above each other, at most."""
ORIGIN = "∂ "
"""The words before what a derivative is one of, which stand after its node."""
NEARLY = 1.32
"""The cost below which a picture that is too big is tried in fewer words, too."""
FAR_OFF = 1.4
"""The excess above which a picture is not looked at further."""
CROSSINGS, TANGLED = 2, 0.05
"""Arrows that cross in a picture of 30 boxes, at most; and what so many more of them count, as a part of a page."""
LETTERS, BROKEN = 3, 0.0125
"""Letters at which arrows go on in another column, at most; and what each more counts."""
MOST_OVER = 12
"""Times that many that are counted."""
BRIEF = 30
"""Letters of a title in few words."""
CROWDED, LEFT, LEFT_SHRUNK = 1.1, 0.5, 0.75
"""The most that a picture may cost, to be drawn rather than one with less than this part of its boxes; and the part for
one that is only shown in a smaller size."""
HOPE = 0.4
"""The part of its boxes that a picture which is as much again too big must lose before the next with its frames is
tried."""
MOST_SEEN, HASTY = 120, 60
"""Boxes of which a page has room, and from which on a layout in haste is worth its time."""
STEPS = 3
"""Straight pieces that a curve is taken for."""
Piece = tuple[float, float, float, float, Point, Point]
"""A straight line: its left, top, right and bottom, and its ends."""


def fitted(scene: Scene | Layouts, direction: str, *, columns: bool) -> Placed:
    """The scene laid out `down` or `right`, or as fits better (`auto`), in `columns` or rows if it is long."""
    its = scene if isinstance(scene, Layouts) else Layouts(scene)

    def laid_out(way: Direction) -> Placed:
        return in_columns(its.to(way), way) if columns else its.to(way)

    if direction == "right":
        return laid_out(RIGHT)
    down = laid_out(DOWN)
    if direction == "down" or len(its.scene.boxes) > MOST_TRIED or _is_small(down) or misfit(down) <= BETTER:
        return down
    right = laid_out(RIGHT)
    return right if misfit(right) + BETTER < misfit(down) else down


def runs_right(scene: Scene, direction: str) -> bool:
    """Return whether a scene that another program lays out should run to the right."""
    if direction != "auto" or len(scene.boxes) > MOST_TRIED or not scene.boxes:
        return direction == "right"
    its = Layouts(scene)
    return not _is_small(its.to(DOWN)) and misfit(its.to(RIGHT)) + BETTER < misfit(its.to(DOWN))


def _is_small(placed: Placed) -> bool:
    """Return whether a picture fits a page whatever its shape: so like pictures look alike."""
    return placed.height <= LOW and placed.width <= WIDEST


def within_budget(scenes: Iterable[tuple[Scene, bool]], direction: str, *, columns: bool) -> Placed:
    """The first of these scenes that fits a page, laid out; if none does, the one that comes nearest.

    They have fewer and fewer boxes; of those with too many for any page only the last is tried, and those much too big
    when laid out in haste are laid out with care only if nothing else is left. A picture that is a little too crowded
    is better than one with much less in it, unless too many arrows cross; and better, even then, than those that are
    told to be a last resort.
    """
    laid_out = partial(_layouts, direction=direction, columns=columns)
    best, crowded, many, least = _NONE, _NONE, 0, (math.inf, 0)
    waiting: tuple[float, Scene | None] = (math.inf, None)
    hopeful: dict[int, float] = {}
    """The boxes up to which a scene of so many frames may fit."""
    for scene, coarse in scenes:
        if coarse and crowded[1] is not None:
            return crowded[1]
        size = len(scene.boxes), len(scene.frames)
        if size >= least or size[0] > hopeful.get(size[1], math.inf):
            continue
        least = size
        far = _in_haste(scene, laid_out(scene, quick=True))
        if far > FAR_OFF:
            waiting = (far, scene) if far <= waiting[0] else waiting
            continue
        cost, nearest = _cheapest(laid_out(scene))
        hopeful[size[1]] = size[0] * (1 - HOPE * max(0.0, excess(nearest) - 1))
        if 1 < cost < NEARLY and (brief := in_short(scene)) != scene:
            cost, nearest = min((cost, nearest), _cheapest(laid_out(brief)), key=itemgetter(0))
        if cost <= 1:
            left = LEFT if crowded[0] > 1 + SHRUNK else LEFT_SHRUNK
            kept = crowded[1] if left * many > size[0] else None
            return nearest if kept is None or _tangle(kept) else kept
        most = 1 + SHRUNK if _is_smaller(nearest) else CROWDED
        if crowded[1] is None and cost <= most and excess(nearest) <= 1:
            crowded, many = (cost, nearest), size[0]
        best = min(best, (cost, nearest), key=itemgetter(0))
    if best[1] is None:
        assert waiting[1] is not None, "there is a scene"
        return shaped(min(laid_out(waiting[1]), key=_cost))
    return best[1]


def _layouts(scene: Scene, direction: str, *, columns: bool, quick: bool = False) -> Iterator[Placed]:
    """Yield the layouts of a scene that may fit a page, the one that is read most easily first."""
    whole = None
    dashed = sum(arrow.dashed for arrow in scene.arrows)
    alone = scene.bands and (len(scene.boxes) > WHOLE or dashed > MOST_DASHED) and direction == "auto"
    ways = None if alone else Layouts(scene, quick=quick)
    if ways is not None:
        never = direction == "auto" and not scene.bands and _length(scene) > WIDE * min(SUBTITLE, TITLE) / SMALLEST
        whole = fitted(ways, "down" if never else direction, columns=False)
        if direction == "auto" and columns and not _is_small(whole) and (its := bent(scene, quick=quick)) is not None:
            yield its
        yield whole
    if direction == "auto" and scene.bands and (whole is None or _cost(whole) > 1):
        yield _in_orders(scene, quick)
    elif columns and ways and whole and excess(whole) > 1:
        broken = fitted(ways, "down" if direction == "auto" else direction, columns=True)
        yield broken
        if direction == "auto" and excess(shaped(broken)) > 1:
            yield fitted(ways, "right", columns=True)


def _length(scene: Scene) -> float:
    """The widths of the boxes on the longest way, which no picture to the right is less wide than."""
    width, ends = {box.id: size_of(box)[0] for box in scene.boxes}, dict[str, float]()
    for key, tails in along(scene):
        ends[key] = width[key] + max((ends[tail] for tail in tails), default=0.0)
    return max(ends.values(), default=0.0)


def _cheapest(ways: Iterator[Placed]) -> tuple[float, Placed]:
    made: list[tuple[float, Placed]] = []
    for its in map(shaped, ways):
        made.append((_cost(its), its))
        if made[-1][0] <= 1:  # there is none that costs less
            break
    return min(made, key=itemgetter(0))


def _in_haste(scene: Scene, ways: Iterator[Placed]) -> float:
    """Return how much too big a scene is in the best of these layouts, or in the first that is worth being laid out
    with care, if it is worth being looked at so first."""
    if not HASTY < len(scene.boxes) <= MOST_SEEN:
        return 1.0 if len(scene.boxes) <= HASTY else math.inf
    sizes: list[float] = []
    for its in ways:
        sizes.append(excess(shaped(its)))
        if sizes[-1] <= FAR_OFF:
            return sizes[-1]
    return min(sizes)


def _in_orders(scene: Scene, quick: bool) -> Placed:
    """The picture with its orders side by side, in rows that fit a page; letters lead from one to another."""
    band = {box.id: box.band for box in scene.boxes}
    across = [(arrow.tail, arrow.head) for arrow in scene.arrows if band[arrow.tail] != band[arrow.head]]
    return side_by_side(with_ports(narrowed(scene)), across, over, quick=quick)


Judged = tuple[float, Placed | None]
"""A picture, and what it costs."""
_NONE: Judged = (math.inf, None)


def in_short(scene: Scene) -> Scene:
    """The scene without the derivatives in the titles of bands, the node's name of a derivative that tells what it is
    one of, the ends of long titles, and lines that boxes can do without; sizes of layers stand below their titles."""
    bands = tuple([replace(band, title=" · ".join(band.title.split(" · ")[:2])) for band in scene.bands])
    return replace(scene, bands=bands, boxes=tuple(map(_box_in_short, scene.boxes)))


def _box_in_short(box: Box) -> Box:
    told = box.subtitle.partition(" · ")[2]
    if box.style == "derivative" and told.startswith(ORIGIN):
        box = replace(box, subtitle=told)
    title, comma, rest = box.title.partition(", ")
    if len(box.title) > BRIEF and ": " in title:
        path, _, layer = title.partition(": ")
        if not comma:
            layer, _, rest = layer.partition(" ")
        box = replace(box, title=f"{path}: {layer}", subtitle=" · ".join(filter(None, (rest, box.subtitle))))
    elif len(box.title) > BRIEF and box.style in OPERATIONS:
        box = replace(box, title=clipped(box.title, BRIEF))
    return replace(box, lines=box.lines[box.spare :], spare=0) if box.spare else box


def _cost(placed: Placed) -> float:
    """Return the cost of a picture: at most 1 if it fits a page, and few of its arrows cross or go on at a letter."""
    size = excess(placed)
    if size > FAR_OFF:
        return size
    torn = TORN * (placed.back > 0 and placed.scene.data and len(placed.scene.boxes) < WHOLE)
    torn += SHRUNK * _is_smaller(placed)
    return max(1.0, size) + _tangle(placed) * TANGLED + max(0, placed.back - LETTERS) * BROKEN + torn


def _tangle(placed: Placed) -> float:
    """Return the crossings too many of a picture, as a part of those that it may have; 0 if it has no more."""
    allowed = CROSSINGS * max(1.0, len(placed.scene.boxes) / WHOLE)
    return max(0.0, crossings(placed, int(MOST_OVER * allowed)) / allowed - 1)


def excess(placed: Placed) -> float:
    """Return the factor by which a picture is too big for a page, at most 1 if it fits."""
    shown = min(1.0, WIDE / placed.width)
    return max(SMALLEST / (min(SUBTITLE, TITLE) * shown), placed.height * shown / HIGH)


def over(width: float, height: float) -> float:
    """Return the factor by which a picture of this size is too big for a page, but at least 1."""
    wide, high = max(width, height / STEEPEST), max(height, width * FLATTEST)
    shown = min(1.0, WIDE / wide)
    return max(1.0, SMALLEST / (min(SUBTITLE, TITLE) * shown), high * shown / HIGH)


def shaped(placed: Placed) -> Placed:
    """The picture amid paper that is neither a ribbon nor a tower; one that is a little higher than a page on paper so
    wide that it fits one where it is shown as wide, as far as it can be read then."""
    width = max(placed.width, placed.height / STEEPEST, _is_smaller(placed) * (placed.height * WIDE / HIGH + 0.1))
    height = max(placed.height, placed.width * FLATTEST)
    if not placed.lanes:
        placed = moved(placed, ((width - placed.width) / 2, 0.0))
    return replace(placed, width=width, height=height)


def _is_smaller(placed: Placed) -> bool:
    """Return whether a picture is higher than a page, but fits one in a size in which it can be read."""
    return HIGH < placed.height <= HIGH * min(SUBTITLE, TITLE) / SMALLEST


def crossings(placed: Placed, most: int) -> int:
    """Return how many pairs of arrows cross, but where they begin or end together; up to this many are counted."""
    ways = [[_piece(a, b) for a, b in pairwise(line.points(STEPS)) if a != b] for line in placed.lines]
    around = [
        (min(p[0] for p in way), min(p[1] for p in way), max(p[2] for p in way), max(p[3] for p in way), way)
        for way in ways
        if way
    ]
    count = 0
    for (left, top, right, bottom, way), (its_left, its_top, its_right, its_bottom, other) in combinations(around, 2):
        if left > its_right or its_left > right or top > its_bottom or its_top > bottom:
            continue
        if way[0][4] == other[0][4] or way[-1][5] == other[-1][5]:
            continue
        area = max(left, its_left), max(top, its_top), min(right, its_right), min(bottom, its_bottom)
        near = _within(other, *area)
        if near and any(_meet(a, b) for a in _within(way, *area) for b in near):
            count += 1
            if count >= most:
                break
    return count


def _piece(a: Point, b: Point) -> Piece:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]), a, b


def _within(way: list[Piece], left: float, top: float, right: float, bottom: float) -> list[Piece]:
    """The pieces that reach into an area."""
    return [p for p in way if p[0] <= right and left <= p[2] and p[1] <= bottom and top <= p[3]]


def _meet(one: Piece, other: Piece) -> bool:
    if one[0] > other[2] or other[0] > one[2] or one[1] > other[3] or other[1] > one[3]:
        return False
    (a, b), (c, d) = one[4:], other[4:]
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
