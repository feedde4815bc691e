"""The cost of a step: its operations and the runs of its backward nodes, and sums by name, line, module and order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.facts import stored
from autograph_cli.graph.records import Graph, Node
from autograph_cli.graph.trace import Allocation, Step


class Cost(Struct, frozen=True):
    """One operation, or one run of the backward of a node, without what ran within it."""

    node: Node
    name: str
    """The operation's (`mul`), or the node's (`MulBackward0`)."""
    backward: bool
    order: int
    """0 for what the script computed; of a run, the order of its pass."""
    began: int
    time: int
    """Nanoseconds from its beginning to its end."""
    within: int = 0
    """Nanoseconds of these that operations took that are counted by themselves."""
    flops: int = 0
    made: int = 0
    """Bytes of the memory that it took, for results, or for gradients."""
    kept: int = 0
    """Bytes that its node keeps for backward."""
    parent: Cost | None = None
    """The run that it was computed in."""

    @property
    def own(self) -> int:
        """Its nanoseconds without what is counted by itself."""
        return max(self.time - self.within, 0)


def costs(step: Step) -> list[Cost]:
    """All that was measured of a step, in the order in which it began; raises `GraphError` if nothing was."""
    if step.profile is None:
        raise GraphError(
            "The trace holds no profile, for times and memory are recorded on request only: "
            "autograph run --record time,flops,memory FILE.py, or autograph profile FILE.py"
        )
    made: dict[tuple[int, bool], int] = {}
    for each in step.profile.allocations:
        if each.node is not None and each.what != "given":
            key = each.node, each.what == "gradient"
            made[key] = made.get(key, 0) + each.bytes
    return _nested(sorted(_alone(step.graph, made), key=lambda cost: (cost.began, -cost.time)))


def _alone(graph: Graph, made: dict[tuple[int, bool], int]) -> Iterator[Cost]:
    """Each operation, and each run of the backward of a node, with what ran within it."""
    passes: dict[int, list[int]] = {}
    for entry in graph.passes:
        for number in entry.ran:
            passes.setdefault(number, []).append(entry.order)
    for node in graph:
        measured = node.measured
        if measured is None:
            continue
        if measured.began is not None:
            kept, size = sum(stored(node.saved).values()), made.get((node.id, False), 0)
            taken = measured.time or 0, 0, measured.flops or 0
            yield Cost(node, node.op, False, node.order, measured.began, *taken, size, kept)
        orders = passes.get(node.id, [])
        for position, run in enumerate(measured.runs):
            order = orders[position] if position < len(orders) else node.order + 1
            size = 0 if position else made.get((node.id, True), 0)
            yield Cost(node, node.name, True, order, run.began, run.time, 0, run.flops, size)


def _nested(found: list[Cost]) -> list[Cost]:
    """The same, in the order in which they began, each without what is counted by itself: by their times, for what runs
    within a run is over before it."""
    outer: list[int | None] = []
    within, flops = [0] * len(found), [0] * len(found)
    running: list[int] = []
    for number, cost in enumerate(found):
        while running and found[running[-1]].began + found[running[-1]].time <= cost.began:
            running.pop()
        outer.append(running[-1] if running else None)
        if running:
            within[running[-1]] += cost.time
            flops[running[-1]] += 0 if cost.backward else cost.flops  # those of a run count there alone
        if cost.backward:
            running.append(number)
    nested: list[Cost] = []
    for number, (cost, parent) in enumerate(zip(found, outer, strict=True)):
        above = None if parent is None else nested[parent]
        own = max(cost.flops - flops[number], 0)
        nested.append(replace(cost, within=within[number], flops=own, parent=above))
    return nested


# Sums


class Sum(Struct, frozen=True):
    """A sum over a group: how often, nanoseconds forward and backward, floating-point operations, bytes."""

    name: str
    count: int = 0
    forward: int = 0
    backward: int = 0
    flops: int = 0
    made: int = 0
    kept: int = 0

    @property
    def time(self) -> int:
        """All its nanoseconds."""
        return self.forward + self.backward


Key = Callable[[Graph, Cost], Collection[str]]
NOWHERE = "(no module)"


def _line(graph: Graph, cost: Cost) -> Collection[str]:
    source = cost.node.source
    return ("(no line)",) if source is None else (f"{source.file}:{source.line}  {source.text.strip()}".rstrip(),)


def module_paths(graph: Graph, node: Node) -> list[str]:
    """The modules that a node ran in, the outermost first; of a leaf, the one that it belongs to."""
    if node.call is None:
        return [node.module] if node.module else []
    paths, call = [], graph.calls[node.call]
    while True:
        paths.append(call.path)
        if call.parent is None:
            return paths[::-1]
        call = graph.calls[call.parent]


GROUPS: dict[str, Key] = {
    "operation": lambda graph, cost: (cost.name,),
    "node": lambda graph, cost: (f"{cost.name} %{cost.node.id}",),
    "line": _line,
    "module": lambda graph, cost: dict.fromkeys(module_paths(graph, cost.node) or (NOWHERE,)),
    "order": lambda graph, cost: (f"order {cost.order}",),
}
"""The groups by which costs are summed up; a module includes the costs of the modules in it."""
SORTS = ("time", "flops", "made", "kept")


def sums(graph: Graph, found: Iterable[Cost], by: str, sort: str = "time") -> list[Sum]:
    """The costs by this word of `GROUPS`, the largest first; memory that several nodes keep counts once."""
    rows: dict[str, Sum] = {}
    kept: dict[str, dict[object, int]] = {}
    for cost in found:
        for name in GROUPS[by](graph, cost):
            row = rows.get(name, Sum(name))
            rows[name] = replace(
                row,
                count=row.count + 1,
                forward=row.forward + (0 if cost.backward else cost.own),
                backward=row.backward + (cost.own if cost.backward else 0),
                flops=row.flops + cost.flops,
                made=row.made + cost.made,
            )
            if not cost.backward:
                sizes = kept.setdefault(name, {})
                for (storage, _), size in stored(cost.node.saved).items():
                    key = (cost.node.id, storage) if isinstance(storage, str) else storage
                    sizes[key] = max(size, sizes.get(key, 0))
    every = [replace(row, kept=sum(kept.get(name, {}).values())) for name, row in rows.items()]
    return sorted(every, key=lambda row: getattr(row, sort), reverse=True)


def whole(graph: Graph, found: Iterable[Cost]) -> Sum:
    """All costs as one."""
    found = list(found)
    parts = sums(graph, [replace(cost, name="") for cost in found], "operation")
    return parts[0] if parts else Sum("")


# Memory


def timeline(allocations: Iterable[Allocation]) -> list[tuple[int, int]]:
    """The bytes that are there from each moment on at which they change, in order."""
    changes: dict[int, int] = {}
    for each in allocations:
        changes[each.began] = changes.get(each.began, 0) + each.bytes
        if each.ended is not None:
            changes[each.ended] = changes.get(each.ended, 0) - each.bytes
    found, now = [], 0
    for moment in sorted(changes):
        now += changes[moment]
        found.append((moment, now))
    return found


class Peak(Struct, frozen=True):
    """The most memory that there was at once: when, how much, and what it was."""

    moment: int = 0
    bytes: int = 0
    alive: tuple[Allocation, ...] = ()


def peak(allocations: Collection[Allocation]) -> Peak:
    """The first moment at which there was most."""
    points = timeline(allocations)
    if not points:
        return Peak()
    moment, most = max(points, key=lambda point: (point[1], -point[0]))
    alive = [each for each in allocations if each.began <= moment and (each.ended is None or each.ended > moment)]
    return Peak(moment, most, tuple(sorted(alive, key=lambda each: -each.bytes)))


def alive_by(graph: Graph, alive: Iterable[Allocation], by: str) -> list[tuple[str, int]]:
    """The bytes of what is alive by `line`, `module` or `kind`, the most first."""
    sizes: dict[str, int] = {}
    for each in alive:
        name = _place(graph, each, by)
        sizes[name] = sizes.get(name, 0) + each.bytes
    return sorted(sizes.items(), key=lambda pair: -pair[1])


_KINDS = {"result": "results", "gradient": "gradients", "leaf": "leaves", "input": "inputs"}


def _place(graph: Graph, each: Allocation, by: str) -> str:
    node = None if each.node is None else graph.nodes[each.node]
    if by == "kind":
        return _KINDS.get(each.what if node is None or each.what != "given" else node.kind, "from before the step")
    if node is None:
        return "(outside of the graph)"
    if by == "module":
        return (module_paths(graph, node) or [NOWHERE])[-1]
    if node.source is None:
        names = [name for output in node.outputs for name in output.names]
        return " ".join([node.kind, *names[:1]])
    return f"{node.source.file}:{node.source.line}  {node.source.text.strip()}".rstrip()
