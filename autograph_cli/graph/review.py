"""A diff in the sentences of a reviewer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from autograph_cli.graph.compared import constants
from autograph_cli.graph.diff import Aspect, Change, GraphDiff, PassChange, reached, shown_type
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import UNGRADED, Edge, Graph, Node, Source
from autograph_cli.graph.review_cuts import Cuts
from autograph_cli.graph.review_folding import folded
from autograph_cli.graph.review_modules import Modules
from autograph_cli.graph.review_naming import Naming, having, within
from autograph_cli.graph.review_words import (
    FEW,
    article,
    called_with,
    counted,
    data,
    each,
    few,
    in_order,
    joined,
    ordinal as ordinal,
)
from autograph_cli.graph.views import argument_edges, reachable, users_of

_BEFORE = " before "
_Group = tuple[int, int, str, str]
"""The order, what operations are derivatives of, their line, and whether autograd recorded them."""


def sentences(diff: GraphDiff) -> list[str]:
    """Return what differs, the most telling first; what only follows from something else is counted, not listed.

    >>> from autograph_cli.graph.diff import diff
    >>> sentences(diff(Graph(), Graph()))
    []
    """
    review = _Review(diff)
    return list(folded(dict.fromkeys(review.sentences()))) or list(review.roots())


class _Review(Naming):
    def __init__(self, diff: GraphDiff) -> None:
        super().__init__(diff)
        self.told: set[int] = set()
        """Old leaves that a sentence was said about."""
        self.met: set[int] = set()
        """New leaves that a sentence was said about."""
        self.crossed: set[int] = set()
        """New nodes with an argument that a sentence was said about."""
        self.ended: set[int] = set()
        """Old nodes that a sentence was said about, as no gradient comes to them any more."""
        self.cuts = Cuts(self.old, self.new, self.origin, diff.switches)
        self.joined = Cuts(self.new, self.old, self.image)
        """The ends of gradients that are gone."""
        kept = [each for each in diff.passes if "create_graph" in each.aspects]
        self.graphs = {each.old for each in kept}, {each.new for each in kept}
        """The backward calls that keep a graph of their own on one side only, which then has what hangs on it."""
        self.became = self._became()
        self.gone = Modules(self.old, diff.removed, self.new, self.image)
        self.came = Modules(self.new, diff.added, self.old, self.origin)

    def sentences(self) -> Iterator[str]:
        yield from self._ends()
        yield from self._gradients()
        for entry in self.diff.passes:
            yield from self._pass(entry)
        yield from self._recording()
        for change in self.diff.changed:
            if not change.follows:
                yield from self._change(change)
        follow = sum(change.follows for change in self.diff.changed)
        if follow:
            yield f"{follow} more output{'s' * (follow > 1)} change{'s' * (follow == 1)} type with that"
        for graph, numbers, known, verb in (
            (self.old, self.diff.removed, self.image, "lost"),
            (self.new, self.diff.added, self.origin, "gained"),
        ):
            modules = self.gone if graph is self.old else self.came
            yield from modules.sentences(verb)
            yield from self._listed(graph, [n for n in numbers if n not in modules.covered], known, verb)

    def roots(self) -> Iterator[str]:
        """Yield what is asked for differs; worth a sentence where nothing else does."""
        for edge in self.diff.lost_roots:
            yield f"{self.what(self.old, edge)} is no longer a result"
        for edge in self.diff.new_roots:
            yield f"{self.what(self.new, edge)} is a result now"

    # -- gradients

    def _ends(self) -> Iterator[str]:
        """Gradients that end where they went on before, each with the reason; and those that go on now."""
        lost = _with_gradient(self.old) - {self.origin.get(leaf) for leaf in _with_gradient(self.new)}
        for reason, nodes in self.cuts.groups():
            edges = self.cuts.subjects(nodes)
            self.ended |= {self.origin.get(edge.node, -1) for edge in edges}
            gone = [leaf for leaf in sorted(self.cuts.leaves(nodes)) if self.origin.get(leaf) in lost - self.told]
            self.told |= {self.origin[leaf] for leaf in gone}
            names = list(dict.fromkeys(self.subject(self.new, edge) for edge in edges))
            names += [self._leaf(self.new, leaf) for leaf in gone if self._leaf(self.new, leaf) not in names]
            still = "" if gone or not all(map(self.cuts.still, edges)) else " this way"
            yield f"{few(names)} no longer get{'s' * (len(names) == 1)} a gradient{still}: {reason}"
        for one, other in self.image.items():
            yield from self._replaced(self.old[one], self.new[other])
        for reason, nodes in self.joined.groups():
            edges = self.joined.subjects(nodes)
            names = list(dict.fromkeys(self.subject(self.old, edge) for edge in edges))
            way = "this way too" if all(map(self.joined.still, edges)) else "now"
            over = f"no {reason.partition(' ')[0]} any more{self._resumed(nodes)}"
            yield f"{few(names)} get{'s' * (len(names) == 1)} a gradient {way}: {over}"

    def _resumed(self, nodes: list[Node]) -> str:
        """Return the place in the new graph of the first of these old nodes, or of those that took their results."""
        ended = {node.id for node in nodes}
        there = (node for node in self.old if node.id in ended or any(edge.node in ended for edge in node.args))
        return next((self.where(self.new[self.image[node.id]]) for node in there if node.id in self.image), "")

    def _replaced(self, old: Node, new: Node) -> Iterator[str]:
        """Arguments with a gradient in whose place there is an input now, as after `.data`."""
        if len(old.args) != len(new.args):
            return
        for one, other in zip(old.args, new.args, strict=True):
            graded = self.old[one.node].kind == "operation" and one.node not in self.image
            if graded and self.new[other.node].kind == "input" and other.node not in self.origin:
                yield (
                    f"{self.subject(self.old, one)} no longer gets a gradient: "
                    f"{self.operation(new)} takes an input in its place"
                )

    def _gradients(self) -> Iterator[str]:
        old, new = _with_gradient(self.old), _with_gradient(self.new)
        gone = [leaf for leaf in sorted(old - self.told) if self.image.get(leaf) not in new]
        self.told |= set(gone)
        gone = [leaf for leaf in gone if leaf not in self.gone.covered]
        came = [leaf for leaf in sorted(new - self.came.covered) if self.origin.get(leaf) not in old]
        self.met |= set(came)
        yield from each([self._leaf(self.old, leaf) for leaf in gone], "no longer get{} a gradient")
        yield from each([self._leaf(self.new, leaf) for leaf in came], "now get{} a gradient")

    def _leaf(self, graph: Graph, number: int) -> str:
        return self.name(graph, Edge(number))

    # -- changes

    def _change(self, change: Change) -> Iterator[str]:
        old, new = self.old[change.old], self.new[change.new]
        told = [aspect for aspect in change.aspects if aspect != "constants" or new.is_operation or _is_alike(old, new)]
        if "constants" in told and new.is_operation and (said := [*self._constants(old, new)]):
            yield from said  # its outputs change type with that
            told = [aspect for aspect in told if aspect not in ("constants", "type")]
        for aspect in told:
            yield from _TELL[aspect](self, old, new)

    def _types(self, node: Node) -> str:
        return ", ".join(shown_type(output.type, self.diff.parts) for output in node.outputs)

    def _recording(self) -> Iterator[str]:
        """Operations that autograd records no longer, and those that it records now."""
        if self.graphs[0]:
            return
        kinds = [(self.old[one], self.new[other]) for one, other in self.image.items()]
        for kind, how in (("untracked", "no longer recorded by autograd"), ("operation", "recorded by autograd now")):
            found = [new for old, new in kinds if old.is_operation and new.kind == kind != old.kind]
            hidden = self.cuts.hidden if kind == "untracked" else {self.image.get(n) for n in self.joined.hidden}
            found = [node for node in found if node.id not in hidden]
            lines = list(dict.fromkeys(self.where(node).strip(" ()") for node in found))
            if found:
                where = f" ({', '.join(lines)})" if all(lines) and len(lines) < FEW else ""
                yield f"{counted(found)}{where} {'is' if len(found) == 1 else 'are'} {how}"

    def _kind(self, old: Node, new: Node) -> Iterator[str]:
        if old.is_operation and new.is_operation:
            return
        if old.id not in self.told and new.id not in _with_gradient(self.new):
            yield f"{self._leaf(self.new, new.id)} was {article(old.kind)} and is {article(new.kind)}"

    def _operation(self, old: Node, new: Node) -> Iterator[str]:
        pairs = self.became.pop((new.order, self.where(new) or new.id), {})
        if pairs:
            before, after = (joined(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
            yield f"{in_order(new.order)}{before} became {after}{self.where(new)}"

    def _became(self) -> dict[tuple[int, str | int], dict[tuple[str, str], None]]:
        """The operations that others took the place of, with these, by their line."""
        found: dict[tuple[int, str | int], dict[tuple[str, str], None]] = defaultdict(dict)
        for change in self.diff.changed:
            if "operation" in change.aspects:
                old, new = self.old[change.old], self.new[change.new]
                was, now = (old.op or old.name, new.op or new.name)
                was, now = (old.name, new.name) if was == now else (was, now)
                given = called_with(new) if constants(old) != constants(new) else ""
                found[new.order, self.where(new) or new.id][f"`{visible(was)}`", f"`{visible(now)}`{given}"] = None
        return found

    def _type(self, old: Node, new: Node) -> Iterator[str]:
        if not new.is_operation:
            what = f"{new.kind} {self._leaf(self.new, new.id)}" if new.outputs[0].names else article(new.kind)
        elif module := self.module(self.new, new):
            what = f"`{visible(module)}`{self.where(new)} output"
        else:
            named = any(output.names for output in new.outputs)
            word = f" (`{self.word(new)}`)" if named else ""
            what = f"{in_order(new.order)}{self.name(self.new, Edge(new.id))}{word}{self.where(new)} output"
        yield f"{what} {self._types(old)} -> {self._types(new)}"

    def _constants(self, old: Node, new: Node) -> Iterator[str]:
        if not new.is_operation:
            yield f"{self._given(new)} {data(old, before=True)} and {data(new)}"
            return
        if (old.op or old.name) != (new.op or new.name):
            return
        was, now = [[f"{name}={value}" for name, value in constants(node).items()] for node in (old, new)]
        gone, came = [c for c in was if c not in now], [c for c in now if c not in was]
        called = f"{in_order(new.order)}{self.operation(new, within(new))}"
        if gone and came:
            yield f"{called} is called with {joined(came)}, not {joined(gone)}{having(new)}"
        elif gone or came:
            how = f"is called with {joined(came)}" if came else f"is no longer called with {joined(gone)}"
            yield f"{called} {how}{having(new)}"

    def _given(self, new: Node) -> str:
        """A leaf or an input, by its name, else by the module that drew it, or by what takes it."""
        users = [node for node in self.new if any(edge.node == new.id for edge in node.args)]
        where = self.where(new) or "".join(map(self.where, users[:1]))
        if new.outputs[0].names:
            return f"{new.kind} {self._leaf(self.new, new.id)}{where * (new.kind == 'input')}"
        if new.module:
            return f"{article(new.kind)} of `{visible(new.module)}`{where}"
        return f"{article(new.kind)} of {self.operation(users[0])}" if users else f"{article(new.kind)}{where}"

    def _arguments(self, old: Node, new: Node) -> Iterator[str]:
        told = self.operation(new)
        mine = [self.image.get(edge.node, -1) for edge in old.args]
        theirs = [edge.node for edge in new.args]
        before = ", ".join(self.name(self.old, edge) for edge in old.args)
        after = ", ".join(self.name(self.new, edge) for edge in new.args)
        if sorted(mine) == sorted(theirs) and mine != theirs:
            yield f"{in_order(new.order)}{told} takes its arguments in another order: ({before}) -> ({after})"
            return
        if len(mine) != len(theirs):
            if not self._went_with(old, new):
                count = f"{len(theirs)} argument{'s' * (len(theirs) != 1)}"
                yield f"{in_order(new.order)}{told} takes {count}, not {len(mine)}: ({before}) -> ({after})"
            return
        for position, (one, other) in enumerate(zip(old.args, new.args, strict=True)):
            if not self._same(one, other):
                self.crossed.add(new.id)
                yield self._argument(told, position, one, other, new)

    def _went_with(self, old: Node, new: Node) -> bool:
        """Return whether an operation has more or fewer arguments only as leaves came or went, of which it is told."""
        left = [edge for edge in old.args if edge.node in self.image or edge.node not in self.told | self.gone.covered]
        right = [edge for edge in new.args if edge.node in self.origin or edge.node not in self.met | self.came.covered]
        return len(left) == len(right) and all(map(self._same, left, right))

    def _argument(self, told: str, position: int, one: Edge, other: Edge, new: Node) -> str:
        told = f"{in_order(new.order)}{told}"
        was, now = self.old[one.node], self.new[other.node]
        if was.kind in UNGRADED and now.kind not in UNGRADED:
            return f"{told} now sends a gradient on to {self.what(self.new, other)}, which was cut off"
        if now.kind in UNGRADED and was.kind not in UNGRADED:
            return f"{told} no longer sends a gradient on to {self.what(self.old, one)}: it is cut off"
        if now.kind == "leaf" and was.kind == "operation":
            return (
                f"{told} no longer sends a gradient on to {self.what(self.old, one)}: "
                f"{self.name(self.new, other)} is a leaf now"
            )
        return f"{told} takes {self._instead(one, other)} as argument {position + 1}"

    def _instead(self, one: Edge, other: Edge) -> str:
        """`b`, not `a`,: what takes the place of what; nothing is told beside itself."""
        now, was = self.name(self.new, other), self.name(self.old, one)
        return f"{now}, not {was}," if now != was else f"another {self.what(self.new, other)}"

    def _same(self, one: Edge, other: Edge) -> bool:
        image, origin = self.image.get(one.node), self.origin.get(other.node)
        return (image == other.node and one.nr == other.nr) or (image is None and origin is None)

    def _sends(self, old: Node, new: Node) -> Iterator[str]:
        if new.id in self.crossed:
            return
        told = f"{in_order(new.order)}{self.operation(new)}"
        if len(old.next) != len(new.next):
            yield f"{told} has {len(new.next)} inputs with gradients, not {len(old.next)}"
            return
        for one, other in zip(old.next, self._in_order_of(old, new), strict=True):
            if one is not None and other is None and self._still_there(one):
                yield f"{told} no longer sends a gradient to {self.what(self.old, one)}"
            elif one is None and other is not None:
                yield f"{told} now sends a gradient to {self.what(self.new, other)}"
            elif one is not None and other is not None and not self._same(one, other):
                yield f"{told} sends its gradient to {self._instead(one, other).removesuffix(',')}"

    def _in_order_of(self, old: Node, new: Node) -> Sequence[Edge | None]:
        """Return the edges of a node in the order in which the old one was given the same arguments."""
        mine = [self.image.get(edge.node, -1) for edge in old.args]
        theirs = [edge.node for edge in new.args]
        if mine == theirs or sorted(mine) != sorted(theirs) or len(theirs) != len(new.next):
            return new.next
        left = list(zip(theirs, new.next, strict=True))
        return [left.pop([number for number, _ in left].index(wanted))[1] for wanted in mine]

    def _still_there(self, edge: Edge) -> bool:
        return edge.node not in self.told | self.ended

    def _origin(self, old: Node, new: Node) -> Iterator[str]:
        before = "the script" if old.parent is None else f"the backward of {self.operation(self.old[old.parent])}"
        after = "the script" if new.parent is None else f"the backward of {self.operation(self.new[new.parent])}"
        yield f"{self.operation(new)} comes from {after}, not from {before}"

    def _line(self, old: Node, new: Node) -> Iterator[str]:
        before, after = (self.where(node).strip(" ()") or "no line" for node in (old, new))
        yield f"`{self.word(new)}` moved from {before} to {after}"

    def _module(self, old: Node, new: Node) -> Iterator[str]:
        yield f"`{self.word(new)}`{self.where(new)} is in module `{visible(new.module)}`, not `{visible(old.module)}`"

    # -- nodes that came or went

    def _listed(self, graph: Graph, numbers: Sequence[int], known: dict[int, int], verb: str) -> Iterator[str]:
        groups: dict[tuple[int, int, str, str], list[Node]] = defaultdict(list)
        derived: Counter[int] = Counter()
        ended = (self.cuts if graph is self.new else self.joined).ends
        ends = {node.id for node in ended}
        lines: set[tuple[str, Source | None]] = {(node.op, node.source) for node in ended if node.source is not None}
        kept = self.graphs[graph is self.new]
        lines |= {(graph.passes[number].call, graph.passes[number].source) for number in kept if number is not None}
        for number in numbers:
            node = graph[number]
            if not node.is_operation or number in ends or node.pass_id in kept or (node.op, node.source) in lines:
                continue
            top = _top(graph, node)
            if node.order and top != number and top not in known:
                derived[top] += 1
                continue
            line = "" if node.order else f"{within(node)}{self.where(node)}"
            if not line and graph is self.old and not node.order and number in self.onward:
                line = f"{_BEFORE}{self.operation(self.new[self.onward[number]])}"
            unrecorded = ", not recorded by autograd" if node.kind == "untracked" else ""
            groups[node.order, top if node.order and top != number else -1, line, unrecorded].append(node)
        for (order, top, line, unrecorded), nodes in self._few_places(groups):
            of = f" of {self.operation(graph[top])}" if top >= 0 else ""
            more = sum(derived[node.id] for node in nodes)
            tail = f", with {more} derivative{'s' * (more > 1)}" if more else ""
            on = "" if line.startswith(_BEFORE) else self._between(graph, nodes)
            drawn = self._drawn(graph, nodes, known)
            yield f"{ordinal(order)}{of} {verb} {counted(nodes)}{drawn}{line}{on}{unrecorded}{tail}"
        yield from self._alone(graph, numbers, known, verb)

    def _few_places(self, groups: Mapping[_Group, list[Node]]) -> list[tuple[_Group, list[Node]]]:
        """The groups in order; those before what is there still are one where they are in many places."""
        onward: dict[tuple[int, int, str], set[str]] = defaultdict(set)
        for order, top, line, unrecorded in groups:
            if line.startswith(_BEFORE):
                onward[order, top, unrecorded].add(line.rpartition("(")[2])
        found: dict[_Group, list[Node]] = defaultdict(list)
        for (order, top, line, unrecorded), nodes in groups.items():
            many = line.startswith(_BEFORE) and len(onward[order, top, unrecorded]) > FEW
            found[order, top, "" if many else line, unrecorded] += nodes
        return sorted(found.items(), key=lambda item: item[1][0].id)

    @cached_property
    def onward(self) -> dict[int, int]:
        """For the old operations that are gone, the first one behind them that is there still, in the new graph."""
        users, found = users_of(self.old, argument_edges), dict[int, int]()
        for number in sorted(self.diff.removed, reverse=True):
            likes = (self.image.get(user, found.get(user)) for user in users.get(number, ()))
            like = next((like for like in likes if like is not None and self.where(self.new[like])), None)
            if like is not None:
                found[number] = like
        return found

    def _drawn(self, graph: Graph, nodes: list[Node], known: dict[int, int]) -> str:
        """` with numbers drawn by bernoulli(p=0.1)`: of a single operation the draw that came or went with it."""
        alone = [graph[edge.node] for edge in (nodes[0].args if len(nodes) == 1 else ()) if edge.node not in known]
        draws = [data(node).removeprefix("is") for node in alone if "drawn" in constants(node)]
        return f" with numbers{draws[0]}" if draws else ""

    def _between(self, graph: Graph, nodes: list[Node]) -> str:
        """`, on `mul``: what a single operation was put behind, or each of several that take one tensor."""
        if nodes[0].order or len({node.op for node in nodes}) > 1:
            return ""
        taken = [[edge for edge in (node.args or node.next) if edge is not None] for node in nodes]
        if len(nodes) == 1:
            names = [self.name(graph, edge) for edge in taken[0]]
        else:
            names = list(dict.fromkeys(self.subject(graph, edge) for edges in taken for edge in edges))
            names = names if {*map(len, taken)} == {1} else []
        return f", on {joined(names)}" if names and len(names) < FEW else ""

    def _alone(self, graph: Graph, numbers: Sequence[int], known: dict[int, int], verb: str) -> Iterator[str]:
        """Leaves and inputs that no sentence accounts for: those that only matched nodes use, or none."""
        missing = {*self.diff.removed} if graph is self.old else {*self.diff.added}
        changed = {change.new if graph is self.new else change.old for change in self.diff.changed}
        used = {
            edge.node
            for node in graph
            for edge in (*node.args, *node.next)
            if edge is not None and (node.id in missing or node.id in changed)
        }
        gradients = _with_gradient(graph)
        for number in numbers:
            node = graph[number]
            if not node.is_operation and number not in used and number not in gradients:
                kind = f"{node.kind} " * bool(node.outputs[0].names)
                yield f"{kind}{self._leaf(graph, number)} {'is new' if verb == 'gained' else 'is gone'}"

    # -- backward calls

    def _pass(self, change: PassChange) -> Iterator[str]:
        if change.new is None and change.old is not None:
            yield f"{self._call(self.old, change.old)} is gone"
        elif change.old is None and change.new is not None:
            yield f"{self._call(self.new, change.new)} is new"
        elif change.old is not None and change.new is not None:
            told = self._call(self.new, change.new)
            old, new = self.old.passes[change.old], self.new.passes[change.new]
            if "roots" in change.aspects:
                roots = ", ".join(self.name(self.old, edge) for edge in old.roots)
                yield f"{told} started from {roots} before"
            if "order" in change.aspects and not self.graphs[0]:
                yield f"{told} is of order {new.order}, not {old.order}"
            if "create_graph" in change.aspects:
                how = "now keeps" if new.create_graph else "no longer keeps"
                yield f"{told} {how} a graph of its own (create_graph)"
            if "gradients" in change.aspects and _with_gradient(self.old) == self._images():
                before, after = set(reached(self.old, old)), set(reached(self.new, new))
                gone = [leaf for leaf in sorted(before) if self.image.get(leaf) not in after]
                came = [leaf for leaf in sorted(after) if self.origin.get(leaf) not in before]
                if gone:
                    yield f"{told} no longer goes to {joined([self._leaf(self.old, leaf) for leaf in gone])}"
                if came:
                    yield f"{told} now goes to {joined([self._leaf(self.new, leaf) for leaf in came])}"

    def _images(self) -> set[int]:
        return {self.origin.get(leaf, -1) for leaf in _with_gradient(self.new)}

    def _call(self, graph: Graph, number: int) -> str:
        entry = graph.passes[number]
        where = f" ({visible(entry.source.file)}:{entry.source.line})" if entry.source else ""
        roots = ", ".join(self.name(graph, edge).strip("`") for edge in entry.roots)
        return f"`{visible(entry.call)}({roots})`{where}"


_TELL: dict[Aspect, Callable[[_Review, Node, Node], Iterator[str]]] = {
    "kind": _Review._kind,
    "operation": _Review._operation,
    "type": _Review._type,
    "constants": _Review._constants,
    "arguments": _Review._arguments,
    "gradients": _Review._sends,
    "origin": _Review._origin,
    "line": _Review._line,
    "module": _Review._module,
}


def _is_alike(old: Node, new: Node) -> bool:
    """Return whether both have outputs of the same shapes."""
    return [output.type.shape for output in old.outputs] == [output.type.shape for output in new.outputs]


def _with_gradient(graph: Graph) -> set[int]:
    """The leaves that a backward call went to; where there was none, those that the results lead to."""
    if graph.passes:
        return {leaf for entry in graph.passes for leaf in reached(graph, entry)}
    return {number for number in reachable(graph) if graph[number].kind == "leaf"}


def _top(graph: Graph, node: Node) -> int:
    """The operation of the script that a node is a derivative of, of whichever order."""
    number = node.id
    while (parent := graph[number].parent) is not None:
        number = parent
    return number
