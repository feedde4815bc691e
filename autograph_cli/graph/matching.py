"""Finds for every node of one graph its like in another: by structure, whatever its number, position or name.

Names of leaves and inputs that both graphs know come first. Then hashes of all that a node hangs on, and of all that
hangs on it, find what an edit left as it was; derivatives are looked for among those of the same operation. The rest
grows out from its matched neighbours, and is at last aligned in order of creation.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from autograph_cli.graph.alignment import align
from autograph_cli.graph.matching_sides import Side, anchors, homes, is_within, marks, nameless, only_users, taken
from autograph_cli.graph.records import Graph, Node
from autograph_cli.graph.renumbered import knows_modules, renumbered

Label = Callable[[Node], Hashable]
ROUNDS = 8
"""The rounds in which the nodes' surroundings are blended, to tell apart nodes with equal hashes."""
RADIUS = 3
"""The distance at which a node's surroundings are looked at, if an edit above and another below it are."""


def match(old: Graph, new: Graph, fine: Label, *, names: bool = True) -> dict[int, int]:
    """The node of `new` for every node of `old` that has one there; linear but for sorting.

    `fine` is what of a node should be alike (its types, say) where the choice is free; with `names`, leaves and inputs
    of a name that both graphs have are the same.

    >>> from autograph_cli.graph.records import Output, TensorType
    >>> leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), ("x",)),))
    >>> match(Graph((leaf,)), Graph((leaf,)), fine=lambda node: ())
    {0: 0}
    """
    return _Matcher(old, new, fine, names).run()


def coarse(node: Node) -> Hashable:
    """Return what must be alike for two operations to be one that was changed."""
    return node.is_operation or node.kind, node.op or node.name, node.order


