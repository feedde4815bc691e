"""A graph as the lines of a snapshot, and two graphs as the lines in which they differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.compared import constants, same_facts
from autograph_cli.graph.diff import GraphDiff, reached, shown_type
from autograph_cli.graph.names import quoted, visible
from autograph_cli.graph.records import Edge, Graph, Node, Pass
from autograph_cli.graph.snapshot_folding import first_turn, folds_of

Labels = Sequence[tuple[str, ...]]
Rows = Labels | Mapping[int, tuple[str, ...]]


class Line(Struct, frozen=True):
    """One line under a heading (`order 0`, `results`, `passes`); `key` is the node, root or pass that it tells of."""

    heading: str
    key: int
    text: str


def graph_lines(
    graph: Graph,
    parts: Collection[str],
    labels: Labels | None = None,
    calls: Sequence[str] | None = None,
    several: Collection[int] = (),
) -> list[Line]:
    """The lines of one graph: its nodes by order, its results and its backward calls (which `calls` numbers).

    A node of an order of which there were `several` calls tells which one made it.
    """
    names = labels_of(graph, parts) if labels is None else labels
    numbers = [str(entry.id) for entry in graph.passes] if calls is None else calls
    several = {*several, *ambiguous(graph)}
    lines = [
        Line(f"order {node.order}", node.id, _node(node, names, parts, numbers if node.order in several else ()))
        for node in sorted(graph, key=lambda node: node.order)
    ]
    return lines + _ends(graph, names, numbers)


def _ends(graph: Graph, labels: Labels, numbers: Sequence[str]) -> list[Line]:
    """The lines of the results and of the backward calls."""
    roots = [_ref(Edge(root.node, root.nr), labels) for root in graph.roots]
    calls = [f"{number}: {_pass(entry, graph, labels)}" for number, entry in zip(numbers, graph.passes, strict=True)]
    return [
        Line(heading, position, text)
        for heading, texts in (("results", roots), ("passes", calls))
        for position, text in enumerate(texts)
    ]


def folded_lines(graph: Graph, parts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a graph as a snapshot has them, each with its heading: what comes again and again is written
    once."""
    labels = labels_of(graph, parts)
    several = ambiguous(graph)
    numbers = [str(entry.id) for entry in graph.passes]

    def write(node: Node, rows: Rows) -> str:
        return _node(node, rows, parts, numbers if node.order in several else ())

    orders: dict[int, list[Node]] = defaultdict(list)
    for node in graph:
        orders[node.order].append(node)
    folds = {order: folds_of(orders[order], labels, write) for order in sorted(orders)}
    for order, found in folds.items():
        nodes, at = orders[order], 0
        while at < len(nodes):
            fold = found.get(at)
            if fold is None:
                yield f"order {order}", write(nodes[at], labels)
                at += 1
                continue
            yield f"order {order}", f"{fold.turns} times"
            yield from ((f"order {order}", f"  {line}") for line in first_turn(nodes, fold, labels, write))
            at = fold.end
    yield from ((line.heading, line.text) for line in _ends(graph, labels, numbers))


def ambiguous(graph: Graph) -> set[int]:
    """The orders of which there were several backward calls."""
    return {order for order, count in Counter(entry.order for entry in graph.passes).items() if count > 1}


def labels_of(graph: Graph, parts: Collection[str]) -> list[tuple[str, ...]]:
    """A unique label for every output: its variable's name, else one after its operation (`%mul`, `%mul_2`)."""
    used: Counter[str] = Counter()
    rows: list[tuple[str, ...]] = [()] * len(graph)
    for node in sorted(graph, key=lambda node: node.order):
        word = "%" + (re.sub(r"\W", "_", node.op or node.name) if node.is_operation else node.kind)
        names = [output.names[0] if "names" in parts and _named(output.names) else "" for output in node.outputs]
        used[word] += not all(names)
        base = word if used[word] < 2 else f"{word}_{used[word]}"
        row = []
        for nr, name in enumerate(map(quoted, names)):
            used[name] += 1
            if not names[nr]:
                row.append(f"{base}.{nr}" if len(names) > 1 else base)
            else:
                row.append(name if used[name] == 1 else f"{name}~{used[name]}")
        rows[node.id] = tuple(row)
    return rows


def _named(names: tuple[str, ...]) -> bool:
    return bool(names) and names[0] != "_"


def _ref(edge: Edge | None, labels: Rows) -> str:
    return "_" if edge is None else labels[edge.node][edge.nr]


def _refs(edges: Sequence[Edge | None], labels: Rows) -> str:
    return ", ".join([_ref(edge, labels) for edge in edges])


def _node(node: Node, labels: Rows, parts: Collection[str], calls: Sequence[str]) -> str:
    typed = zip(labels[node.id], [shown_type(output.type, parts) for output in node.outputs], strict=True)
    head = ", ".join([f"{label}: {kind}" if kind else label for label, kind in typed])
    if not node.is_operation:
        text = f"{node.kind} {head}"
    else:
        inputs = f"({_refs(node.args, labels)})" if node.args or not node.next else ""
        text = f"{head} = {visible(node.op or node.name)}{inputs}"
        same = node.next == node.args  # mostly
        text += f"  grad_fn {visible(node.name)}" if node.next else ""
        text += f"({_refs(node.next, labels)})" if node.next and not same else ""
        text += "  untracked" if node.kind == "untracked" else ""
    if node.parent is not None:
        text += f"  of {labels[node.parent][0] if labels[node.parent] else '_'}"
    if node.pass_id is not None and calls:
        text += f"  pass {calls[node.pass_id]}"
    if "modules" in parts and node.module:
        text += f"  in {visible(node.module)}"
    if "lines" in parts and node.source:
        text += f"  at {visible(node.source.file)}:{node.source.line}"
    given = [f"{name}={value}" for name, value in constants(node).items()] if "constants" in parts else ()
    return f"{text}  with {visible(', '.join(given))}" if given else text


