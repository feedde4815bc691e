"""A scene with its loops rolled: one turn is drawn, with the number of turns on it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from autograph_cli.export.scene import Arrow, Box, Scene
from autograph_cli.graph import Graph
from autograph_cli.graph.turns import Seat, find_turns


def roll(scene: Scene, graph: Graph) -> Scene:
    """The scene of this graph with one turn of each loop; arrows into the next turn are dotted and lead back."""
    seats = {f"n{number}": seat for number, seat in find_turns(graph).items()}
    if not seats:
        return scene
    first = {(seat.loop, seat.offset): key for key, seat in reversed(seats.items()) if seat.turn == 0}
    into = {key: first[seat.loop, seat.offset] for key, seat in seats.items() if seat.turn}
    into |= _fed(scene, seats, into)
    boxes = tuple(_turned(box, seats.get(box.id)) for box in scene.boxes if box.id not in into)
    arrows, itself = _arrows(scene, seats, into)
    boxes = tuple(_own(box) if box.id in itself else box for box in boxes)
    notes = [*scene.notes, "× n: one of n turns of a loop"]
    notes += ["dotted: from turn to turn"] if any(arrow.back for arrow in arrows) else []
    return replace(scene, boxes=boxes, arrows=arrows, notes=tuple(notes))


def _fed(scene: Scene, seats: dict[str, Seat], into: dict[str, str]) -> dict[str, str]:
    """Leaves and inputs that one turn alone uses, and the one that the first turn has in their place."""
    kinds = {box.id: box for box in scene.boxes}
    ends: dict[str, list[tuple[str, int]]] = {}
    counts: dict[str, int] = {}
    for arrow in scene.arrows:
        for own, user in ((arrow.tail, arrow.head), (arrow.head, arrow.tail)):
            if kinds[own].style in ("leaf", "input"):
                # The place among the user's leaves and inputs, for turns are alike in that too.
                ends.setdefault(own, []).append((user, counts.get(user, 0)))
                counts[user] = counts.get(user, 0) + 1
    drawn = {
        (user, place): own for own, its in ends.items() for user, place in its if user in seats and user not in into
    }
    fed = {}
    for own, its in ends.items():
        (user, place), *more = its
        if not more and user in into:
            same = drawn.get((into[user], place))
            if same and kinds[same].style == kinds[own].style:
                fed[own] = same
    return fed


def _turned(box: Box, seat: Seat | None) -> Box:
    if seat is None:
        return box
    times = f"× {seat.turns:,}"
    subtitle = f"{times} · {box.subtitle}" if box.subtitle else times
    return replace(box, subtitle=subtitle, tooltip=f"{box.tooltip}\nthe first of {seat.turns:,} turns of a loop")


def _own(box: Box) -> Box:
    return replace(box, subtitle=box.subtitle.replace("×", "↻ ×", 1))


def _arrows(scene: Scene, seats: dict[str, Seat], into: dict[str, str]) -> tuple[tuple[Arrow, ...], set[str]]:
    """Each arrow once, those between turns marked; and the boxes that lead into themselves."""
    arrows: dict[tuple[object, ...], Arrow] = {}
    uses: Counter[tuple[str, str]] = Counter()
    itself: set[str] = set()
    for arrow in scene.arrows:
        tail, head = into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head)
        a, b = seats.get(arrow.tail), seats.get(arrow.head)
        back = bool(a and b and a.loop == b.loop and a.turn != b.turn)
        if back and tail == head:
            itself.add(tail)
            continue
        # The arrows of one turn are all drawn, two between the same boxes too.
        uses[arrow.tail, arrow.head] += 1
        key = (tail, head, arrow.label, back, uses[arrow.tail, arrow.head])
        arrows.setdefault(key, replace(arrow, tail=tail, head=head, back=back))
    return tuple(arrows.values()), itself
