"""The part of a graph that is compared and kept in a snapshot: the nodes that its results hang on, with their plain
arguments."""

from __future__ import annotations

import contextlib
import math
import re
import struct
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import lru_cache

from msgspec.structs import replace

from autograph_cli.graph.records import Edge, Graph, Node, Root
from autograph_cli.graph.views import as_input, gathers, part, tracked, walk

TOLERANCE = 1e-4
"""Numbers of data that differ by less than this, relative to their size (or absolutely, below 1), are the same."""
_SHAPES = ("sizes", "sizes_opt", "strides", "options", "scalar_type", "sym_numel", "sym_argsize_0")
_DEFAULTS = {("alpha", "1"), ("beta", "1"), ("keepdim", "False"), ("non_blocking", "False")}
DATA = ("values", "drawn")
"""The facts on the data of leaves and inputs: their numbers, or how they were drawn."""
_DIMS = ("dim", "dim0", "dim1", "dim2", "dims", "dimension", "axis")
_NUMBER = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?")
_LONG = re.compile(r"\d+\.\d{8,}(?:e[+-]?\d+)?")
_FLOAT = struct.Struct("f")
_WHOLE = re.compile(r"(?<![\w.])(-?\d+)\.0(?![\w.])")


def constants(node: Node) -> dict[str, str]:
    """The plain arguments of an operation by name, without those that are shapes or everyone's default; of leaves and
    inputs what is known of their numbers.

    >>> from autograph_cli.graph.records import Saved
    >>> constants(Node(0, "operation", "SumBackward1", "sum", (), saved=(Saved("_saved_dim", value="(1,)"),)))
    {'dim': '(1,)'}
    """
    return dict(_constants(node.plain))


