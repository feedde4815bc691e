"""Finds where the results of operations part first, in two runs of the same step."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograph_cli.graph.aligned import BLURRED, SHARP, UNKNOWN, USUAL, Aligned, Compared, handed, noise_of
from autograph_cli.graph.compared import constants
from autograph_cli.graph.parting import Kind, Parting
from autograph_cli.graph.records import Edge, Graph, Node
from autograph_cli.graph.views import taken, walk

_OVERWRITING = ("copy_", "fill_", "zero_")


class Forward:
    """Compares the results of operations in order of creation."""

    def __init__(self, aligned: Aligned) -> None:
        self.aligned = aligned
        self.old, self.new = aligned.old, aligned.new
        self.found: list[Parting] = []
        self.faint: list[Parting] = []
        """Partings that leave no more than rounding in the results: they count where gradients part."""
        self.faults: dict[int, Parting] = {}
        """The partings that make other results of the same numbers, by the node of the old graph."""
        self.causes: dict[int, frozenset[int]] = {}
        """For each node of the old graph whose results are other ones: the nodes of the old graph at which that
        begins."""
        self.hushed: set[int] = set()
        """The nodes at which a difference begins that a later operation makes the same numbers of."""
        self.wired: set[int] = set()
        """The nodes of the old graph that were given the same numbers as their likes."""
        self.parts: dict[int, tuple[Edge, Edge]] = {}
        """The arguments at the beginning of each part that has no like."""
        self.uses = _uses(self.old), _uses(self.new)
        self.used = {*taken(self.old), *((aligned.likes.get(number), nr) for number, nr in taken(self.new))}
        """The outputs of the old graph that are used in one of both."""

    def run(self) -> list[Parting]:
        for one in self.old:
            other = self.aligned.pairs.get(one.id)
            if other is not None:
                self._node(one, self.new[other])
        self._settle()
        return self.found

    def _node(self, one: Node, other: Node) -> None:
        given = self._given(one, other)
        if given is not None:
            self.wired.add(one.id)
        found = []
        for nr in range(min(len(one.outputs), len(other.outputs))):
            compared = self._output(one, other, nr, given)
            if compared.level == "parted" and (self._is_overwritten(one) if not nr else (one.id, nr) not in self.used):
                compared = UNKNOWN  # not filled yet; or what an operation keeps for its backward, and need not fill
            found.append(self.aligned.note(compared))
            self.aligned.results[one.id, nr] = found[-1]
        if any(each.level not in ("same", "unknown") for each in found):
            parted = [nr for nr, each in enumerate(found) if each.level == "parted"]
            self._reason(one, other, given is not None, parted)
        else:
            self.hushed |= self._handed_on(one, other)

    def _is_overwritten(self, one: Node) -> bool:
        """Return whether all that is done with an input is to put other numbers in its place, the same in both runs."""
        uses = self.uses[0].get(one.id, []) if one.kind == "input" else []
        return bool(uses) and all(self.old[user].op in _OVERWRITING and self._is_same(user) for user, _ in uses)

    def _is_same(self, number: int) -> bool:
        like = self.aligned.pairs.get(number)
        made = self.aligned.number(self.old, Edge(number))
        return like is not None and made is not None and made == self.aligned.number(self.new, Edge(like))

    def _carried(self, one: Node) -> float:
        """Return how far a leaf or an input may be apart, given its gradients in the step before; a buffer depends on
        all parameters."""
        known = self.aligned.carried
        if known is None:
            return BLURRED
        names = one.outputs[0].names if one.kind == "leaf" else known
        return max([known.get(name, 0.0) for name in names], default=0.0)

    def _reason(self, one: Node, other: Node, is_wired: bool, parted: list[int]) -> None:
        """Note why the results of two nodes are not the same, unless that is rounding."""
        handed_on = self._handed_on(one, other)
        if is_wired and parted and not handed_on:
            kind: Kind = "operation" if one.computes else "state"
            compared = self.aligned.results[one.id, parted[0]]
            self.faults[one.id] = Parting(kind, one.id, one.id, other.id, compared.apart, compared.eps, parted[0])
            handed_on = {one.id}
        elif parted:
            handed_on |= self._begins(one, other)
        elif not all(self.aligned.like(mine, its) for mine, its in zip(one.args, other.args, strict=False)):
            return  # two ways to compute the same have come together
        if handed_on:
            self.causes[one.id] = frozenset(handed_on)

    def _handed_on(self, one: Node, other: Node) -> set[int]:
        """Return the nodes that make the arguments of two nodes differ."""
        pairs = zip(one.args, other.args, strict=False)
        found = [self.causes.get(mine.node, ()) for mine, its in pairs if self.aligned.like(mine, its)]
        return {number for numbers in found for number in numbers}

    def _begins(self, one: Node, other: Node) -> set[int]:
        """The node itself, if it is wired otherwise than its like."""
        if len(one.args) != len(other.args):
            return {one.id}
        for mine, its in zip(one.args, other.args, strict=True):
            if not self.aligned.like(mine, its) and self.aligned.compare(mine, its).level == "parted":
                self.parts[one.id] = mine, its
                return {one.id}
        return set()

    def _given(self, one: Node, other: Node) -> list[Compared] | None:
        """Return the differences of the arguments of two nodes; None if an argument is not the same."""
        if len(one.args) != len(other.args) or one.is_operation != other.is_operation:
            return None
        given = [self.aligned.compare(mine, its) for mine, its in zip(one.args, other.args, strict=True)]
        return None if any(each.level == "parted" for each in given) else given

    def _output(self, one: Node, other: Node, nr: int, given: list[Compared] | None) -> Compared:
        aligned, mine, its = self.aligned, Edge(one.id, nr), Edge(other.id, nr)
        numbers, eps = (aligned.number(self.old, mine), aligned.number(self.new, its)), aligned.eps(mine, its)
        if given is None:
            return aligned.judged(*numbers, eps, aligned.loose)
        if not one.is_operation and aligned.carried != {}:
            found = aligned.judged(*numbers, eps, aligned.loose, self._carried(one))
            return aligned.steadied(next(iter(one.outputs[0].names), ""), *numbers, found)
        sharp = aligned.same_engine and one.op == other.op and all(each.level == "same" for each in given)
        terms = [aligned.number(self.old, edge) for edge in one.args]
        noise = 0.0 if sharp else noise_of(eps, terms, numbers[0])
        told = max((handed(each, number, numbers[0]) for each, number in zip(given, terms, strict=True)), default=0.0)
        found = aligned.judged(*numbers, eps, SHARP if sharp else USUAL, told, noise)
        if (
            found.level == "rounding"
            and sharp
            and not aligned.rtol
            and _plain(one) != _plain(other)
            and found.apart.ulps(eps) > 1
        ):
            return Compared("parted", found.apart, eps)
        return aligned.recomputed(one, other, 0, found)

    def _settle(self) -> None:
        """Drop beginnings that lead nowhere. One counts where a result that differs hangs on it, or where it goes
        on; it is else a step of another way to compute the same."""
        ends = [*dict.fromkeys(self._ends())]
        parted = [mine.node for mine, its in ends if self.aligned.compare(mine, its).level == "parted"]
        spoiled = set(walk(self.old, parted, lambda node: node.args))
        begun = {number for number in self.faults if self._goes_on(number, spoiled)}
        faint = set(self.hushed)
        for mine, its in ends:
            if self.aligned.like(mine, its):
                known = self.aligned.results.get((mine.node, mine.nr))
                led = begun if known is not None and known.level == "parted" else faint
                led |= self.causes.get(mine.node, frozenset())
            elif self.aligned.note(self.aligned.compare(mine, its)).level == "parted":
                self.found.append(self._part(mine, its))
        self.found += self._begun(begun)
        self.faint = self._begun(faint - begun)

    def _begun(self, numbers: set[int]) -> list[Parting]:
        """Return the partings that begin at these nodes."""
        found = [self.faults[number] for number in numbers & self.faults.keys()]
        for number in numbers - self.faults.keys():
            mine, its = self.parts.get(number, (Edge(number), Edge(self.aligned.pairs[number])))
            found.append(self._part(mine, its, number))
        return found

    def _goes_on(self, number: int, spoiled: Collection[int]) -> bool:
        """Return whether a difference comes to a result that is another one, by operations that both graphs have, or as
        far as one that is the same in both and makes nothing of it. What others make up for, or has no like on its way,
        is a step of another way to compute the same."""
        met, waiting = {number}, [number]
        while waiting:
            one = waiting.pop()
            uses, its = (found.get(at, []) for found, at in zip(self.uses, (one, self.aligned.pairs[one]), strict=True))
            users = [(self.aligned.pairs.get(user, -1), place) for user, place in uses]
            if sorted(users) != sorted(its):
                continue
            for user, like in {user: like for (user, _), (like, _) in zip(uses, users, strict=True)}.items():
                alike = self.old[user].op == self.new[like].op
                if alike and not self.aligned.equal(user, like):
                    if user in spoiled:
                        return True
                    waiting += {user} - met
                    met.add(user)
                elif alike and _plain(self.old[user]) == _plain(self.new[like]):
                    return True
        return False

    def _ends(self) -> Iterator[tuple[Edge, Edge]]:
        """The results: what backward calls began with, and what nothing was computed from."""
        for mine, its in zip(self.old.passes, self.new.passes, strict=False):
            yield from zip(mine.roots, its.roots, strict=False)
        for one, other in self.aligned.pairs.items():
            if one not in self.uses[0] and other not in self.uses[1]:
                for nr in range(min(len(self.old[one].outputs), len(self.new[other].outputs))):
                    yield Edge(one, nr), Edge(other, nr)

    def _part(self, mine: Edge, its: Edge, user: int | None = None) -> Parting:
        """Return the operations without a like behind two results that differ."""
        aligned = self.aligned
        equal = {one: other for one, other in aligned.pairs.items() if aligned.equal(one, other)}
        olds = _operations_behind(self.old, mine, equal.keys())
        news = _operations_behind(self.new, its, equal.values())
        tracked = _tracked(self.old, olds), _tracked(self.new, news)
        if any(tracked):  # the data that these are given is prepared before them
            olds, news = tracked[0] or olds, tracked[1] or news
        ends = (mine, its)
        if user is not None and user in aligned.pairs:
            ends = Edge(user), Edge(aligned.pairs[user])
        user = mine.node if user is None else user
        time = olds[0] if olds else user - 0.5
        before = max((aligned.likes[number] for number in equal.values() if news and number < news[0]), default=-1)
        compared = aligned.compare(*ends)
        sides = (self.old, olds, ends[0]), (self.new, news, ends[1])
        on_line = [bool(made) and graph[made[-1]].source == graph[end.node].source for graph, made, end in sides]
        return Parting(
            "part",
            time,
            olds[0] if olds else mine.node if news and not on_line[1] else user,
            news[0] if news else its.node if olds and not on_line[0] else aligned.pairs.get(user, its.node),
            compared.apart,
            compared.eps,
            olds=tuple(olds),
            news=tuple(news),
            later=bool(news) and (not olds or before + 0.5 < time),
        )


def _operations_behind(graph: Graph, edge: Edge, stops: Collection[int]) -> list[int]:
    """The operations that an output hangs on, up to these nodes."""
    stopped = set(stops)
    met = walk(graph, [edge.node], lambda node: () if node.id in stopped else node.args)
    return [number for number in met if number not in stopped and graph[number].is_operation]


def _tracked(graph: Graph, numbers: list[int]) -> list[int]:
    """Return those of these nodes that a gradient goes through."""
    return [number for number in numbers if graph[number].kind == "operation"]


def _plain(node: Node) -> tuple[object, ...]:
    return node.constants, constants(node)


def _uses(graph: Graph) -> dict[int, list[tuple[int, int]]]:
    """The users of each node, and the place among their arguments."""
    found: dict[int, list[tuple[int, int]]] = {}
    for node in graph:
        for place, edge in enumerate(node.args):
            found.setdefault(edge.node, []).append((node.id, place))
    return found
