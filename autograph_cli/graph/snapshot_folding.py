"""Equal layers and turns of a loop in a snapshot: lines that come again and again, written once.

Below `12 times` stand the lines of the first turn, set in. In the others a number in braces goes up by one each time
(`blocks.{0}.weight`, given by the lines or by others), or down (`gains[{19-}]`), a label that the lines give is another
one (`%add#3` is that of the fourth turn), and `x>%add` is `x` in the first turn, and `%add` of the one before in the
others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

from msgspec import Struct

from autograph_cli.graph.records import Edge, Node

LEAST, LONGEST, TRIED = 12, 400, 8
"""The fewest lines that a fold spares, the most lines of one turn, and the most ways tried of each stretch."""
_DIGITS = re.compile(r"\d+")
_BRACES = re.compile(r"\{(\d+)(-?)\}")
_TOKEN = re.compile("\x01([^\x02]*)\x02")
Row = tuple[str, ...]
Labels = list[Row]
Write = Callable[[Node, Mapping[int, Row]], str]


class Fold(Struct, frozen=True):
    """A number of turns of equal length, from one of the nodes on, and the labels of the first turn."""

    start: int
    length: int
    turns: int
    base: tuple[Row, ...] = ()

    @property
    def end(self) -> int:
        """Return where the nodes after it begin."""
        return self.start + self.length * self.turns


def label_at(label: str, turn: int) -> str:
    """A label of the first turn as another one has it.

    >>> label_at("%add", 2), label_at("blocks.{0}.weight", 2), label_at("gains[{9-}]", 2)
    ('%add#2', 'blocks.2.weight', 'gains[7]')
    """
    if "{" in label:
        return _BRACES.sub(lambda found: str(int(found[1]) + (-turn if found[2] else turn)), label)
    return f"{label}#{turn}" if turn else label


def resolved(label: str, turn: int, own: Collection[str]) -> str:
    """Return the label of another turn that stands where `label` stands in the first one, whose lines define `own`
    labels."""
    first, carried, before = label.partition(">")
    if carried:
        return label_at(before, turn - 1) if turn else first
    return label_at(label, turn) if label in own or "{" in label else label


def folds_of(nodes: Sequence[Node], labels: Labels, write: Write) -> dict[int, Fold]:
    """The folds of these nodes, by where they start; the labels get what their nodes are called then."""
    if len(nodes) < 2 * LEAST or any(mark in label for row in labels for label in row for mark in "{}>#"):
        return {}
    numbers: dict[Hashable, int] = {}
    keys = [numbers.setdefault(_key(node), len(numbers)) for node in nodes]
    found: dict[int, Fold] = {}
    segments = [(0, len(nodes))]
    while segments:
        start, end = segments.pop()
        for fold in _candidates(keys, start, end):
            checked = _checked(nodes, fold, labels, write)
            if checked is not None:
                found[fold.start] = checked
                segments += [(start, fold.start), (fold.end, end)]
                break
    return found


def first_turn(nodes: Sequence[Node], fold: Fold, labels: Sequence[Row], write: Write) -> list[str]:
    """The lines of the first turn, with what the ones after it take from the one before them."""
    mine = {node.id: place for place, node in enumerate(nodes[fold.start : fold.end])}
    rows = dict(enumerate(labels))
    rows |= {node.id: row for node, row in zip(nodes[fold.start :], fold.base, strict=False)}
    lines = []
    for one, two in zip(nodes[fold.start :][: fold.length], nodes[fold.start + fold.length :], strict=False):
        own = dict(rows)
        for edge, other in dict(zip(_edges(one), _edges(two), strict=False)).items():
            place = mine.get(other.node)
            row = list(own[edge.node])
            if place is None and edge.node not in mine:
                row[edge.nr] = _braced(row[edge.nr], rows[other.node][other.nr])
            elif place is not None and place < fold.length and other != edge:
                row[edge.nr] = f"{row[edge.nr]}>{fold.base[place][other.nr]}"
            own[edge.node] = tuple(row)
        lines.append(write(one, own))
    return lines


def _key(node: Node) -> Hashable:
    """Return what is alike in all turns, but for the labels."""
    names = tuple([_DIGITS.sub("", name) for output in node.outputs for name in output.names[:1]])
    types = tuple([output.type for output in node.outputs])
    return node.kind, node.op, node.name, types, names, len(node.args), tuple([edge is None for edge in node.next])


def _candidates(keys: Sequence[int], start: int, end: int) -> Iterator[Fold]:
    """Yield folds of what looks alike, those first that spare most lines; of each a few, from one line on and the
    next."""
    runs: list[tuple[int, int, int]] = []
    for length in range(1, min(LONGEST, (end - start) // 2) + 1):
        first = start
        for at in range(start, end - length + 1):
            if at + length == end or keys[at] != keys[at + length]:
                if at - first >= LEAST:
                    runs.append((first - at, length, first))
                first = at + 1
    for spared, length, first in sorted(runs)[:TRIED]:
        for shift in range(min(length, TRIED)):
            turns = (length - spared - shift) // length
            if turns >= 2 and (turns - 1) * length >= LEAST:
                yield Fold(first + shift, length, turns)


def _checked(nodes: Sequence[Node], fold: Fold, labels: Labels, write: Write) -> Fold | None:
    """The fold with its labels, which are set; None where the lines of the others do not follow from the first."""
    turns = [nodes[fold.start + turn * fold.length :][: fold.length] for turn in range(fold.turns)]
    base = tuple([_marked(labels[one.id], labels[two.id]) for one, two in zip(turns[0], turns[1], strict=True)])
    made: Labels = list(labels)
    for turn, row in enumerate(turns):
        for node, its in zip(row, base, strict=True):
            made[node.id] = tuple([label_at(label, turn) for label in its])
    every = [label for row in made for label in row]
    if len(set(every)) != len(every) or list(map(len, made)) != list(map(len, labels)):
        return None
    marked = {number: tuple([f"\x01{label}\x02" for label in row]) for number, row in enumerate(made)}
    whole = Fold(fold.start, fold.length, fold.turns, tuple([tuple([f"\x01{x}\x02" for x in row]) for row in base]))
    lines = first_turn(nodes, whole, [marked[number] for number in range(len(made))], write)
    lines = [line.replace("\x02>\x01", ">") for line in lines]
    own = {label for row in base for label in row}
    for turn, row in enumerate(turns):
        for line, node in zip(lines, row, strict=True):
            if _TOKEN.sub(lambda label: f"\x01{resolved(label[1], turn, own)}\x02", line) != write(node, marked):  # noqa: B023
                return None
    labels[:] = made
    return Fold(fold.start, fold.length, fold.turns, base)


def _marked(one: Row, two: Row) -> Row:
    """The labels of a node of the first turn; where those of the second have a number that is one more, in braces."""
    return tuple([_braced(a, b) if a[0] != "%" else a for a, b in zip(one, two, strict=False)])


def _braced(one: str, two: str) -> str:
    if one == two or "~" in one + two or _DIGITS.sub("", one) != _DIGITS.sub("", two):
        return one
    others = iter(_DIGITS.findall(two))
    ways = {1: "{%s}", -1: "{%s-}"}
    text = _DIGITS.sub(lambda found: ways.get(int(next(others)) - int(found[0]), "%s") % found[0], one)
    return text if label_at(text, 1) == two else one


def _edges(node: Node) -> list[Edge]:
    parent = [] if node.parent is None else [Edge(node.parent)]
    return [edge for edge in (*node.args, *node.next, *parent) if edge is not None]