class _Matcher:
    def __init__(self, old: Graph, new: Graph, fine: Label, names: bool) -> None:
        self.old, self.new = Side(old), Side(new)
        self.graphs, self.sides = (old, new), (self.old, self.new)
        self.numbers: dict[Hashable, int] = {}
        """A number for everything that was ever compared, the same on both sides."""
        before = renumbered(old, new) if names else str
        self.before = None if before is str or not knows_modules(old, new) else (str, before)
        """The functions that give the names of layers in the old graph, where numbers of layers differ."""
        if before is not str:
            self.new.apart = {node.id for node in new if is_within(node, lambda name: not before(name))}
        known = anchors(old, new, before) if names else ()
        for one, other in known:
            self.pair(one, other)
        self.marks = [{pair[side]: ("mark", position) for position, pair in enumerate(known)} for side in (0, 1)]
        self.homes = homes(old, new, before)
        """For each named leaf the innermost module around it that both graphs have: it has no like in another."""
        self.coarse = [
            [self.number(self._coarse(at, node)) for node in side.nodes] for at, side in enumerate(self.sides)
        ]
        self.labels = [[self._labels(at, what) for at in (0, 1)] for what in (fine, lambda node: ())]
        for at in (0, 1):
            leaves = self._leaves(at)
            for labels in self.labels:
                both = zip(labels[at], leaves, strict=True)
                labels[at] = [self.number(("of", *pair)) if pair[1] else pair[0] for pair in both]
        self.nameless = [nameless(side).keys() for side in self.sides]

    def _coarse(self, at: int, node: Node) -> Hashable:
        return coarse(node), self.homes[at].get(node.id, "")

    def _leaves(self, at: int) -> list[tuple[int, ...]]:
        """For each operation, the marks of the leaves among its arguments, also of those seen through a `t`: they tell
        apart what stands in equal layers."""
        alone: dict[int, int] = {}
        found: list[tuple[int, ...]] = []
        for node in self.sides[at].nodes:
            given = tuple([alone[edge.node] for edge in node.args if edge.node in alone])
            if node.kind == "leaf" and node.id in self.marks[at]:
                alone[node.id] = self.number(self.marks[at][node.id])
            elif len(given) == len(node.args) == 1:
                alone[node.id] = given[0]
            found.append(given if len(node.args) > 1 else ())
        return found

    def _labels(self, at: int, what: Label) -> list[int]:
        known = self.marks[at]
        layers = self.before and self.before[at]
        return [
            self.number(
                (
                    "label",
                    known[node.id] if node.id in known else self._coarse(at, node),
                    layers(node.module) if layers and node.module else "",
                    what(node),
                )
            )
            for node in self.sides[at].nodes
        ]

    def run(self) -> dict[int, int]:
        self._exact()
        orders = {node.order for side in self.sides for node in side.nodes}
        levels = [[self._hashes(at, labels[at]) for at in (0, 1)] for labels in self.labels]
        if self._cut():
            levels.append([self._hashes(at, self.labels[1][at], data=True) for at in (0, 1)])
        balls = list(zip(*[self._balls(at, RADIUS) for at in (0, 1)], strict=True))[::-1]
        for order in sorted(orders):
            if order:
                self._derivatives(order, levels)
            for (ins, outs), (other_ins, other_outs) in levels:
                both, other_both = list(zip(ins, outs, strict=True)), list(zip(other_ins, other_outs, strict=True))
                self._unique(order, (both, other_both))
                self._unique(order, (ins, other_ins), (outs, other_outs))
                self._ties(order, both, other_both)
            for near in balls:
                self._unique(order, (near[0], near[1]))
            self._grow(self.old.image.items(), order)
            self._align(order)
        self._grow(self.old.image.items(), max(orders, default=0))
        self._replaced()
        self._nameless()
        self._twins()
        return dict(sorted(self.old.image.items()))

    def _cut(self) -> bool:
        """Return whether gradients end elsewhere: then data flows as it did through what has other edges."""
        counts = [Counter(side.nodes[one].kind for one in side.free(None)) for side in self.sides]
        return counts[0]["operation"] != counts[1]["operation"] and counts[0]["untracked"] != counts[1]["untracked"]

    def _exact(self) -> None:
        """Pair what is alike in the whole of both graphs, derivatives and backward calls included."""
        colours = []
        for at in (0, 1):
            both = zip(self.labels[0][at], marks(self.graphs[at]), strict=True)
            labels = [self.number(("mark", label, mark)) for label, mark in both]
            ins, outs = self._hashes(at, labels, everywhere=True)
            colours.append([self.number(pair) for pair in zip(ins, outs, strict=True)])
        classes = 0
        for _ in range(ROUNDS):
            if len(set(colours[0])) + len(set(colours[1])) == classes:
                break
            classes = len(set(colours[0])) + len(set(colours[1]))
            colours = [self._blended(side, colours[at]) for at, side in enumerate(self.sides)]
        self._unique(None, (colours[0], colours[1]))
        self._ties(None, colours[0], colours[1])

    def number(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def pair(self, one: int, other: int) -> None:
        self.old.image[one] = other
        self.new.image[other] = one

    def _hashes(
        self, at: int, labels: list[int], *, everywhere: bool = False, data: bool = False
    ) -> tuple[list[int], list[int]]:
        """For each node, the number of all that it hangs on, and of all of its own order that hangs on it.

        `everywhere`: of other orders too, and through the operations that derivatives are of; `data`: by its arguments
        alone, whatever gradients do.
        """
        side = self.sides[at]
        ins, outs = [-1] * len(labels), [-1] * len(labels)
        for one in side.sorted:
            given = [(slot, nr, ins[target]) for slot, nr, target in side.ins[one] if slot >= 0 or not data]
            ins[one] = self.number(("in", labels[one], *given))
        for one in reversed(side.sorted):
            order = side.nodes[one].order
            users = [
                (slot, nr, outs[user])
                for slot, nr, user in side.outs[one]
                if (everywhere or side.nodes[user].order == order) and (slot >= 0 or not data)
            ]
            outs[one] = self.number(("out", labels[one], *sorted(users)))
        return ins, outs

    def _balls(self, at: int, radius: int) -> list[list[int]]:
        """For each distance up to `radius`, the number of all that is within it around each node."""
        found = [self.labels[0][at]]
        for _ in range(radius):
            found.append(self._blended(self.sides[at], found[-1]))
        return found[1:]

    def _blended(self, side: Side, last: list[int]) -> list[int]:
        """Each node's number with those of its neighbours."""
        found = []
        for one, node in enumerate(side.nodes):
            ins = [(slot, nr, last[target]) for slot, nr, target in side.ins[one]]
            outs = sorted([(slot, nr, last[user]) for slot, nr, user in side.outs[one]])
            above = -1 if node.parent is None else last[node.parent]
            below = sorted([last[child] for child in side.children[one]])
            found.append(self.number(("ball", last[one], above, *ins, "of", *outs, "to", *below)))
        return found

    def _unique(self, order: int | None, *keys: tuple[Sequence[Hashable], Sequence[Hashable]]) -> None:
        """Pair the nodes whose key no other free node on either side has, if the kinds of keys do not disagree."""
        once, twice = self._told_apart(order)
        found: dict[tuple[int, int], None] = {}
        for mine, theirs in keys:
            counts, other_counts = Counter(mine[one] for one in once), Counter(theirs[one] for one in twice)
            positions = {theirs[one]: one for one in twice}
            for one in once:
                if counts[mine[one]] == 1 == other_counts[mine[one]]:
                    found[one, positions[mine[one]]] = None
        votes, other_votes = Counter(one for one, _ in found), Counter(other for _, other in found)
        for one, other in found:
            if votes[one] == 1 == other_votes[other]:
                self.pair(one, other)

    def _told_apart(self, order: int | None) -> tuple[list[int], list[int]]:
        """The free nodes of both sides, without masks where an edit is near: which one it is, its user tells."""
        free = self.old.free(order), self.new.free(order)
        if order is None:
            return free
        once, twice = ([one for one in its if one not in of] for its, of in zip(free, self.nameless, strict=True))
        return once, twice

    def _ties(self, order: int | None, keys: Sequence[Hashable], others: Sequence[Hashable]) -> None:
        """Pair nodes that cannot be told apart: users first, and what they were given with them."""
        classes: dict[Hashable, list[int]] = defaultdict(list)
        once, twice = map(set, self._told_apart(order))
        for other in reversed(self.new.sorted):
            if other in twice:
                classes[others[other]].append(other)
        counts = Counter(keys[one] for one in once)
        for first in reversed(self.old.sorted):
            key = keys[first]
            if first not in once or first in self.old.image or counts[key] != len(classes.get(key, ())):
                continue
            partner = next((other for other in classes[key] if self._fits(first, other)), None)
            if partner is None:
                continue
            stack = [(first, partner)]
            while stack:
                one, other = stack.pop()
                if one in self.old.image or not self.new.is_free(other):
                    continue
                self.pair(one, other)
                stack += [
                    (a, b)
                    for a, b in self._beside(one, other, keys, others)
                    if keys[a] == others[b] and (order is None or self.old.nodes[a].order == order)
                ]

    def _fits(self, one: int, other: int) -> bool:
        """Return whether every paired neighbour is one in the same position."""
        old, new = self.old, self.new
        if other in new.image or not self._agree(one, other):
            return False
        users = set(new.outs[other])
        return all((slot, nr, old.image[user]) in users for slot, nr, user in old.outs[one] if user in old.image)

    def _beside(
        self, one: int, other: int, keys: Sequence[Hashable], others: Sequence[Hashable]
    ) -> Iterator[tuple[int, int]]:
        """Neighbours in the same position: arguments, what they are derivatives of, and users if there is no choice."""
        old, new = self.old, self.new
        for (_, _, target), (_, _, like) in zip(old.ins[one], new.ins[other], strict=False):
            yield target, like
        above, over = old.nodes[one].parent, new.nodes[other].parent
        if above is not None and over is not None:
            yield above, over
        for mine, theirs in (
            (old.outs[one], new.outs[other]),
            ([(0, 0, child) for child in old.children[one]], [(0, 0, child) for child in new.children[other]]),
        ):
            positions: dict[Hashable, list[int]] = defaultdict(list)
            for slot, nr, user in theirs:
                if user not in new.image:
                    positions[slot, nr, others[user]].append(user)
            free = Counter((slot, nr, keys[user]) for slot, nr, user in mine if user not in old.image)
            for slot, nr, user in mine:
                found = positions.get((slot, nr, keys[user]), ())
                if len(found) == 1 == free[slot, nr, keys[user]]:
                    yield user, found[0]

    def _derivatives(self, order: int, levels: list[list[tuple[list[int], list[int]]]]) -> None:
        """Pair, among the derivatives of each matched operation, those that are alike, else those in the same row."""
        for one, other in list(self.old.image.items()):
            mine = [child for child in self.old.children[one] if self.old.nodes[child].order == order]
            theirs = [child for child in self.new.children[other] if self.new.nodes[child].order == order]
            if not mine or not theirs:
                continue
            for level, labels in zip(levels, self.labels, strict=False):
                for keys in ((level[0][0], level[1][0]), (level[0][1], level[1][1]), (labels[0], labels[1])):
                    left = [child for child in mine if child not in self.old.image]
                    right = [child for child in theirs if child not in self.new.image]
                    for at, to in align([keys[0][child] for child in left], [keys[1][child] for child in right]):
                        self.pair(left[at], right[to])

    def _agree(self, one: int, other: int) -> bool:
        """Return whether nothing that is paired already speaks against this pair."""
        old, new = self.old, self.new
        pairs = [(a[2], b[2]) for a, b in zip(old.ins[one], new.ins[other], strict=False) if a[:2] == b[:2]]
        parents = old.nodes[one].parent, new.nodes[other].parent
        if parents[0] is not None and parents[1] is not None:
            pairs.append((parents[0], parents[1]))
        return not any(self._contradict(a, b) for a, b in pairs)

    def _contradict(self, one: int, other: int) -> bool:
        """Return whether two arguments cannot be the same, nor one of them an operation that was put before the
        other."""
        image, origin = self.old.image.get(one), self.new.image.get(other)
        if image is not None and origin is not None:
            return image != other
        return (image is not None and not self.new.nodes[other].is_operation) or (
            origin is not None and not self.old.nodes[one].is_operation
        )

    def _evidence(self, one: int, other: int) -> int:
        """Return how many matched neighbours speak for this pair, less those whose position another node has."""
        old, new = self.old, self.new
        ins = {(slot, nr, old.image[target]) for slot, nr, target in old.ins[one] if target in old.image}
        outs = {(slot, nr, old.image[user]) for slot, nr, user in old.outs[one] if user in old.image}
        speak = sum(entry in ins for entry in new.ins[other]) + sum(entry in outs for entry in new.outs[other])
        return speak - taken(old, one, new) - taken(new, other, old)

    def _grow(self, starts: Iterable[tuple[int, int]], order: int) -> None:
        """Pair the neighbours of pairs up to an order, those with most evidence first."""
        waiting: list[tuple[int, int, int, int]] = []
        for pair in list(starts):
            self._push(waiting, *pair, order)
        while waiting:
            _, _, one, other = heapq.heappop(waiting)
            if one not in self.old.image and other not in self.new.image and self._agree(one, other):
                self.pair(one, other)
                self._push(waiting, one, other, order)

    def _push(self, waiting: list[tuple[int, int, int, int]], one: int, other: int, order: int) -> None:
        for mine, theirs in ((self.old.ins[one], self.new.ins[other]), (self.old.outs[one], self.new.outs[other])):
            free: dict[tuple[int, int], list[int]] = defaultdict(list)
            for slot, nr, near in theirs:
                if self.new.is_free(near):
                    free[slot, nr].append(near)
            for slot, nr, near in mine:
                if near in self.old.image or not free or self.old.nodes[near].order > order:
                    continue
                for candidate in free.get((slot, nr), ())[:8]:
                    if self.coarse[0][near] == self.coarse[1][candidate]:
                        alike = self.labels[0][0][near] == self.labels[0][1][candidate]
                        score = 2 * self._evidence(near, candidate) + alike
                        moved = abs((near - one) - (candidate - other))
                        heapq.heappush(waiting, (-score, moved, near, candidate))

    def _align(self, order: int) -> None:
        """Pair what is left in order of creation, and then its neighbours."""
        for labels in (self.labels[0], self.coarse):
            mine, theirs = self.old.free(order), self.new.free(order)
            found = []
            for at, to in align([labels[0][one] for one in mine], [labels[1][one] for one in theirs]):
                one, other = mine[at], theirs[to]
                if self._agree(one, other) and (self._evidence(one, other) or not self._anchored(one)):
                    self.pair(one, other)
                    found.append((one, other))
            self._grow(found, order)

    def _anchored(self, one: int) -> bool:
        return any(near in self.old.image for _, _, near in (*self.old.ins[one], *self.old.outs[one]))

    def _replaced(self) -> None:
        """Pair operations that differ in their kind and stand in the same position: same arguments, same users; then
        those of the same users that were given more or less, those of one kind that were given something else, and
        those on one side of which a layer came or went."""
        for given in (self._given, self._all_given, self._kind, self._after, self._before):
            positions: dict[Hashable, list[int]] = defaultdict(list)
            for other in range(len(self.new.nodes)):
                if self.new.is_free(other) and self.new.ins[other] and (key := self._position(1, other, given)):
                    positions[key].append(other)
            for one in range(len(self.old.nodes)):
                if one not in self.old.image and self.old.ins[one] and (key := self._position(0, one, given)):
                    found = positions.get(key)
                    if found:
                        self.pair(one, found.pop(0))

    def _nameless(self) -> None:
        """Pair inputs that have no name and one user, such as masks, by that user: nothing else tells them apart."""
        mine, theirs = (nameless(side) for side in self.sides)
        for one in mine:
            other = self.old.image.get(one)
            if other in theirs and self.old.image.get(mine[one][1]) != theirs[other][1]:
                del self.old.image[one], self.new.image[other]
        users = {user: other for other, user in theirs.items() if self.new.is_free(other)}
        for one, (slot, user) in mine.items():
            like = users.get((slot, self.old.image.get(user, -1)))
            if one not in self.old.image and like is not None:
                self.pair(one, like)

    def _twins(self) -> None:
        """Pair operations that are given the same, of which nothing else tells which is which, by their one user."""
        twins: dict[Hashable, list[int]] = defaultdict(list)
        for other, user in enumerate(only_users(self.new)):
            if user and self.new.ins[other] and other not in self.new.apart:
                twins[self.labels[0][1][other], tuple(self.new.ins[other]), user[0]].append(other)
        for one, user in enumerate(only_users(self.old)):
            now = self.old.image.get(one)
            if now is None or user is None or user[1] not in self.old.image:
                continue
            slot, wanted = user[0], self.old.image[user[1]]
            if (slot, wanted) in [(at, into) for at, _, into in self.new.outs[now]]:
                continue
            key = self.labels[0][1][now], tuple(self.new.ins[now]), slot
            twin = next((each for each in twins.get(key, ()) if self.new.outs[each][0][2] == wanted), None)
            if twin is not None:
                self._swap(one, twin)

    def _swap(self, one: int, other: int) -> None:
        """Pair these two; what `other` was the like of gets what `one` had."""
        before, left = self.new.image.pop(other, None), self.old.image.pop(one)
        del self.new.image[left]
        self.pair(one, other)
        if before is not None:
            self.pair(before, left)

    def _position(self, at: int, number: int, given: Callable[[int, int], Hashable]) -> Hashable:
        """Return what tells of a node what it is given, and what uses it, in numbers of the new graph; None where that
        is too little."""
        node, users = self.sides[at].nodes[number], self.sides[at].outs[number]
        outs = sorted((slot, like) for slot, _, user in users if (like := self._like(at, user)) is not None)
        what = given(at, number)
        if given in (self._after, self._before):
            return what if not node.order else None
        alone = given == self._given
        return (node.kind, node.order, what, tuple(outs)) if alone or (what and outs) else None

    def _like(self, at: int, number: int) -> int | None:
        """Return the number in the new graph of a node that has a like."""
        return (number if number in self.new.image else None) if at else self.old.image.get(number)

    def _given(self, at: int, number: int) -> Hashable:
        return tuple([(slot, nr, self._like(at, target)) for slot, nr, target in self.sides[at].ins[number]])

    def _all_given(self, at: int, number: int) -> Hashable:
        likes = [self._like(at, target) for slot, _, target in self.sides[at].ins[number] if slot >= 0]
        return tuple(sorted([like for like in likes if like is not None]))

    def _after(self, at: int, number: int) -> Hashable:
        """Return what a node is given that it alone uses, and the type of its result."""
        side, node = self.sides[at], self.sides[at].nodes[number]
        likes = [self._like(at, target) for slot, _, target in side.ins[number] if slot >= 0]
        alone = all({user for _, _, user in side.outs[target]} == {number} for slot, _, target in side.ins[number])
        return (likes[0], node.outputs[0].type) if len(likes) == 1 and likes[0] is not None and alone else None

    def _before(self, at: int, number: int) -> Hashable:
        """Return the one user of a node that is given one tensor, and the type of its result."""
        side, node = self.sides[at], self.sides[at].nodes[number]
        if len(node.outputs) != 1 or sum(slot >= 0 for slot, _, _ in side.ins[number]) != 1:
            return None
        users = {(slot, self._like(at, user)) for slot, _, user in side.outs[number] if slot >= 0}
        slot, like = users.pop() if len(users) == 1 else (0, None)
        return (slot, like, node.outputs[0].type) if like is not None else None

    def _kind(self, at: int, number: int) -> Hashable:
        return ("kind", self.coarse[at][number])
