"""The graph as text for review: one node a line, like a jaxpr."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from autograph_cli.graph.collector import resting
from autograph_cli.graph.facts import facts_of
from autograph_cli.graph.names import TOGETHER, output_names, quoted, visible, visible_lines
from autograph_cli.graph.records import Edge, Graph, Node, Pass, Root, Saved
from autograph_cli.graph.saved_memory import kept_lines

Names = Sequence[tuple[str, ...]]


@resting()
def to_text(graph: Graph, *, details: bool = False, shown: Collection[str] = ()) -> str:
    """Write the graph, one node a line, in sections by order, then its roots and its backward passes.

    `details` adds what changes more often than the graph does: source lines, modules and saved values; `shown` are
    facts (`facts.FACTS`) that stand below each node, behind `#`.

    >>> from autograph_cli.graph.records import Node, Output, TensorType
    >>> leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), ("x",)),))
    >>> print(to_text(Graph((leaf,))), end="")
    graph: 1 node (1 leaf)
    order 0
      leaf x: float32[3]
    """
    lines = _lines(graph, output_names(graph), details, shown)
    chunks = []
    while some := list(islice(lines, TOGETHER)):
        text = "\n".join(some) + "\n"
        plain = "\t" not in text and text.count("\n") == len(some)
        chunks.append(visible_lines(text) if plain else "".join([visible(line) + "\n" for line in some]))
    return "".join(chunks)


def _lines(graph: Graph, names: Names, details: bool, shown: Collection[str]) -> Iterator[str]:
    yield _summary(graph)
    for order in sorted({node.order for node in graph.nodes}):
        yield f"order {order}"
        for node in graph.nodes:
            if node.order == order:
                line = _line(node, names)
                yield line + _details(node) if details else line
                if shown:
                    yield from [f"      # {fact}" for fact in facts_of(node, shown)]
    if graph.roots:
        yield "roots"
        yield from [_root_line(root, names[root.node][root.nr]) for root in graph.roots]
    if "saved" in shown:
        yield "saved"
        yield from [f"  {line}" for line in kept_lines(graph, names)]
    if graph.passes:
        yield "passes"
        yield from [_pass_line(entry, names, details) for entry in graph.passes]


def _summary(graph: Graph) -> str:
    words = {"operation": ("operation", "operations"), "leaf": ("leaf", "leaves"), "input": ("input", "inputs")}
    words["untracked"] = ("untracked operation", "untracked operations")
    counts = dict.fromkeys(words, 0)
    for node in graph.nodes:
        counts[node.kind] += 1
    parts = [f"{count} {words[kind][count != 1]}" for kind, count in counts.items() if count]
    total = f"graph: {len(graph)} node{'s' * (len(graph) != 1)}"
    return f"{total} ({', '.join(parts)})" if parts else total


def _line(node: Node, names: Names) -> str:
    own, outputs, following, args = names[node.id], node.outputs, node.next, node.args
    if len(outputs) == 1:
        head = f"{own[0]}: {outputs[0].type}"
    else:
        head = ", ".join([f"{name}: {output.type}" for name, output in zip(own, outputs, strict=True)])
    if node.kind in ("leaf", "input"):
        line = f"  {node.kind} {head}"
    elif args or not following:
        given = _edges(args, names)
        line = f"  {head} = {node.op or node.name}({given})"
        if following:
            line += f"  grad_fn {node.name}({given if following is args else _edges(following, names)})"
    else:
        line = f"  {head} = {node.name}({_edges(following, names)})"
    if node.parent is not None:
        line += f"  of {_one(node.parent, names)}"
    return line if node.pass_id is None else f"{line}  pass {node.pass_id}"


def _edges(edges: Sequence[Edge | None], names: Names) -> str:
    if len(edges) == 1 and (only := edges[0]) is not None:  # mostly
        return names[only.node][only.nr]
    return ", ".join(["_" if edge is None else names[edge.node][edge.nr] for edge in edges])


def _one(number: int, names: Names) -> str:
    return names[number][0] if names[number] else f"%{number}"


def _details(node: Node) -> str:
    parts = []
    if node.source:
        parts.append(f"at {node.source.file}:{node.source.line}")
    if node.module:
        parts.append(f"in {node.module}")
    if node.saved:
        parts.append(f"saved {', '.join(saved_text(saved) for saved in node.saved)}")
    return f"  # {'; '.join(parts)}" if parts else ""


def saved_text(saved: Saved) -> str:
    """One saved value on one line: `self: float32[3] (12 bytes)` or `dim: 1`."""
    if saved.type is None:
        return visible(f"{saved.name}: {saved.value}")
    return _saved_tensor(saved.name, str(saved.type), saved.bytes)


@lru_cache(1 << 12)
def _saved_tensor(name: str, type_: str, size: int) -> str:
    return visible(f"{name}: {type_} ({size} bytes)")


def _root_line(root: Root, name: str) -> str:
    """A root, and the tensor that it is where that goes by another name."""
    own = quoted(root.name)
    return f"  {own}" if own == name else f"  {own} = {name}"


def _pass_line(entry: Pass, names: Names, details: bool) -> str:
    line = f"  pass {entry.id}: {entry.call}({_edges(entry.roots, names)}) order {entry.order}"
    if entry.create_graph:
        line += ", create_graph"
    line += f", ran {len(entry.ran)} node{'s' * (len(entry.ran) != 1)}"
    if details and entry.source:
        line += f"  # at {entry.source.file}:{entry.source.line}"
    return line
