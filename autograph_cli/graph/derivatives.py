"""The derivatives that the passes of a graph compute, in the words of the script: `dloss/dw`, `1, gradient of loss`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest

from autograph_cli.graph.arguments import step_text
from autograph_cli.graph.names import output_names, shown_name
from autograph_cli.graph.records import Edge, Graph, Node, Pass
from autograph_cli.graph.views import argument_edges, users_of

MOST, LONGEST = 4, 36
"""Derivatives that are listed, and characters that they take together; of more, their number is told."""
ONES = {"1", "1."}
_ENTRY = re.compile(r"(.+[\[ ])(\d+)(\]\D*)")


def derivatives_text(graph: Graph, order: int) -> str:
    """The derivatives that passes of this order recorded: `dloss/dw, dloss/db`; empty if there are none."""
    recorded = {node.pass_id for node in graph}
    listed = _in_runs(dict.fromkeys(words for entry, words, _ in _derivatives(graph, recorded) if entry.order == order))
    length = list(accumulate(len(words) + 2 for words in listed))
    most = max(1, min(MOST, bisect_right(length, LONGEST)))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def derivative_names(graph: Graph) -> dict[int, str]:
    """Return of what the results of passes are derivatives, by what with respect to what: `dloss/dw`."""
    made = _derivatives(graph, {entry.id for entry in graph.passes}) if any(node.order for node in graph) else ()
    return {edge.node: words for _, words, edge in made if edge is not None}


def _derivatives(graph: Graph, passes: Container[int | None]) -> Iterator[tuple[Pass, str, Edge | None]]:
    """Yield the derivatives of some passes in words, with the tensors that they are; of a pass that kept some these."""
    names = output_names(graph)

    def named(edge: Edge) -> bool:
        return bool(graph.nodes[edge.node].outputs[edge.nr].names)

    def name(edge: Edge) -> str:
        node = graph.nodes[edge.node]
        if node.outputs[edge.nr].names or not node.op:
            return shown_name(names[edge.node][edge.nr])
        base = next((edge for edge in (*node.args, *node.next) if edge is not None and named(edge)), None)
        return (
            f"({node.op})" if base is None or node.op not in ("select", "slice") else f"{name(base)}{step_text(node)}"
        )

    for entry in graph.passes:
        if entry.roots and entry.id in passes:
            root = "+".join(map(name, entry.roots))
            root = f"({root})" if len(entry.roots) > 1 else root
            ends = list(zip_longest(entry.inputs, entry.results[: len(entry.inputs)]))
            kept = [(edge, made) for edge, made in ends if made is not None]
            yield from ((entry, f"d{root}/d{name(edge)}", made) for edge, made in kept or ends)


def _in_runs(words: Iterable[str]) -> list[str]:
    """The words with each run of entries of one list in one: `dloss/dw[0…3]`."""
    found: list[str] = []
    run: tuple[str, str, int, int] | None = None
    for word in words:
        entry = _ENTRY.fullmatch(word)
        if entry and run and (*run[:2], run[3] + 1) == (entry[1], entry[3], int(entry[2])):
            run = *run[:3], run[3] + 1
            found[-1] = f"{run[0]}{run[2]}…{run[3]}{run[1]}"
            continue
        run = (entry[1], entry[3], int(entry[2]), int(entry[2])) if entry else None
        found.append(word)
    return found


def incoming_gradients(graph: Graph) -> dict[int, str]:
    """Return whose gradient each nameless input is that only backwards of one node take.

    The number before it stands where the values were recorded and all are 1.
    """
    users, names = users_of(graph, argument_edges), output_names(graph)
    found: dict[int, str] = {}
    for node in graph:
        if node.kind != "input" or node.op or node.outputs[0].names:
            continue
        parents = {graph.nodes[user].parent for user in users.get(node.id, ())}
        parent = parents.pop() if len(parents) == 1 else None
        of = None if parent is None else graph.nodes[parent]
        if of is None or node.outputs[0].type not in [output.type for output in of.outputs]:
            continue
        own = next((nr for nr, output in enumerate(of.outputs) if output.type == node.outputs[0].type), 0)
        ones = "1, " if _all_ones(node) else ""
        found[node.id] = f"{ones}gradient of {_name(graph, names, Edge(of.id, own))}"
    return found


def gradient_sums(graph: Graph) -> dict[int, str]:
    """The derivatives that add up what several users of a tensor send it, and the name of that tensor."""
    found = _sums(graph)
    names = output_names(graph) if found else []
    return {number: _name(graph, names, edge) for number, edge in found.items()}


def leaf_sums(graph: Graph) -> frozenset[int]:
    """The derivatives that add up the gradients of leaves."""
    return frozenset(number for number, edge in _sums(graph).items() if graph.nodes[edge.node].kind == "leaf")


def _sums(graph: Graph) -> dict[int, Edge]:
    """The derivatives that add up what several users of a tensor send it, and that tensor.

    They come last of what the backward of a user made: one for each of its edges to a tensor that had a gradient.
    """
    made: dict[tuple[int | None, int | None], list[Node]] = {}
    for node in graph:
        if node.parent is not None:
            made.setdefault((node.pass_id, node.parent), []).append(node)
    found: dict[int, Edge] = {}
    for entry in graph.passes if made else ():
        wanted = {*entry.ran, *(edge.node for edge in entry.inputs)}
        met: set[Edge] = set()
        for number in entry.ran:
            sent = [edge for edge in graph.nodes[number].next if edge is not None and edge.node in wanted]
            again = [edge for at, edge in enumerate(sent) if edge in met or edge in sent[:at]]
            met.update(sent)
            for node in reversed(made.get((entry.id, number), []) if again else []):
                types = [graph.nodes[edge.node].outputs[edge.nr].type for edge in (*node.args, Edge(node.id))]
                fits = [edge for edge in again if graph.nodes[edge.node].outputs[edge.nr].type == types[0]]
                if len(types) != 3 or len(set(types)) > 1 or not fits:
                    break
                again.remove(fits[-1])
                found[node.id] = fits[-1]
    return found


def _name(graph: Graph, names: Sequence[Sequence[str]], edge: Edge) -> str:
    """The name of an output, or what made it."""
    node = graph.nodes[edge.node]
    return shown_name(names[edge.node][edge.nr]) if node.outputs[edge.nr].names or not node.op else node.op


def _all_ones(node: Node) -> bool:
    """Return whether the values are known to be 1 everywhere."""
    values = node.measured.values[0] if node.measured and node.measured.values else None
    if values is None:
        return False
    if values.whole:
        words = " ".join(values.whole).replace("[", " ").replace("]", " ").replace(",", " ").split()
        return bool(words) and ONES.issuperset(words)
    return values.low in ONES and values.high in ONES and not values.nans
