"""Loops in a graph: runs of operations that repeat with the same lines, the same kinds and the same wiring."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat

from msgspec import Struct

from autograph_cli.graph.derivatives import leaf_sums
from autograph_cli.graph.records import Edge, Graph, Node
from autograph_cli.graph.views import CUT, is_cut

FEWEST = 3
"""Turns that make a loop worth being shown as one."""
CANDIDATES = 6
"""Distances to the next operations of the same kind that are tried as the length of a turn."""
DEEPEST = 6
"""Loops within each other that are looked for."""
ALONE = 8
"""Turns that are a loop even if nothing leads from one into the next, as fewer calls side by side may be."""
LONGEST = 500
"""Items of one turn up to which another beginning of the turns is looked for."""
MOST_BODIES = 50
"""Loops of which single turns are looked for."""
_STARTED = {"add_": "add"}
"""Operations that a number may have begun: `loss += x` is none in place as long as `loss` is 0.0."""
_PLACE = re.compile(r"(?<![^.\[])\d+(?![^.\]])", re.ASCII)
"""The place of a module in a list."""


DILATED = re.compile(r" d\d+(×\d+)*(?=[ ,]|$)")
"""The dilation of a window, which may grow from turn to turn."""


class Seat(Struct, frozen=True):
    """The place of a node in a loop, or in loops within each other, from the outermost one to the innermost."""

    path: tuple[int, ...]
    """The part that nodes of different turns share: the order, the loop, and the positions within its turns."""
    turn: tuple[int, ...]
    """The turn of each loop that it is in."""
    turns: tuple[tuple[int, int], ...]
    """The fewest and the most turns of each of these loops that have it."""

    def carried(self, other: Seat) -> bool:
        """Return whether the other one stands in another turn of a loop that both are in."""
        for level, (mine, its) in enumerate(zip(self.turn, other.turn, strict=False)):
            if self.path[: level + 2] != other.path[: level + 2]:
                return False
            if mine != its:
                return True
        return False


class Loop(Struct, frozen=True):
    """Turns with the same items in each; the last may lack some at its end, which nothing uses any more."""

    turns: tuple[tuple[Item, ...], ...]


Item = int | Loop
"""An operation, by its number, or a loop of some."""


def find_turns(graph: Graph, *, lists: bool = True, alone: int = ALONE) -> dict[int, Seat]:
    """The seat of every operation that is part of a loop, loops of each order by themselves.

    Two turns are alike if their operations have the same names, lines and modules, or with `lists` equal modules of a
    list, their tensors the same dtype and number of dimensions, and if every edge leads to the same position of the
    same turn or of the one before, to the same node outside, or to a leaf or an input of the same kind. In the first
    turn, what others take from the turn before comes from outside, and may be without a gradient, or a number; so may
    be what is computed from it. Of turns between which nothing leads so many are a loop `alone`.
    """
    finder = _Finder(graph, lists, alone)
    for order in sorted({node.order for node in graph}):
        row: list[Item] = [node.id for node in graph if node.order == order and node.computes]
        finder.order = order
        finder.seat(order, finder.rolled(row))
    return finder.seats


def _nodes(item: Item, path: tuple[int, ...] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The operations of an item, with their positions in its turns."""
    if isinstance(item, int):
        yield item, path
        return
    for turn in item.turns:
        for position, inner in enumerate(turn):
            yield from _nodes(inner, (*path, position))


