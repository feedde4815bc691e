"""Finds where the gradients of backward calls part first, in two runs of the same step."""

from __future__ import annotations

import math
from collections.abc import Iterable

from autograph_cli.graph.aligned import SHARP, USUAL, Aligned, Compared, at, flow_in, handed_on, noise_of
from autograph_cli.graph.numbers import Apart
from autograph_cli.graph.parting import Kind, Parting
from autograph_cli.graph.parting_forward import Forward
from autograph_cli.graph.parting_rounding import Rounding, factor
from autograph_cli.graph.records import Edge, Exact, Graph, Node, Pass
from autograph_cli.graph.views import walk
from autograph_cli.graph.walk import reached

_SAME = Compared("same")


def partings(aligned: Aligned) -> list[Parting]:
    """All places at which the numbers of two steps part, in order of time, of results and of gradients."""
    forward = Forward(aligned)
    found, later = forward.run(), _Backward(aligned, forward).run()
    return sorted([*found, *(forward.faint if later else ()), *later], key=lambda one: one.time)


class _Backward:
    """Compares the gradients of the backward calls, in the order in which nodes ran."""

    def __init__(self, aligned: Aligned, forward: Forward) -> None:
        self.aligned, self.forward = aligned, forward
        self.old, self.new = aligned.old, aligned.new
        self.found: list[Parting] = []

    def run(self) -> list[Parting]:
        time, width = -1.0, 0.5 / max(1, len(self.old.passes))  # all calls come before the next operation
        for mine, its in zip(self.old.passes, self.new.passes, strict=False):
            ends = [*mine.ran, *(edge.node for edge in mine.roots)]
            time = max(time + width, max(ends, default=0) + 0.25)
            _Call(self, mine, its, time, width).run()
            if mine.create_graph != its.create_graph and len(self.old.passes) != len(self.new.passes):
                start = mine.roots[0].node if mine.roots else 0
                self.found.append(Parting("graph", time + width, start, self.aligned.pairs.get(start), pass_id=mine.id))
        return self.found


