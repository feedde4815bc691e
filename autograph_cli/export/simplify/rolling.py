"""A scene with its loops rolled: one turn is drawn, with the number of turns on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.labels import LONGEST_SUBTITLE, SUM, short
from autograph_cli.export.scene.modules import shown_by
from autograph_cli.export.scene.records import Arrow, Box, Scene, edges_of, standing_for
from autograph_cli.export.simplify.saved_boxes import gathered
from autograph_cli.export.style import OPERATIONS, RESULTS
from autograph_cli.graph import Graph
from autograph_cli.graph.loops import ALONE, DILATED, Seat, find_turns
from autograph_cli.graph.names import shown_name

SMALLER, FEWER = 0.75, 8
"""A picture is rolled unasked if no more than this part of its boxes is left, and at least so many are not."""
_Key = tuple[str, str, bool, int]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])|\d+", re.ASCII)
_WINDOW = re.compile(r"(?= g\d|, |$)")
"""The end of a window in the words of a layer, where its dilation stands."""
_RUN = re.compile(r"(\d+)…(\d+)", re.ASCII)
_TURNS = re.compile(r"(?:↻ )?(× [\d,…]+(?: × [\d,…]+)*)")
LISTED = 3
"""Names that stand beside each other on one box."""


def roll(scene: Scene, graph: Graph, *, lists: bool = True, alone: int = ALONE) -> Scene:
    """The scene of this graph with one turn of each loop, with `lists` of those over lists of equal modules too; arrows
    into the next turn are dotted and lead back.

    Of sizes that change from turn to turn, the least and the greatest are told. Of turns between which nothing leads so
    many are a loop `alone`.
    """
    box_of = {box.id: box for box in scene.boxes}
    turns = {f"n{number}": seat for number, seat in find_turns(graph, lists=lists, alone=alone).items()}
    seats = {key: seat for key, seat in turns.items() if key in box_of}  # what is detached may be drawn as an arrow
    if not seats:
        return scene
    first = {seat.path: key for key, seat in seats.items() if not any(seat.turn)}
    into = {key: first[seat.path] for key, seat in seats.items() if any(seat.turn) and seat.path in first}
    into |= _fed(scene, graph, seats, into)
    result_of, again = _named(scene, set(first.values()), into)
    into |= again
    last = {key: its for its, key in into.items()}
    arrows, itself = _arrows(scene, seats, into)
    members = {its: [box_of[its]] for its in into.values()}
    for key, its in into.items():
        members[its].append(box_of[key])
    several = {its: _one_of(boxes, graph, scene.data, its in seats) for its, boxes in members.items()}
    beside = {key: box_of[its].band for key, its in result_of.items()}
    boxes = tuple(
        replace(
            _turned(several.get(box.id, box), seats.get(box.id), box_of.get(last.get(box.id, "")), box.id in itself),
            band=beside.get(box.id, box.band),
        )
        for box in scene.boxes
        if box.id not in into
    )
    scene = replace(scene, boxes=boxes, arrows=arrows, notes=(*scene.notes, *_NOTES))
    return gathered(replace(scene, notes=still_true(scene)))


def rolled_if_smaller(scene: Scene, graph: Graph, *, lists: bool = True) -> Scene:
    """The scene with its loops rolled, if that makes it much smaller."""
    rolled = roll(scene, graph, lists=lists)
    many, left = len(scene.boxes), len(rolled.boxes)
    return rolled if left <= SMALLER * many and many - left >= FEWER else scene


def still_true(scene: Scene) -> tuple[str, ...]:
    """The notes of the scene, without those on loops of which no trace is left in it."""
    return tuple(note for note in scene.notes if note not in _NOTES or _NOTES[note](scene))


def _times(words: str, least: int = 1) -> bool:
    return words.count("× ") >= least


def _has_turns(scene: Scene) -> bool:
    titles = [frame.title for frame in scene.frames] + [box.title for box in scene.boxes if box.style == "module"]
    return any(map(_times, [*titles, *(box.subtitle for box in scene.boxes)]))


_NOTES: dict[str, Callable[[Scene], bool]] = {
    "× n: one of n turns of a loop": _has_turns,
    "× n × m: a loop of m turns in each turn of one of n": lambda scene: any(
        _times(box.subtitle, 2) for box in scene.boxes
    ),
    "↻: takes its own result of the turn before": lambda scene: any(box.subtitle[:1] == "↻" for box in scene.boxes),
    "dotted: from turn to turn": lambda scene: any(arrow.back for arrow in scene.arrows),
    "a…b: changes from turn to turn": lambda scene: any("…" in arrow.label for arrow in scene.arrows),
    "× k at an arrow: from k turns": lambda scene: (
        _has_turns(scene) and any(_times(arrow.label) for arrow in scene.arrows)
    ),
}


def _fed(scene: Scene, graph: Graph, seats: dict[str, Seat], into: dict[str, str]) -> dict[str, str]:
    """Map nodes that are computed from nothing and used by one turn alone to their counterparts of the first turn."""
    sources = {node.id for node in graph if not node.computes}
    ids = {f"n{number}" for number in sources}
    drawn = {box.id: box for box in scene.boxes if box.id in ids or box.id.startswith("t")}
    ends: dict[str, list[tuple[str, int]]] = {}
    of: dict[tuple[str, int], str] = {}
    for node in graph:
        for position, edge in enumerate(edges_of(graph, node, scene.data)):
            if edge is not None and edge.node in sources:
                tag = f"t{node.id}_{position}"
                own = tag if tag in drawn else f"n{edge.node}"
                if own in drawn:
                    ends.setdefault(own, []).append((f"n{node.id}", position))
                    of[f"n{node.id}", position] = own
    fed = {}
    for own, its in ends.items():
        if not all(user in into for user, _ in its) or len({seats[user].turn for user, _ in its}) > 1:
            continue
        same = {of.get((into[user], position)) for user, position in its}
        (other,) = same if len(same) == 1 else (None,)
        if other and (drawn[other].style == "leaf") == (drawn[own].style == "leaf"):
            fed[own] = other
    return fed


def _named(scene: Scene, first: Collection[str], into: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Map each result of a turn to the box that stands for what made it, which may be in another band; and those of
    further turns to the first result of the same."""
    results = {box.id: box.style for box in scene.boxes if box.style in RESULTS}
    made_by: dict[str, str] = {}
    same: dict[tuple[object, ...], str] = {}
    again = {}
    for arrow in scene.arrows:
        mine, other = (arrow.head, arrow.tail) if scene.data else (arrow.tail, arrow.head)
        if mine in results and (other in into or other in first):
            made_by[mine] = into.get(other, other)
            met = same.setdefault((made_by[mine], results[mine], arrow.tensors[0][1]), mine)
            if met != mine:
                again[mine] = met
    return made_by, again


