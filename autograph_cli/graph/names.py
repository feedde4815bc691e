"""The names that are given when a graph is printed: unique, stable, and safe on one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from io import BytesIO
from itertools import islice

from msgspec.structs import replace

from autograph_cli.graph.records import Edge, Graph, Node, Output, Root
from autograph_cli.graph.walk import reached

_PLAIN = re.compile(r"[^\W\d][\w.\[\]′]*(?:#\d+)?(?:~\d+)?")
_QUOTED = re.compile(r"(['\"])(.+)\1(′*(?:~\d+)?)$")
_SECOND = re.compile(r"~(\d+)$")
_RANK = re.compile(r"#\d+(?=~|$)")
TOGETHER = 500
"""Lines that are written at once."""
_PRINTED = bytes(range(32, 127)) + b"\n\t"


def visible(text: str) -> str:
    """The text on one line: what cannot be printed (newlines, control characters) is written as an escape.

    >>> visible("a\\nb")
    'a\\\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def visible_lines(text: str) -> str:
    """The text with its lines and tabs as they are, and everything else that cannot be printed as an escape."""
    data = visible_bytes(text)
    return text if len(data) == len(text) else data.decode()


def visible_bytes(text: str) -> bytes:
    """The same in UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    rest = data.translate(None, _PRINTED)  # of megabytes, quicker than text is
    if rest.decode("utf-8", "surrogatepass").isprintable():
        return data
    return "\n".join(["\t".join(map(visible, line.split("\t"))) for line in text.split("\n")]).encode()


def visible_joined(lines: Iterable[str]) -> bytes:
    """The same of a text that is made line by line: some at a time stay near, and a sign that is wide does not make all
    of them so."""
    each, text = iter(lines), BytesIO()
    while some := list(islice(each, TOGETHER)):
        text.write(visible_bytes("".join(some)))
    return text.getvalue()


def quoted(name: str) -> str:
    """The name as it is if it reads as a variable or is in quotes, else in quotes."""
    return name if name[:1] in ("'", '"') or _PLAIN.fullmatch(name) else repr(name)


def shown_name(name: str) -> str:
    """A unique name as a picture shows it.

    >>> shown_name("y~2"), shown_name("y#1"), shown_name(quoted("fast['w']"))
    ('y (2)', 'y', "fast['w']")
    """
    if name[:1] in ("'", '"'):
        name = _QUOTED.sub(r"\2\3", name)
    if "#" not in name and "~" not in name:
        return name
    return _SECOND.sub(r" (\1)", _RANK.sub("", name))


def output_names(graph: Graph) -> Sequence[tuple[str, ...]]:
    """One unique name for every output of every node, in order of ids; worked out once for each graph.

    A variable's name where there is one, else `%7` or `%7.1`, from the node's id. Of a name that was bound again, the
    derivative of its tensor with respect to the only leaf is `y′`, and any other second holder is `y~2`.
    """
    names: Sequence[tuple[str, ...]] | None = graph.__dict__.get("names")
    if names is None:
        names = graph.__dict__["names"] = _output_names(graph)
    return names


def _output_names(graph: Graph) -> list[tuple[str, ...]]:
    names: list[tuple[str, ...]] = []
    used: dict[str, int] = {}
    primes = _Primes(graph, names)
    for node in graph.nodes:
        several = len(node.outputs) > 1
        if not several and node.outputs and not node.outputs[0].names:
            names.append((f"%{node.id}",))
            continue
        row: list[str] = []
        for nr, output in enumerate(node.outputs):
            if not output.names:
                row.append(f"%{node.id}.{nr}" if several else f"%{node.id}")
                continue
            name = quoted(output.names[0])
            again = used.get(name, 0)
            name = (primes.of(node, name) or name) if again else name
            used[name] = again = used.get(name, 0) + 1
            row.append(name if again == 1 else f"{name}~{again}")
        names.append(tuple(row))
    return names


class _Primes:
    """Names of derivatives: `y′` for what differentiated `y` by the only leaf that it depends on."""

    def __init__(self, graph: Graph, names: list[tuple[str, ...]]) -> None:
        self.graph, self.names = graph, names
        self.lonely: dict[int, bool] = {}

    def of(self, node: Node, name: str) -> str | None:
        """The name of a derivative that a backward call made and the script called `name` again; else None."""
        if node.pass_id is None:
            return None
        roots = self.graph.passes[node.pass_id].roots
        if len(roots) != 1 or roots[0].node >= node.id or not self._of_one_leaf(roots[0]):
            return None
        differentiated = self.names[roots[0].node][roots[0].nr]
        return f"{differentiated}′" if differentiated.rstrip("′") == name else None

    def _of_one_leaf(self, root: Edge) -> bool:
        if root.node not in self.lonely:
            nodes = self.graph.nodes
            behind = reached([root.node], lambda number: [edge.node for edge in nodes[number].next if edge])
            self.lonely[root.node] = sum(nodes[number].kind == "leaf" for number in behind) == 1
        return self.lonely[root.node]


def told_apart(graph: Graph) -> Graph:
    """The graph with a name of its own for each tensor of a name that was bound again, in whatever view it is shown.

    Those of them that a backward call differentiated are roots too. A further name of a tensor that is the first of
    another one is left out.
    """
    count: dict[str, int] = {}
    further: set[int] = set()
    for node in graph.nodes:
        for output in node.outputs:
            if output.names:
                count[output.names[0]] = count.get(output.names[0], 0) + 1
                if len(output.names) > 1:
                    further.add(node.id)
    again = {name for name, times in count.items() if times > 1}
    if not again and not further:
        return graph
    nodes = tuple([_without(node, count) if node.id in further else node for node in graph.nodes])
    if not again:
        return replace(graph, nodes=nodes)
    names = output_names(graph)
    nodes = tuple(_renamed(node, names[node.id], again) for node in nodes)
    roots = [_renamed_root(graph, root, names, again) for root in graph.roots]
    there = {(root.node, root.nr) for root in roots}
    for entry in graph.passes:
        for edge in entry.roots:
            output = graph.nodes[edge.node].outputs[edge.nr]
            if output.names and output.names[0] in again and (edge.node, edge.nr) not in there:
                there.add((edge.node, edge.nr))
                roots.append(Root(names[edge.node][edge.nr], edge.node, edge.nr))
    return replace(graph, nodes=nodes, roots=tuple(roots))


def numbered_if_several(graph: Graph) -> Graph:
    """The view with the plain name of a leaf or an input that `told_apart` gave a number, where no other holder of the
    name is in it."""
    held = Counter(_SECOND.sub("", output.names[0]) for node in graph for output in node.outputs if output.names)
    alone: dict[int, Node] = {}
    for node in graph:
        names = node.outputs[0].names if node.outputs and not node.computes else ()
        plain = _SECOND.sub("", names[0]) if names else ""
        if names and plain != names[0] and held[plain] == 1:
            alone[node.id] = replace(node, outputs=(replace(node.outputs[0], names=(plain, *names[1:])),))
    return replace(graph, nodes=tuple([alone.get(node.id, node) for node in graph])) if alone else graph


def _without(node: Node, names: Collection[str]) -> Node:
    if not any(name in names for output in node.outputs for name in output.names[1:]):
        return node
    outputs = [
        replace(output, names=(*output.names[:1], *(name for name in output.names[1:] if name not in names)))
        for output in node.outputs
    ]
    return replace(node, outputs=tuple(outputs))


def _renamed(node: Node, names: tuple[str, ...], again: Collection[str]) -> Node:
    if not any(output.names and output.names[0] in again for output in node.outputs):
        return node
    outputs = [
        replace(output, names=(name, *output.names[1:])) if output.names and output.names[0] in again else output
        for output, name in zip(node.outputs, names, strict=True)
    ]
    return replace(node, outputs=tuple(outputs))


def _renamed_root(graph: Graph, root: Root, names: Sequence[tuple[str, ...]], again: Collection[str]) -> Root:
    output: Output = graph.nodes[root.node].outputs[root.nr]
    if root.name in again and output.names and output.names[0] == root.name:
        return replace(root, name=names[root.node][root.nr])
    return root