class _Finder:
    def __init__(self, graph: Graph, lists: bool, alone: int) -> None:
        self.graph, self.alone = graph, alone
        self.seats: dict[int, Seat] = {}
        self.order = 0
        """The order that loops are looked for in."""
        self.sums = leaf_sums(graph)
        kinds: dict[object, int] = {}
        self.kinds = kinds
        tops = _tops(graph)
        told = in_any if lists else str
        self.kind = [kinds.setdefault(_kind(graph, node, tops, told), len(kinds)) for node in graph]
        self.row: list[Item] = []
        self.kinds_of_row: list[int] = []
        self.later: list[list[int]] = []
        """For each item the next ones of its kind."""
        self.position: dict[int, tuple[int, tuple[int, ...]]] = {}
        """The item that each operation of a row is in, by number, and its position in there."""

    def rolled(self, row: list[Item]) -> list[Item]:
        """The row with its loops as items, the innermost ones found first."""
        for _ in range(DEEPEST):
            self.look_at(row)
            found = list(self.searched(0, len(row), len(row)))
            if len(found) == len(row):
                break
            row = self.completed(found)
        return row

    def look_at(self, row: list[Item]) -> None:
        """Make this the row in which loops are looked for."""
        self.row = row
        position: dict[int, tuple[int, tuple[int, ...]]] = {}
        for at, item in enumerate(row):
            if isinstance(item, int):
                position[item] = at, ()
            else:
                position.update((node, (at, path)) for node, path in _nodes(item))
        self.position = position
        self.kinds_of_row = list(map(self.kind_of, row))
        following: dict[int, list[int]] = {}
        for at, kind in enumerate(self.kinds_of_row):
            following.setdefault(kind, []).append(at)
        self.later = [[] for _ in row]
        for positions in following.values():
            for i, at in enumerate(positions):
                self.later[at] = positions[i + 1 : i + 1 + CANDIDATES]

    def searched(self, start: int, stop: int, below: int) -> Iterator[Item]:
        """This part of the row with the loops in it whose turns are shorter than `below`."""
        hopeless: dict[int, int] = {}
        """For each length of a turn, where the last run that was no loop ended."""
        while start < stop:
            for other in self.later[start]:
                period = other - start
                if period >= below or start < hopeless.get(period, 0):
                    continue
                size = self.covered(start, period, stop) + period
                if size < FEWEST * period:
                    hopeless[period] = start + size - period
                    continue
                if size < self.alone * period and not self.carries(start, period, size):
                    hopeless[period] = start + size - period
                    continue
                inner = list(self.searched(start, start + size, period)) if period > 1 else []
                if inner and len(inner) < size:
                    yield from inner
                    start += size
                else:
                    begin = start + self.shift(start, period, size)
                    yield from self.row[start:begin]
                    start += size
                    rest = (start - begin) % period
                    start -= 0 if self.is_over(start, period, rest) else rest
                    ends = [*range(begin, start, period), start]
                    yield Loop(tuple([tuple(self.row[at:end]) for at, end in pairwise(ends)]))
                break
            else:
                yield self.row[start]
                start += 1

    def is_over(self, at: int, period: int, rest: int) -> bool:
        """Return whether the last turn of a loop, of `rest` items up to here, lacks the others: none of their lines
        follows."""
        lacking = self.lines(at - period, at - rest)
        return bool(rest) and lacking.isdisjoint(self.lines(at, at + period - rest))

    def lines(self, start: int, stop: int) -> set[tuple[str, int] | None]:
        """The lines of the script that a part of the row is from."""
        return {(node.source.file, node.source.line) if node.source else None for node in self.nodes(start, stop)}

    def nodes(self, start: int, stop: int) -> list[Node]:
        """The operations of a part of the row."""
        return [self.graph.nodes[number] for item in self.row[start:stop] for number, _ in _nodes(item)]

    def completed(self, row: list[Item]) -> list[Item]:
        """The row with single turns, and two in a row, of the loops in it as loops too."""
        bodies = {tuple(map(self.kind_of, item.turns[0])) for item in row if isinstance(item, Loop)}
        by_first: dict[int, list[tuple[int, ...]]] = {}
        for body in sorted(bodies, key=len, reverse=True)[:MOST_BODIES]:
            by_first.setdefault(body[0], []).append(body)
        self.look_at(row)
        found: list[Item] = []
        at = 0
        while at < len(row):
            kinds = self.kinds_of_row
            for body in by_first.get(kinds[at], ()) if isinstance(row[at], int) else ():
                long = len(body)
                if tuple(kinds[at : at + long]) == body:
                    turns = 1 + (self.covered(at, long, min(len(row), at + 2 * long)) == long)
                    ends = range(at, at + turns * long, long)
                    found.append(Loop(tuple([tuple(row[end : end + long]) for end in ends])))
                    at += turns * long
                    break
            else:
                found.append(row[at])
                at += 1
        return found

    def kind_of(self, item: Item) -> int:
        """A number that alike items have in common."""
        if isinstance(item, int):
            return self.kind[item]
        body = tuple([self.kind_of(inner) for inner in item.turns[0]])
        return self.kinds.setdefault(("loop", body), len(self.kinds))

    def carries(self, start: int, period: int, size: int) -> bool:
        """Return whether items at the same position of several turns hang together, sums of the gradients of leaves
        apart, or lead into a loop."""
        top = list(range(size))
        for at in range(size):
            for number, _ in _nodes(self.row[start + at]):
                node = self.graph.nodes[number]
                for edge in filter(None, (*node.args, *node.next)) if number not in self.sums else ():
                    if edge.node in self.seats:
                        return True
                    there = self.position.get(edge.node, (-1, ()))[0] - start
                    if 0 <= there < size and edge.node not in self.sums:
                        one, other = _top(top, at), _top(top, there)
                        top[max(one, other)] = min(one, other)
        return len({(_top(top, at), at % period) for at in range(size)}) < size

    def shift(self, start: int, period: int, size: int) -> int:
        """Return how much later the turns begin if a turn runs in few modules, few tensors lead from one into the next,
        and little is left out at the start."""
        if not 1 < period <= LONGEST:
            return 0

        def carried(shift: int) -> int:
            begin = start + shift + period
            its = self.nodes(begin, begin + period)
            used = {edge.node for node in its for edge in (*node.args, *node.next) if edge}
            return sum(start <= self.position.get(number, (-1, ()))[0] < begin for number in used)

        def modules(shift: int) -> int:
            begin = start + shift + period
            return len({node.call for node in self.nodes(begin, begin + period)})

        # Of several such positions, the one at which the last turn ends with the run.
        shifts = range(min(period, size - FEWEST * period + 1))
        return min(
            shifts, key=lambda shift: (modules(shift), carried(shift) + shift, (size - shift) % period != 0, shift)
        )

    def covered(self, start: int, period: int, stop: int) -> int:
        """Return how many items from `start` on, up to `stop`, are like those one turn later."""
        pair, kinds, row = _Pair(start, period), self.kinds_of_row, self.row
        for at in range(start, stop - period):
            if kinds[at] != kinds[at + period] or not self.alike(row[at], row[at + period], pair):
                return at - start
        return stop - period - start

    def alike(self, one: Item, other: Item, pair: _Pair) -> bool:
        """Return whether two items of one kind are wired in the same way."""
        if isinstance(one, Loop) and isinstance(other, Loop):
            turns = zip(one.turns[:2], other.turns[:2], strict=False)
            return all(self.alike(a, b, pair) for mine, its in turns for a, b in zip(mine, its, strict=True))
        assert isinstance(one, int) and isinstance(other, int)
        a, b = self.graph.nodes[one], self.graph.nodes[other]
        at = self.position[one][0]
        first = at < pair.start + pair.period
        if self.kind[one] != self.kind[other] or not (a.kind == b.kind or (first and a.kind == "untracked")):
            return False
        mine, its = (*a.args, *a.next), (*b.args, *b.next)
        if len(mine) == len(its) and all(map(self.same, mine, its, repeat(pair), repeat(at))):
            return True
        if not first:
            return False
        given, taken = list(filter(None, mine)), list(filter(None, its))

        def fits(x: Edge, y: Edge) -> bool:
            return self.same(x, y, pair, at)

        # What is one tensor at first, as h and c of zeros, may be several later; a sum may begin with a number.
        met = [y for y in taken if any(fits(x, y) for x in given)]
        alone = [x for x in given if not any(fits(x, y) for y in met)]
        return bool(met) and not alone and all(y in met or self.added_up(y, other, pair) for y in taken)

    def added_up(self, edge: Edge, user: int, pair: _Pair) -> bool:
        """Return whether an edge of the second turn leads to the same operation of the first, which began with a number
        there."""
        at, path = self.position[user]
        return self.position.get(edge.node) == (at - pair.period, path) and at - pair.period < pair.start + pair.period

    def same(self, one: Edge | None, other: Edge | None, pair: _Pair, at: int) -> bool:
        """Return whether an edge from item `at` is the same as another, one turn later."""
        if one is None and other is None:
            return True
        if other is None:
            return False
        there = self.position.get(other.node)
        first = at < pair.start + pair.period
        fed = first and there is not None and pair.start <= there[0] < pair.start + pair.period
        if one is None:
            return fed
        nodes = self.graph.nodes
        if one.node == other.node:
            return one.nr == other.nr or there is None or there[0] < pair.start
        here = self.position.get(one.node)
        if one.nr == other.nr and here and there and here[1] == there[1]:
            # One turn later, or any turn of a loop that is over.
            later, before = there[0] - here[0], bool(here[1]) and here[0] < pair.start
            if later == pair.period or (later == 0 and before):
                return True
        a, b = nodes[one.node], nodes[other.node]
        if _plain(a, one.nr) != _plain(b, other.nr):
            return False
        if not a.computes and not b.computes:
            return (a.kind == "leaf") == (b.kind == "leaf")
        mine, its = self.seats.get(one.node), self.seats.get(other.node)
        if mine and its and mine.path == its.path and one.nr == other.nr:
            return True
        if self.order < a.order == b.order and self.kind[one.node] == self.kind[other.node]:
            return True  # derivatives, of which loops are looked for later
        return fed and (here is None or here[0] < pair.start)

    def seat(self, order: int, row: Sequence[Item]) -> None:
        """Give every operation of the loops in a row its seat."""
        for at, item in enumerate(row):
            if isinstance(item, Loop) and len(item.turns) >= FEWEST:
                counts: dict[tuple[int, ...], tuple[int, int]] = {}
                found = list(_seated(item, (order, at), (), counts))
                for number, path, turn in found:
                    turns = tuple([counts[path[: level + 3]] for level in range(len(turn))])
                    self.seats[number] = Seat(path, turn, turns)