def _pass(entry: Pass, graph: Graph, labels: Labels) -> str:
    text = f"{visible(entry.call)}({_refs(entry.roots, labels)}) order {entry.order}"
    if entry.create_graph:
        text += ", create_graph"
    leaves = reached(graph, entry)
    if not leaves:
        return f"{text}, no gradients"
    every = len(leaves) == sum(node.kind == "leaf" for node in graph)
    return f"{text}, gradients of " + ("all leaves" if every else ", ".join(labels[leaf][0] for leaf in leaves))


def diff_lines(diff: GraphDiff, context: int = 2) -> list[str]:
    """The lines that differ, marked `-` and `+`, with `context` lines around them; what is alike has the old labels."""
    old_labels = labels_of(diff.old, diff.parts)
    several = ambiguous(diff.old) | ambiguous(diff.new)
    old = graph_lines(diff.old, diff.parts, old_labels, several=several)
    calls = {other: str(one) for one, other in diff.pass_pairs.items()}
    new_calls = [calls.get(entry.id, f"{entry.id}'") for entry in diff.new.passes]
    new = graph_lines(_told_alike(diff), diff.parts, _aligned(diff, old_labels), new_calls, several)
    marked = list(_merged(_partners(diff), old, new))
    near = {
        position + offset
        for position, (mark, _) in enumerate(marked)
        if mark != " "
        for offset in range(-context, context + 1)
    }
    lines, heading, last = [], "", -1
    for position, (mark, line) in enumerate(marked):
        if position not in near:
            continue
        if line.heading != heading:
            heading = line.heading
            lines.append(f"@@ {heading} @@")
        elif position != last + 1:
            lines.append("  ...")
        lines.append(f"{mark} {line.text}")
        last = position
    return lines


def _told_alike(diff: GraphDiff) -> Graph:
    """Return the new graph, whose leaves and inputs with the same numbers as before are told in the same words."""
    nodes = list(diff.new.nodes)
    for one, other in diff.pairs.items():
        old, new = diff.old[one], nodes[other]
        if not (old.is_operation or new.is_operation) and same_facts(constants(old), constants(new)):
            nodes[other] = replace(new, saved=old.saved, constants=old.constants)
    return replace(diff.new, nodes=tuple(nodes))


def _aligned(diff: GraphDiff, old_labels: Labels) -> list[tuple[str, ...]]:
    origin = {other: one for one, other in diff.pairs.items()}
    own = labels_of(diff.new, diff.parts)
    taken = {label for row in old_labels for label in row}
    rows: list[tuple[str, ...]] = []
    for node, row in zip(diff.new, own, strict=True):
        if node.id in origin and len(old_labels[origin[node.id]]) == len(row):
            rows.append(old_labels[origin[node.id]])
        else:
            rows.append(tuple(_fresh(label, taken) for label in row))
            taken.update(rows[-1])
    return rows


def _fresh(label: str, taken: set[str]) -> str:
    while label in taken:
        label += "'"
    return label


def _partners(diff: GraphDiff) -> dict[tuple[str, int], tuple[str, int]]:
    """For the old lines, by the first word of their headings, their new ones."""
    found = {("order", one): ("order", other) for one, other in diff.pairs.items()}
    positions = {(root.node, root.nr): position for position, root in enumerate(diff.new.roots)}
    for position, root in enumerate(diff.old.roots):
        like = positions.get((diff.pairs.get(root.node, -1), root.nr))
        if like is not None:
            found["results", position] = "results", like
    return found | {("passes", one): ("passes", other) for one, other in diff.pass_pairs.items()}


def _merged(
    partners: dict[tuple[str, int], tuple[str, int]], old: list[Line], new: list[Line]
) -> Iterator[tuple[str, Line]]:
    """Both lists in the order of the old one; what is new follows what it follows in the new one."""
    positions = {(line.heading.split()[0], line.key): position for position, line in enumerate(old)}
    origins = {other: one for one, other in partners.items() if one in positions}
    rows: list[tuple[tuple[str, int, int, int], str, Line]] = []
    replacements: dict[int, Line] = {}
    last: dict[str, int] = {}
    for number, line in enumerate(new):
        origin = origins.get((line.heading.split()[0], line.key))
        if origin is None:
            rows.append(((line.heading, last.get(line.heading, -1), 2, number), "+", line))
        else:
            last[line.heading] = positions[origin]
            replacements[positions[origin]] = line
    for position, line in enumerate(old):
        replacement = replacements.get(position)
        rows.append(
            ((line.heading, position, 0, 0), " " if replacement and replacement.text == line.text else "-", line)
        )
        if replacement and replacement.text != line.text:
            rows.append(((line.heading, position, 1, 0), "+", replacement))
    headings = {heading: position for position, heading in enumerate(_headings(old, new))}
    for _, mark, line in sorted(rows, key=lambda row: (headings[row[0][0]], *row[0][1:])):
        yield mark, line


def _headings(old: list[Line], new: list[Line]) -> list[str]:
    """Orders by number, then results and passes."""
    known = {line.heading for line in (*old, *new)}
    return sorted(known, key=lambda heading: (heading[0] in "rp", -ord(heading[0]), *map(int, heading.split()[1:])))
