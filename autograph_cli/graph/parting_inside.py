"""Finds the operation inside of what `torch.compile` compiled at which a compiled run parts from one without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from autograph_cli.graph.aligned import COARSE, LOOSE, SHARP, USUAL, at, flow_in, noise_of
from autograph_cli.graph.numbers import apart, epsilon, largest
from autograph_cli.graph.opened import inside_of
from autograph_cli.graph.parting_backward import senders_in
from autograph_cli.graph.records import Exact, Graph, Node, Pass, Source
from autograph_cli.graph.views import walk


class Inside(Struct, frozen=True):
    """The first operation that parts inside of a compiled part."""

    op: str
    source: Source | None
    backward: bool
    off: float = 0.0
    """The error of the backend's result against the operation alone, in float64 on the same numbers; 0 where all are
    right, and AOTAutograd's graph computes another thing than the script."""
    ops: tuple[str, ...] = ()
    """The operations that AOTAutograd's graph has for the line."""


def is_compiled(node: Node) -> bool:
    """Return whether `torch.compile` made a node of many operations."""
    return node.name.startswith("CompiledFunction")


def first_inside(graph: Graph, plain: Graph) -> Inside | None:
    """Return the first operation inside of the compiled parts of a graph that parts from the same without a compiler;
    None where all that is known is right."""
    compiled = [node for node in graph if is_compiled(node)]
    opened = [inside_of(graph, node) for node in compiled if node.measured and node.measured.inside]
    runs = [(inside, 0) for inside in opened] + [(inside, 1) for inside in reversed(opened)]
    for inside, order in runs:
        for node in inside:
            if node.order == order and (off := _off(inside, node)):
                return Inside(node.op, node.source, bool(order), off)
    if len(opened) < len(compiled) or not all(map(_is_known, opened)):
        return None
    ways: tuple[Callable[[Graph], Sequence[Node]], ...] = (_handed, lambda graph: graph.nodes)
    strayed = next(
        (each for way in ways for each in _strayed(plain, way(plain), _Known(graph, map(way, opened)))), None
    )
    if strayed is None:
        return None
    node, backward = strayed
    at_line = [one for inside in opened for one in inside if one.order == backward and _line(one) == _line(node)]
    return Inside(node.op, node.source, backward, ops=tuple(dict.fromkeys(one.op for one in at_line)))


def _is_known(inside: Graph) -> bool:
    """Return whether there are numbers of both graphs of a compiled part."""
    return {0, 1} <= {node.order for node in inside if node.is_operation and _exact(node)}


def _handed(graph: Graph) -> list[Node]:
    """The nodes whose results are handed on to another line, and those of no line: others are steps of one."""
    ends = {root.node for root in graph.roots}
    ends |= {edge.node for node in graph for edge in node.args if _line(node) != _line(graph[edge.node])}
    return [node for node in graph if node.id in ends or node.source is None]


def _line(node: Node) -> tuple[str, int] | None:
    return None if node.source is None else (node.source.file, node.source.line)


def _off(graph: Graph, node: Node) -> float:
    """Return by how much a result is off, if that is more than rounding."""
    measured = node.measured
    off = next(iter(measured.deviation), None) if measured is not None else None
    if measured is None or not off:
        return 0.0
    eps = epsilon(*(output.type.dtype for output in node.outputs))
    made = at(measured.exact, 0)
    size = 0.0 if made is None else largest(made)
    given = [exact for edge in node.args for exact in _exact(graph[edge.node])]
    noise = noise_of(eps, given, made) / size if size else 0.0
    return float(off) if off > (SHARP if eps > COARSE else USUAL) * eps + noise else 0.0


def _exact(node: Node) -> tuple[Exact | None, ...]:
    return node.measured.exact if node.measured else ()


class _Known:
    """The numbers that some graphs have, and those that nearly are: compilers put operations in another order."""

    def __init__(self, graph: Graph, inside: Iterable[Sequence[Node]]) -> None:
        nodes = [*graph, *(node for each in inside for node in each)]
        self.eps = epsilon(*{output.type.dtype for node in nodes for output in node.outputs})
        self.by_count: defaultdict[int, list[Exact]] = defaultdict(list)
        for node in nodes:
            flows = node.measured.flows if node.measured else ()
            for exact in (*_exact(node), *(x for flow in flows for x in (*flow.given, *flow.sent))):
                if exact is not None:
                    self.by_count[exact.count].append(exact)

    def lacks(self, *numbers: Exact | None) -> bool:
        """Return whether some of these are none of the numbers."""
        floating = [one for one in numbers if one is not None and one.kind[0] in "fc"]
        return any(not any(self._near(one, each) for each in self.by_count[one.count]) for one in floating)

    def _near(self, one: Exact, other: Exact) -> bool:
        found = apart(one, other)
        units = SHARP if self.eps > COARSE else LOOSE
        return found is not None and (found.same or found.difference <= units * self.eps * found.scale)


def _strayed(graph: Graph, looked: Sequence[Node], known: _Known) -> Iterator[tuple[Node, bool]]:
    """Yield those of the operations looked at that make results, or send on gradients, that are lacking though all that
    they are given is known, in the order in which they ran."""
    lacking = {node.id for node in looked if node.computes and known.lacks(*_exact(node))}
    met = {node.id for node in looked}
    given = {one: _behind(graph, one, met) & lacking for one in lacking}
    used = {edge.node for entry in graph.passes for edge in entry.roots}.union(*given.values())
    # What no other lacks for is but a step on the way that a compiler leaves out.
    yield from ((graph[one], False) for one in sorted(lacking & used) if not given[one])
    for entry in graph.passes:
        found = _sending(graph, entry, known)
        yield from ((graph[one], True) for one in entry.ran if one in found)


def _behind(graph: Graph, number: int, met: Collection[int]) -> set[int]:
    """The first of the nodes that are met behind one."""
    start = [edge.node for edge in graph[number].args]
    return {*walk(graph, start, lambda node: () if node.id in met else node.args)} & {*met}


def _sending(graph: Graph, entry: Pass, known: _Known) -> list[int]:
    """The nodes that send on such gradients, from which those of leaves come."""
    flows = {number: flow for number in entry.ran if (flow := flow_in(graph[number], entry.id))}
    senders = senders_in(graph, entry.ran)
    todo = [number for number, flow in flows.items() if graph[number].kind == "leaf" and known.lacks(*flow.given)]
    found: list[int] = []
    met = set(todo)
    while todo:
        number = todo.pop()
        sent_by = [one for nr in range(len(graph[number].outputs)) for one in senders.get((number, nr), ())]
        for sender, place in sent_by:
            if sender in flows and sender not in met and known.lacks(at(flows[sender].sent, place)):
                met.add(sender)
                (todo if known.lacks(*flows[sender].given) else found).append(sender)
    return found