def _past_results(scene: Scene, seats: dict[str, Seat], into: dict[str, str]) -> list[Arrow]:
    """The arrows; of those from a result into a turn, each comes from what made the result, as in the other turns.

    A result from outside of the loop that the first turn takes as well stays between the two.
    """
    results = {box.id for box in scene.boxes if box.style in RESULTS}
    maker_of = {arrow.head: arrow.tail for arrow in scene.arrows if arrow.head in results}
    if not maker_of:
        return list(scene.arrows)
    ends = {(arrow.tail, arrow.head) for arrow in scene.arrows}

    def past(arrow: Arrow) -> bool:
        maker, user = seats.get(maker_of.get(arrow.tail, "")), seats.get(arrow.head)
        if maker and user and maker.path[:2] == user.path[:2]:
            return True
        return arrow.tail in maker_of and arrow.head in into and (arrow.tail, into[arrow.head]) not in ends

    return [replace(arrow, tail=maker_of[arrow.tail]) if past(arrow) else arrow for arrow in scene.arrows]


def _one_of(boxes: Sequence[Box], graph: Graph, data: bool, turned: bool) -> Box:
    """The box of the first turn for those of all: with the arguments of each operation, and the name of each tensor.

    Turns are counted on a box of a loop (`turned`); of one that leads into it, this counts the tensors."""
    box = standing_for(boxes[0], boxes[1:])
    if box.style == "untracked" and boxes[-1].style == "operation":
        box = replace(box, style="operation", tooltip=f"{box.tooltip}\nnot recorded by autograd in the first turn")
    titles = list(dict.fromkeys(its.title for its in boxes))
    if box.style in RESULTS:
        return replace(box, title=names_of(titles), tooltip="\n".join(its.tooltip for its in boxes))
    counted = box.style == "untracked" and not turned and len(titles) == 1
    if box.style in OPERATIONS and not counted:
        named = list(dict.fromkeys(its.subtitle for its in boxes if its.subtitle))
        if len(named) > 1:
            box = replace(box, subtitle=short(names_of(named), LONGEST_SUBTITLE))
        if len(titles) > 1 and all(title.startswith(SUM) for title in titles):
            return replace(box, title=SUM + names_of([title.removeprefix(SUM) for title in titles]))
        if len(titles) == 1 or box.style == "derivative":
            return box
        return replace(box, title=titles[1] if _began(boxes, graph) else span(titles))
    nodes = {
        node.id: shown_name(node.outputs[0].names[0]) if node.module and node.outputs[0].names else its.title
        for its in boxes
        if (node := shown_by(its.id, graph, data)) is not None
    }
    if not (counted or box.style in ("leaf", "input")) or len(nodes) < 2:
        return box
    told = names_of(list(nodes.values()))
    return replace(
        box, title=told, tooltip="\n".join([box.tooltip, f"{len(nodes):,} tensors: {', '.join(nodes.values())}"])
    )


def _began(boxes: Sequence[Box], graph: Graph) -> bool:
    """Return whether the first turn began with a number what each of the others takes from the turn before."""
    first, *others = [node for box in boxes if (node := shown_by(box.id, graph, True)) is not None]
    return bool(others) and len({its.title for its in boxes[1:]}) == 1 and len(first.args) < len(others[0].args)


