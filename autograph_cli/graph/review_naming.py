"""The names by which a review speaks of tensors and operations."""

from __future__ import annotations

import ast

from autograph_cli.graph.diff import GraphDiff, shown_type
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Edge, Graph, Node
from autograph_cli.graph.review_words import article
from autograph_cli.graph.views import walk


class Naming:
    """Names what is in two graphs, each with what is known of it in either."""

    def __init__(self, diff: GraphDiff) -> None:
        self.diff, self.old, self.new = diff, diff.old, diff.new
        self.image = diff.pairs
        self.origin = {other: one for one, other in diff.pairs.items()}

    def name(self, graph: Graph, edge: Edge) -> str:
        """A tensor's variable, else the operation that made it."""
        node = graph[edge.node]
        names = node.outputs[edge.nr].names if edge.nr < len(node.outputs) else ()
        if not names and graph is self.new and edge.node in self.origin:
            before = self.old[self.origin[edge.node]].outputs
            names = before[edge.nr].names if edge.nr < len(before) else ()
        if names:
            return f"`{visible(names[0])}`"
        if not node.is_operation:
            return f"{article(node.kind)} {shown_type(node.outputs[0].type, self.diff.parts)}".rstrip()
        return f"`{self.word(node)}`"

    def word(self, node: Node) -> str:
        return visible(node.op or node.name)

    def where(self, node: Node) -> str:
        """` (model.py:12)`, where it is known."""
        other = node
        if not node.source and node.id in self.image and self.old.nodes[node.id : node.id + 1] == (node,):
            other = self.new[self.image[node.id]]
        return f" ({visible(other.source.file)}:{other.source.line})" if other.source else ""

    def what(self, graph: Graph, edge: Edge) -> str:
        """A tensor, or an operation with its line."""
        name = self.name(graph, edge)
        node = graph[edge.node]
        return f"{name}{self.where(node)}" if node.is_operation else name

    def module(self, graph: Graph, node: Node) -> str:
        """The module that an operation belongs to, if only by the parameters that it takes: `model.conv1`."""
        if node.module or node.order:
            return node.module
        met = walk(graph, [node.id], lambda one: one.args)
        if all(graph[number].args or graph[number].kind == "leaf" for number in met):
            return ""  # of parameters alone, such as a penalty
        names = (
            name
            for edge in (node.args or node.next)
            if edge is not None and graph[edge.node].kind == "leaf"
            for name in graph[edge.node].outputs[0].names
        )
        return next((name.rpartition(".")[0] for name in names if name.endswith((".weight", ".bias"))), "")

    def operation(self, node: Node, within: str = "") -> str:
        module = f"`{visible(node.module)}` " if node.module else ""
        return f"{module}`{self.word(node)}`{within}{self.where(node)}"

    def subject(self, graph: Graph, edge: Edge) -> str:
        """A tensor by its name, else the module that returns it or the operation that made it."""
        node = graph[edge.node]
        module = "" if node.outputs[edge.nr].names or not node.is_operation else self.module(graph, node)
        inside = any(edge in other.args and self.module(graph, other) == module for other in graph) if module else False
        return f"`{visible(module)}`" if module and not inside else self.name(graph, edge)


def within(node: Node) -> str:
    """Return the function that the script called where that did more than one operation of its name."""
    word = _function(node)
    return f" in `{visible(word)}`" if word else ""


def _function(node: Node) -> str:
    word = node.written[1].partition(" ")[0] if node.written else ""
    return word if word.isidentifier() and word not in (node.op, node.op.strip("_")) else ""


def having(node: Node) -> str:
    """Return what the line gives that function by name, such as `label_smoothing=0.1`: no operation has that word."""
    word = _function(node)
    try:
        lines = ast.walk(ast.parse(node.source.text)) if word and node.source else ()
    except SyntaxError:  # a line of several
        return ""
    calls = [each for each in lines if isinstance(each, ast.Call) and ast.unparse(each.func).split(".")[-1] == word]
    told = [f"{one.arg}={ast.unparse(one.value)}" for one in calls[0].keywords if one.arg] if len(calls) == 1 else []
    return f": `{visible(word)}` has {', '.join(map(visible, told))}" if told else ""