@lru_cache(1 << 14)
def _constants(plain: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    found = {name: _LONG.sub(_single, _WHOLE.sub(r"\1", value)) for name, value in plain if not _is_shape(name)}
    if found.get("stride") == "()" and "kernel_size" in found:
        found["stride"] = found["kernel_size"]
    return tuple(sorted((pair for pair in found.items() if pair not in _DEFAULTS), key=_data_first))


def _single(number: re.Match[str]) -> str:
    """Return the fewest digits of a number that is one of float32: `1e-05` for `9.999999747378752e-06`."""
    value = float(number[0])
    shorter = (f"{value:.{digits}g}" for digits in range(1, 9))
    with contextlib.suppress(OverflowError):
        return next((text for text in shorter if _FLOAT.unpack(_FLOAT.pack(float(text)))[0] == value), number[0])
    return number[0]


def _data_first(pair: tuple[str, str]) -> tuple[bool, str]:
    return pair[0] not in DATA, pair[0]


def drawn(node: Node) -> dict[str, str]:
    """The kind of the random numbers in a leaf or an input, with their bounds; nothing of other data."""
    facts = constants(node)
    return facts if "drawn" in facts else {}


def drawn_otherwise(old: Node, new: Node) -> bool:
    """Return whether both are random numbers, of another kind or within other bounds."""
    facts = drawn(old), drawn(new)
    return all(facts) and facts[0] != facts[1]


def _is_shape(name: str) -> bool:
    """Return whether an argument tells the shape of a tensor, which its type tells."""
    if name in ("size", "split_sizes"):
        return name == "size"
    return "_sym_" in name or name.endswith(_SHAPES) or name.startswith("saved_tensors")


def labelled(graph: Graph, node: Node) -> tuple[tuple[str, str], ...]:
    """The plain arguments of an operation in the form in which they are compared: dimensions counted from the first
    one. Those of leaves and inputs are left out, for they are compared as numbers."""
    if not node.is_operation or not (given := constants(node)):
        return ()
    edge = next(filter(None, node.args or node.next), None)
    rank = len((node if edge is None else graph[edge.node]).outputs[0 if edge is None else edge.nr].type.shape)
    made = len(node.outputs[0].type.shape) if node.outputs else 0
    return tuple([(name, _dims(text, max(rank, made)) if name in _DIMS else text) for name, text in given.items()])


@lru_cache(1 << 10)
def _dims(text: str, rank: int) -> str:
    return re.sub(r"-\d+", lambda found: str(int(found[0]) % rank), text) if rank else text


def same_facts(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Return whether what is known of the numbers of a leaf or an input is the same, or known of one only."""
    if not old or not new:
        return True
    return old.keys() == new.keys() and all(same_data(old[name], new[name]) for name in old)


def same_data(old: str, new: str, tolerance: float = TOLERANCE, least: float = 1e-9) -> bool:
    """Return whether two texts are the same but for rounding of the numbers in them, of those near 0 by `least`.

    >>> same_data("[0.1, nan]", "[0.100001, nan]"), same_data("[1, 2]", "[2, 1]")
    (True, False)
    """
    if old == new:
        return True
    if _NUMBER.split(old) != _NUMBER.split(new) or "crc" in old:
        return False
    pairs = zip(map(float, _NUMBER.findall(old)), map(float, _NUMBER.findall(new)), strict=True)
    return all(math.isclose(one, other, rel_tol=tolerance, abs_tol=least) for one, other in pairs)


def compared(graph: Graph, parts: Collection[str]) -> Graph:
    """Return what is compared of a graph; what was drawn at random, or filled, is an input whether it has a name or
    not."""
    if "untracked" not in parts:
        return tracked(graph)
    made = [node if node.computes or not node.is_operation else _made(node) for node in graph]
    return replace(graph, nodes=tuple(made))


def _made(node: Node) -> Node:
    return replace(as_input(node), constants=node.constants)


def results(graph: Graph, parts: Collection[str]) -> Graph:
    """The graph that its results hang on: what backward calls started from or made, and without one the roots that
    nothing uses.

    A variable in the middle of a calculation is a name, and no result; what is computed beside, as for a print, is
    left out, and so is what autograd did not record, unless it is among the `parts`.
    """
    graph = compared(graph, parts)
    used = {edge.node for node in graph for edge in (*node.args, *node.next) if edge is not None}
    started = {edge for entry in graph.passes for edge in entry.roots}
    derived = {node.id for node in graph if node.order}
    for node in graph:
        if any(edge.node in derived for edge in node.args):
            derived.add(node.id)
    kept: dict[Edge, Root] = {}
    for root in graph.roots:
        position = Edge(root.node, root.nr)
        if position in started or (root.node not in used and (not graph.passes or root.node in derived)):
            kept.setdefault(position, root)
    graph = _gathered(graph)
    starts = [root.node for root in kept.values()] + [node.id for node in graph if node.order]
    for entry in graph.passes:
        starts += [edge.node for edge in (*entry.roots, *entry.inputs, *entry.results) if edge is not None]
        starts += [number for number in entry.ran if not graph[number].is_operation]
    return part(graph, walk(graph, starts, _hangs_on), kept.values())


def _hangs_on(node: Node) -> list[Edge]:
    edges = [edge for edge in (*node.args, *node.next) if edge is not None]
    return edges if node.parent is None else [*edges, Edge(node.parent)]


def _gathered(graph: Graph) -> Graph:
    """The graph in which what gathers many alike, as a loader does its samples, is given the first of each kind."""
    nodes = list(graph.nodes)
    for node in graph:
        if not gathers(graph, node):
            continue
        alike: dict[object, list[Edge]] = defaultdict(list)
        for edge in node.args:
            one = graph[edge.node]
            alike[one.op, one.args, one.outputs[edge.nr].type, edge.nr].append(edge)
        nodes[node.id] = replace(node, args=tuple([edges[0] for edges in alike.values()]), cut=())
    return replace(graph, nodes=tuple(nodes))


def as_version(graph: Graph, version: int) -> Graph:
    """The graph as a snapshot of an earlier version has it, which held less of the plain arguments."""
    return replace(graph, nodes=tuple([replace(node, constants=_held(node, version), saved=()) for node in graph]))


_HELD_NOT = (*_SHAPES, "size", "stride", "storage_offset")


def _held(node: Node, version: int) -> tuple[tuple[str, str], ...]:
    if not node.is_operation:
        return ()
    given = [pair for pair in node.constants if version > 1 and (node.kind == "untracked" or pair[0] == "other")]
    return tuple([pair for pair in replace(node, constants=tuple(given)).plain if not pair[0].endswith(_HELD_NOT)])