def names_of(names: Sequence[str]) -> str:
    """The names of so many tensors, in words that leave none out.

    >>> names_of(["ws.0", "ws.1", "ws.2"]), names_of(["anchor", "pos", "neg"]), names_of(["x", "x"])
    ('ws.0…2', 'anchor · pos · neg', '2 × x')
    >>> names_of([f"w{n * n}" for n in range(9)])
    'w0 · w1 and 7 more'
    """
    alike = list(dict.fromkeys(names))
    if len(alike) == 1:
        return f"{len(names):,} × {alike[0]}"
    run = span(alike)
    ends = [list(map(int, pair)) for pair in _RUN.findall(run)]
    if len(alike) == len(names) and len(ends) == 1 and ends[0][1] - ends[0][0] + 1 == len(names):
        return run
    if len(alike) == len(names) <= LISTED:
        return " · ".join(alike)
    return f"{' · '.join(names[: LISTED - 1])} and {len(names) - LISTED + 1:,} more"


def _turned(box: Box, seat: Seat | None, last: Box | None, itself: bool) -> Box:
    """The box of the first turn, with the number of turns on it; names stand where the last turn has them."""
    if seat is None:
        return replace(box, title=last.title) if last and box.title[0] == "%" else box
    counts = [f"{low:,}" if low == high else f"{low:,}…{high:,}" for low, high in seat.turns if high > 1]
    times = "↻ " * itself + " ".join(f"× {count}" for count in counts)
    words = box.subtitle or (last.subtitle if last else "")
    words = f"{times} · {words}" if words else times
    told = f"the first of {' by '.join(counts)} turns of a loop"
    return replace(box, subtitle=words, tooltip=f"{box.tooltip}\n{told}")


def turns_of(boxes: Sequence[Box]) -> str:
    """Return the turns that all operations of these boxes have on them, if they are the same."""
    told = {match[1] if (match := _TURNS.match(box.subtitle)) else "" for box in boxes if box.style in OPERATIONS}
    return told.pop() if len(told) == 1 else ""


def _arrows(scene: Scene, seats: dict[str, Seat], into: dict[str, str]) -> tuple[tuple[Arrow, ...], set[str]]:
    """Each arrow once, those between turns marked; the boxes that lead into themselves."""
    place: dict[_Key, int] = {}
    arrows: list[Arrow] = []
    labels: list[dict[str, None]] = []
    times: list[int] = []
    """For each arrow, as `place` has it: itself, its labels, and how many lead from or to one box."""
    ends: dict[tuple[str, str], int] = {}
    uses: dict[tuple[str, int], int] = {}
    met: list[int] = []
    """For each arrow, how many it stands for."""
    many_turns = Counter(into.values())
    itself: set[str] = set()
    for arrow in _past_results(scene, seats, into):
        tail, head = into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head)
        a, b = seats.get(arrow.tail), seats.get(arrow.head)
        back = a is not None and b is not None and a.turn != b.turn and a.carried(b)
        if back and tail == head:
            itself.add(tail)
            continue
        # The arrows of one turn are all drawn, two between the same boxes too.
        pair = arrow.tail, arrow.head
        ends[pair] = ends.get(pair, 0) + 1
        at = place.setdefault((tail, head, back, ends[pair]), len(arrows))
        if at == len(arrows):
            arrows.append(replace(arrow, tail=tail, head=head, back=back))
            labels.append({})
            times.append(0)
            met.append(0)
        met[at] += 1
        labels[at][arrow.label] = None
        use = arrow.head if scene.data else arrow.tail, at
        uses[use] = many = uses.get(use, 0) + 1
        times[at] = max(times[at], many)
    merged = []
    for arrow, its, many, count in zip(arrows, labels, times, met, strict=True):
        label = span(its) if len(its) > 1 else arrow.label
        label = f"{label} × {many:,}".lstrip() if many > 1 else label
        partly = not arrow.back and count <= max(many_turns[arrow.tail], many_turns[arrow.head])
        if label != arrow.label or partly:
            arrow = replace(arrow, label=label, partly=partly)
        merged.append(arrow)
    return tuple(merged), itself


def span(labels: Collection[str]) -> str:
    """Labels that differ in their numbers as one, with the least and the greatest of each.

    >>> span(["[2, 4]", "[3, 4]", "[9, 4]"]), span(["× 0.5", "× 0.05"])
    ('[2…9, 4]', '× 0.05…0.5')
    """
    if any(map(DILATED.search, labels)):
        labels = [label if DILATED.search(label) else _WINDOW.sub(" d1", label, 1) for label in labels]
    rows = [_NUMBER.findall(label) for label in labels]
    patterns = {_NUMBER.sub("0", label) for label in labels}
    if len(patterns) > 1:
        several = sorted(labels, key=lambda label: (len(label), label))
        return " | ".join([*several[:2], *(["…"] if len(several) > 2 else [])])
    ends = iter([(min(column, key=float), max(column, key=float)) for column in zip(*rows, strict=True)])

    def words(low: str, high: str) -> str:
        return low if low == high else f"{low}…{high}"

    return _NUMBER.sub(lambda _: words(*next(ends)), next(iter(labels)))