class _Call:
    """One backward call in both runs."""

    def __init__(self, backward: _Backward, mine: Pass, its: Pass, time: float, width: float) -> None:
        self.aligned, self.forward, self.found = backward.aligned, backward.forward, backward.found
        self.old, self.new = backward.old, backward.new
        self.mine, self.its, self.time, self.width = mine, its, time, width
        self.ran, self.like_ran = set(mine.ran), set(its.ran)
        self.senders = [senders_in(graph, ran) for graph, ran in ((self.old, mine.ran), (self.new, its.ran))]
        self.sent: dict[tuple[int, int], Compared] = {}
        """The difference of what a node that has a like sent along an edge."""
        self.given: dict[int, Compared] = {}
        """The same of what nodes were given, the worst of their outputs."""
        coarse, its_coarse = self.aligned.coarsest
        self.roundings = [
            Rounding(self.old, mine.id, self.senders[0], coarse, self.given.get),
            Rounding(self.new, its.id, self.senders[1], its_coarse, self._given_to_like),
        ]
        self.met: set[tuple[str, int | None, int | None]] = set()

    def _given_to_like(self, other: int) -> Compared | None:
        return self.given.get(self.aligned.likes.get(other, -1))

    def run(self) -> None:
        for position, number in enumerate(self.mine.ran):
            self.now = self.time + self.width * position / len(self.mine.ran)
            like = self.aligned.pairs.get(number)
            if like is None or not self.aligned.equal(number, like):
                continue
            if like in self.like_ran:
                self._node(self.old[number], self.new[like])
            else:
                self._gone(number, like, lost=True)
        for position, other in enumerate(self.its.ran):
            self.now = self.time + self.width * position / len(self.its.ran)
            one = self.aligned.likes.get(other)
            if one is not None and one not in self.ran and self.aligned.equal(one, other):
                self._gone(one, other, lost=False)
        if not self._arrives():
            self.found[:] = [each for each in self.found if each.pass_id != self.mine.id or each.kind != "part"]

    def _arrives(self) -> bool:
        """Return whether what the call is for is another one: the gradients of leaves, or those that it gives. What is
        apart between is else a step of another way to compute the same."""
        ends = [number for number in self.mine.ran if not self.old[number].next]
        ends += [edge.node for edge in self.mine.inputs if edge is not None]
        seen = [self.given[number].level for number in ends if number in self.given]
        return "parted" in seen or len(seen) < len(ends)

    def _add(
        self, kind: Kind, old: int | None, new: int | None, compared: Compared, nr: int = 0, **more: object
    ) -> None:
        if (kind, old, new) not in self.met:
            self.met.add((kind, old, new))
            apart, eps, number = compared.apart, compared.eps, self.mine.id
            self.found.append(Parting(kind, self.now, old, new, apart, eps, nr, number, **more))  # type: ignore[arg-type]

    # -- what a node was given

    def _node(self, one: Node, other: Node) -> None:
        flows = flow_in(one, self.mine.id), flow_in(other, self.its.id)
        if flows[0] is None or flows[1] is None:
            self.aligned.note(Compared("unknown"))
            return
        worst = Compared("same")
        for nr in range(min(len(one.outputs), len(other.outputs))):
            compared = self.aligned.note(self._given(one, other, nr, at(flows[0].given, nr), at(flows[1].given, nr)))
            if compared.level == "parted" or (worst.level != "parted" and compared.relative > worst.relative):
                worst = compared
        self.given[one.id] = worst
        if worst.level == "parted":
            self.aligned.strayed.add(one.id)
        else:
            self._sends(one, other)

    def _given(self, one: Node, other: Node, nr: int, mine: Exact | None, its: Exact | None) -> Compared:
        eps = self.aligned.eps(Edge(one.id, nr), Edge(other.id, nr))
        if mine is None and its is None:
            return Compared("same")
        senders = [found.get((number, nr), []) for found, number in zip(self.senders, (one.id, other.id), strict=True)]
        if mine is None or its is None:  # a gradient came in one graph only
            self._blame(one, other, nr, Compared("parted", Apart(False, math.inf), eps), senders)
            return Compared("parted", Apart(False, math.inf), eps)
        pairs = self._paired(*senders)
        if pairs is None:
            eps = max([eps, *self._precision(senders)])
            noise = self._noise(senders, mine, its)
            compared = self.aligned.judged(mine, its, eps, self.aligned.loose, 0.0, noise)
            return compared if compared.level != "parted" else self._blame(one, other, nr, compared, senders)
        sent = [self.sent.get(pair, Compared("unknown")) for pair in pairs]
        noise = 2 * sum(each.apart.difference for each in sent if math.isfinite(each.apart.difference))
        scale = max((each.apart.scale for each in sent), default=0.0)
        compared = self.aligned.judged(mine, its, eps, SHARP, 0.0, noise + SHARP * eps * scale)
        if compared.level != "parted" or any(each.level == "parted" for each in sent):
            return compared
        if any(each.level == "unknown" for each in sent):
            return self.aligned.judged(mine, its, eps, self.aligned.loose)
        self._add("hook" if senders[0] else "seed", one.id, other.id, compared, nr)
        return compared

    def _noise(self, senders: list[list[tuple[int, int]]], mine: Exact, its: Exact) -> float:
        """The most that rounding makes in gradients that senders without likes summed up."""
        sides = zip(self.roundings, senders, (mine, its), strict=True)
        each = max(sum(side.sent(number, made) for number, _ in sent) for side, sent, made in sides)
        return each if mine.data and its.data else each * math.sqrt(mine.count)  # digests differ by a norm

    def _precision(self, senders: list[list[tuple[int, int]]]) -> list[float]:
        """The precision of the numbers that senders compute with: the gradient of a parameter may come from a copy of
        another dtype."""
        return [of[number] for of, sent in zip(self.aligned.coarsest, senders, strict=True) for number, _ in sent]

    def _paired(self, mine: list[tuple[int, int]], its: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
        """The senders of the old graph, where each has a like in the new one that computes the same, and that has no
        others; else None."""
        likes = [(self.aligned.pairs.get(number, -1), nr) for number, nr in mine]
        if sorted(likes) != sorted(its) or not all(self._alike(number) for number, _ in mine):
            return None
        return mine

    def _alike(self, number: int) -> bool:
        like = self.aligned.pairs.get(number)
        return (
            like is not None
            and number in self.forward.wired
            and self.old[number].op == self.new[like].op
            and self.aligned.equal(number, like)
        )

    def _blame(
        self, one: Node, other: Node, nr: int, compared: Compared, senders: list[list[tuple[int, int]]]
    ) -> Compared:
        """The gradients of a tensor are apart, and not all that sent them have likes: these parted, unless something
        did before them."""
        mine, its = senders
        if any(self.sent.get(sender, _SAME).level == "parted" for sender in mine):
            return compared
        taken = {(self.aligned.pairs[number], at) for number, at in mine if self._alike(number)}
        olds = [number for number, _ in mine if not self._alike(number)]
        news = [number for number, at in its if (number, at) not in taken]
        if self._behind_parted(olds):
            return compared
        old, new = next(iter(olds), None), next(iter(news), None)
        self._add("part", old, new, compared, nr, olds=tuple(olds), news=tuple(news))
        return compared

    def _behind_parted(self, olds: Iterable[int]) -> bool:
        """Return whether what was given to the part that these end is apart already."""

        def senders(number: int) -> list[int]:
            return [] if number in self.given else [user for user, _ in self.senders[0].get((number, 0), [])]

        return any(self.given[number].level == "parted" for number in reached(olds, senders) if number in self.given)

    # -- what it sends on

    def _sends(self, one: Node, other: Node) -> None:
        if one.id not in self.forward.wired or one.op != other.op or len(one.next) != len(other.next):
            return
        flows = flow_in(one, self.mine.id), flow_in(other, self.its.id)
        assert flows[0] is not None and flows[1] is not None
        for nr, (mine, its) in enumerate(zip(one.next, other.next, strict=True)):
            sent = at(flows[0].sent, nr), at(flows[1].sent, nr)
            wanted = self._goes(mine, self.ran), self._goes(its, self.like_ran)
            if wanted[0] != wanted[1]:
                gone, which = Compared("parted", Apart(False, math.inf)), (self.old, self.new)[wanted[0]]
                ended = _ends(which, (one, other)[wanted[0]], self.aligned)
                self._add("cut", one.id, other.id, gone, nr, lost=wanted[0], ends=ended)
                continue
            if mine is None or its is None or sent == (None, None):
                continue
            compared = self._sent(one, other, mine, its, sent)
            compared = self.aligned.note(self.aligned.recomputed(one, other, 1, compared))
            self.sent[one.id, nr] = compared
            if compared.level == "parted":
                self._add("formula", one.id, other.id, compared, nr)

    def _sent(self, one: Node, other: Node, mine: Edge, its: Edge, sent: tuple[Exact | None, Exact | None]) -> Compared:
        eps = self.aligned.eps(mine, its)
        if sent[0] is None or sent[1] is None:
            return Compared("parted", Apart(False, math.inf), eps)
        compare = self.aligned.compare
        given = [compare(a, b) for a, b in zip(one.args, other.args, strict=True)]
        given += [compare(Edge(one.id, nr), Edge(other.id, nr)) for nr in range(len(one.outputs))]
        arrived = self.given[one.id]
        sharp = self.aligned.same_engine and all(each.level == "same" for each in (*given, arrived))
        told = max(each.relative for each in (*given, arrived))
        flow = flow_in(one, self.mine.id)
        noise, by = 0.0, factor(self.old, one)
        if flow is not None and not sharp:
            noise = noise_of(eps, flow.given, sent[0], by)
            told = max(told, handed_on(arrived.relative, flow.given, sent[0], by))
        return self.aligned.judged(*sent, eps, SHARP if sharp else USUAL, told, noise)

    def _goes(self, edge: Edge | None, ran: set[int]) -> bool:
        """Return whether a gradient goes along an edge."""
        return edge is not None and edge.node in ran

    def _gone(self, one: int, other: int, *, lost: bool) -> None:
        """A node ran in one graph only: what sent it a gradient there, and has no like, is where it parted."""
        side, number = (0, one) if lost else (1, other)
        graph = (self.old, self.new)[side]
        for nr in range(len(graph[number].outputs)):
            for sender, _ in self.senders[side].get((number, nr), []):
                old = sender if lost else self.aligned.likes.get(sender)
                if old is not None and self._alike(old):
                    if self._ends_in_leaf(sender, number, side):
                        gone = Compared("parted", Apart(False, math.inf))
                        new, ends = self.aligned.pairs[old], other if lost else one
                        self._add("cut", old, new, gone, nr, lost=lost, ends=ends)
                        return
                    continue
                if lost and self._behind_parted([sender]):
                    continue
                gone = Compared("parted", Apart(False, math.inf))
                one_side, other_side = (sender, None) if lost else (old, sender)
                olds, news = ((sender,), ()) if lost else ((), (sender,))
                self._add("part", one_side, other_side, gone, nr, lost=lost, olds=olds, news=news)
                return

    def _ends_in_leaf(self, sender: int, number: int, side: int) -> bool:
        """Return whether a gradient that one graph sends on to this node ends in a leaf in the other graph."""
        (graph, likes), (other, _) = self.aligned.sides[side], self.aligned.sides[1 - side]
        edges = zip(graph[sender].next, other[likes[sender]].next, strict=False)
        targets = [its for mine, its in edges if mine is not None and mine.node == number and its is not None]
        return any(other[edge.node].kind == "leaf" for edge in targets)


def _ends(graph: Graph, node: Node, aligned: Aligned) -> int | None:
    """Return the argument that ends the history, in the graph in which no gradient goes on: a `detach`, or an operation
    that ran without a gradient."""
    likes, other = (aligned.likes, aligned.old) if graph is aligned.new else (aligned.pairs, aligned.new)
    met = walk(graph, [edge.node for edge in node.args], lambda one: one.args if one.kind == "untracked" else ())
    cuts = [number for number in met if graph[number].kind == "untracked" and graph[number].cut]
    alone = (number for number in cuts if number not in likes or not other[likes[number]].cut)
    return next(alone, next(iter(cuts), None))


def senders_in(graph: Graph, ran: Iterable[int]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return the senders of the gradients of each output, in the order in which they ran: nodes, and positions in their
    `next`."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number in ran:
        for position, edge in enumerate(graph[number].next):
            if edge is not None:
                found.setdefault((edge.node, edge.nr), []).append((number, position))
    return found