class _Pair(Struct, frozen=True):
    """Turns that are compared: where the first one begins, and how long each is."""

    start: int
    period: int


def _top(top: list[int], at: int) -> int:
    """The first of what hangs together with this."""
    while top[at] != at:
        top[at] = at = top[top[at]]
    return at


Counts = dict[tuple[int, ...], tuple[int, int]]


def _seated(
    loop: Loop, path: tuple[int, ...], turn: tuple[int, ...], counts: Counts
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """The operations of a loop, the path and the turns of each; `counts` gets the turns that have each item of a
    loop."""
    for position in range(len(loop.turns[0])):
        many = sum(position < len(items) for items in loop.turns)
        fewest, most = counts.get((*path, position), (many, many))
        counts[*path, position] = min(fewest, many), max(most, many)
    for number, items in enumerate(loop.turns):
        for position, item in enumerate(items):
            if isinstance(item, int):
                yield item, (*path, position), (*turn, number)
            else:
                yield from _seated(item, (*path, position), (*turn, number), counts)


def _plain(node: Node, nr: int) -> tuple[str, str, int]:
    type_ = node.outputs[nr].type
    return type_.dtype, type_.device, len(type_.shape)


def _tops(graph: Graph) -> list[str]:
    """For each call of a module the outermost one that it ran in; of several ranks, that is the frame of the rank."""
    tops: list[str] = []
    for call in graph.calls:
        tops.append(call.path if call.parent is None else tops[call.parent])
    return tops


def in_any(path: str) -> str:
    """The path of a module, whichever of a list it is in.

    >>> in_any("net.layers.3.fc1")
    'net.layers.*.fc1'
    """
    return _PLACE.sub("*", path)


def _kind(graph: Graph, node: Node, tops: Sequence[str], told: Callable[[str], str]) -> tuple[object, ...]:
    line = (node.source.file, node.source.line) if node.source else None
    parent = None if node.parent is None else graph.nodes[node.parent].name
    type_ = _plain(node, 0) if node.outputs else None  # others, as the state of a layer, may be left out where unused
    top, module = "" if node.call is None else tops[node.call], told(node.module)
    path, colon, layer = node.op.partition(": ")
    op = f"{told(path)}{colon}{DILATED.sub('', layer)}" if colon and node.module.endswith(path) else node.op
    op = CUT if is_cut(node) else _STARTED.get(op, op)
    return op or node.name, node.order, line, module, _state(graph, node), told(top), type_, parent


def _state(graph: Graph, node: Node) -> tuple[tuple[int, ...], ...]:
    """The shapes of the parameters that an operation is given: those of equal modules are equal."""
    ends = filter(None, (*node.args, *node.next))
    leaves = (graph.nodes[edge.node] for edge in ends if graph.nodes[edge.node].kind == "leaf")
    return tuple([leaf.outputs[0].type.shape for leaf in leaves if leaf.module])
