"""Writes traces and graphs as JSON, one node a line, in the form that docs/trace-format.md describes."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import to_builtins

from autograph_cli.graph.collector import resting
from autograph_cli.graph.records import (
    Allocation,
    Collective,
    Edge,
    Graph,
    Measured,
    Methods,
    ModuleCall,
    Node,
    Notice,
    Output,
    Pass,
    Profile,
    Root,
    Run,
    Saved,
    Source,
    Step,
    TensorType,
    Trace,
    Values,
    Watched,
    defaults_of,
)

BATCH = 1_000
"""Rows that are written, or read, at once."""
FORMAT, VERSION = "autograph-trace", 6
HEADER = f'{{"format": "{FORMAT}"'
_NOT_PRINTED = re.compile("[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Lone surrogates, and what a terminal could obey."""
_encode = json.JSONEncoder(ensure_ascii=False).encode
_quoted = lru_cache(1 << 14)(_encode)


@resting()
def to_json(trace: Trace) -> str:
    """Write the trace, as described in docs/trace-format.md; the same trace gives the same text.

    >>> from autograph_cli.graph import from_json
    >>> from_json(to_json(Trace("a.py"))) == Trace("a.py")
    True
    """
    return "".join(pieces(trace))


def pieces(trace: Trace) -> Iterator[str]:
    """What `to_json` writes, piece by piece."""
    head = [f'"version": {VERSION}', f'"script": {_encode(trace.script)}', f'"engine": {_encode(trace.engine)}']
    head += [f'"total_steps": {trace.total_steps}', f'"failure": {_encode(trace.failure)}']
    if trace.failed_at is not None:
        head.append(f'"failed_at": {_source(trace.failed_at)}')
    if trace.notices:
        head.append(f'"notices": {_list(map(_notice, trace.notices))}')
    if trace.watched:
        head.append(f'"watched": {_list(map(_watched, trace.watched))}')
    if trace.ranks > 1:
        head.append(f'"rank": {trace.rank}, "ranks": {trace.ranks}')
    if trace.collectives:
        head.append(f'"collectives": {_list(map(_collective, trace.collectives))}')
    if trace.ledger is not None:
        head.append(f'"ledger": {_encode(to_builtins(trace.ledger))}')
    yield _escaped(f'{HEADER}, {", ".join(head)},\n"steps": [\n')
    for number, step in enumerate(trace.steps):
        yield ",\n" * bool(number)
        yield from map(_escaped, _step(step))
    yield "\n]}\n"


@resting()
def graph_to_json(graph: Graph) -> str:
    """Write one graph alone, in the form that it has inside a step of a trace."""
    return f"{{{''.join(map(_escaped, _graph(graph)))}}}\n"


Methods.to_json = graph_to_json


def _escaped(text: str) -> str:
    if text.isascii():
        return text
    return _NOT_PRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _notice(notice: Notice) -> str:
    source = f', "source": {_source(notice.source)}' if notice.source else ""
    return f'{{"kind": {_encode(notice.kind)}, "name": {_encode(notice.name)}, "step": {notice.step}{source}}}'


def _collective(each: Collective) -> str:
    row = _filled(each)
    return _encode(row | ({"source": json.loads(_source(each.source))} if each.source else {}))


def _watched(watched: Watched) -> str:
    rows = [[x if math.isfinite(x) else str(x) for x in row] for row in watched.rows]
    return f'{{"name": {_encode(watched.name)}, "kind": {_encode(watched.kind)}, "rows": {_encode(rows)}}}'


def _step(step: Step) -> Iterator[str]:
    derived = f', "derived": {_encode(step.derived)}' if step.derived else ""
    held = {} if step.memory is None else to_builtins(step.memory)
    if not held.get("devices"):
        held.pop("devices", None)
    memory = f', "memory": {_encode(held)}' if held else ""
    older = f', "older": {step.older}' if step.older else ""
    profile = f',\n"profile": {_profile(step.profile)}' if step.profile else ""
    yield f'{{"number": {step.number}{derived}{memory}{older}{profile}, "graph": {{'
    yield from _graph(step.graph)
    if step.double:
        yield '},\n"double": {'
        yield from _graph(step.double)
    yield "}}"


def _profile(profile: Profile) -> str:
    rows = "".join(_rows("allocations", (_encode(_filled(each)) for each in profile.allocations)))
    return f'{{"wall": {profile.wall}, "measuring": {profile.measuring}, {rows}}}'


def _graph(graph: Graph) -> Iterator[str]:
    yield from _rows("nodes", map(write_node, graph.nodes))
    yield ",\n"
    yield from _rows("roots", map(_root, graph.roots))
    yield ",\n"
    yield from _rows("passes", map(_pass, graph.passes))
    if graph.calls:
        yield ",\n"
        yield from _rows("calls", map(_call, graph.calls))


def _rows(name: str, rows: Iterator[str]) -> Iterator[str]:
    between = f'"{name}": [\n  '
    while some := list(itertools.islice(rows, BATCH)):
        yield between + ",\n  ".join(some)
        between = ",\n  "
    yield f'"{name}": []' if between[0] == '"' else "\n]"


def write_node(node: Node) -> str:
    """One node as JSON: what has its default is left out."""
    outputs = ", ".join(map(_output, node.outputs))
    text = f'{{"id": {node.id}, {_head(node.kind, node.name, node.op)}, "outputs": [{outputs}]'
    following, args = node.next, node.args
    edges = _edges(following) if following else ""
    if edges:
        text += f', "next": {edges}'
    if args:
        text += f', "args": {edges if args is following else _edges(args)}'
    if node.pass_id is not None:
        parent = "null" if node.parent is None else node.parent
        text += f', "order": {node.order}, "parent": {parent}, "pass": {node.pass_id}'
    if node.source:
        text += f', "source": {_source(node.source)}'
    if node.module:
        text += f', "module": {_quoted(node.module)}'
    if node.saved:
        text += f', "saved": [{", ".join(map(_saved, node.saved))}]'
    if node.measured:
        text += f', "measured": {_measured(node.measured)}'
    if node.call is not None:
        text += f', "call": {node.call}'
    if node.constants:
        text += f', "constants": {_encode(node.constants)}'
    if node.cut:
        text += f', "cut": {_encode(node.cut)}'
    return text + "}"


@lru_cache(1 << 12)
def _head(kind: str, name: str, op: str) -> str:
    return f'"kind": {_encode(kind)}, "name": {_encode(name)}, "op": {_encode(op)}'


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _edges(edges: Sequence[Edge | None]) -> str:
    if len(edges) == 1 and (only := edges[0]) is not None:  # mostly
        return f"[[{only.node}, {only.nr}]]"
    return f"[{', '.join(['null' if edge is None else f'[{edge.node}, {edge.nr}]' for edge in edges])}]"


def _edges_of(name: str, edges: tuple[Edge | None, ...]) -> str:
    return f', "{name}": {_edges(edges)}' if edges else ""


def _type(type_: TensorType) -> str:
    return _type_text(type_.dtype, type_.shape, type_.device)


@lru_cache(1 << 12)
def _type_text(dtype: str, shape: tuple[int, ...], device: str) -> str:
    return _encode(str(TensorType(dtype, shape, device)))


def _output(output: Output) -> str:
    names = f', "names": {_encode(output.names)}' if output.names else ""
    storage = "" if output.storage is None else f', "storage": {output.storage}'
    return f'{{"type": {_type(output.type)}{names}{storage}}}'


def _measured(measured: Measured) -> str:
    row = _filled(measured)
    row.pop("inside", None)
    if "runs" in row:
        row["runs"] = list(map(_filled, row["runs"]))
    for key in ("values", "gradients"):
        if key in row:
            row[key] = [None if values is None else _filled(values) for values in row[key]]
    parts = [f'"{key}": {_encode(value)}' for key, value in row.items()]
    if measured.inside is not None:
        inside = measured.inside
        nodes, roots = _list(map(write_node, inside.nodes)), _list(map(_root, inside.roots))
        passes = _list(map(_pass, inside.passes))
        parts.append(f'"inside": {{"nodes": {nodes}, "roots": {roots}, "passes": {passes}}}')
    return f"{{{', '.join(parts)}}}"


def _filled(record: Measured | Values | Run | Allocation | Collective) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    every = zip(record.__struct_fields__, defaults_of(type(record)), strict=True)
    return {name: value for name, default in every if (value := getattr(record, name)) != default}


def _source(source: Source) -> str:
    return _source_text(source.file, source.line, source.text, source.function)


@lru_cache(1 << 14)
def _source_text(file: str, line: int, text: str, function: str) -> str:
    row: dict[str, Any] = {"file": file, "line": line}
    return _encode(row | {key: value for key, value in (("text", text), ("function", function)) if value})


def _saved(saved: Saved) -> str:
    if saved.type is None:
        return f'{{"name": {_quoted(saved.name)}, "value": {_quoted(saved.value)}}}'
    storage = "" if saved.storage is None else f', "storage": {saved.storage}'
    version = f', "version": {saved.version}' if saved.version else ""
    given = ', "given": true' if saved.given else ""
    head = f'{{"name": {_quoted(saved.name)}, "type": {_type(saved.type)}, "bytes": {saved.bytes}'
    return f"{head}{storage}{version}{given}}}"


def _root(root: Root) -> str:
    return f'{{"name": {_encode(root.name)}, "node": {root.node}, "nr": {root.nr}}}'


def _pass(entry: Pass) -> str:
    source = f', "source": {_source(entry.source)}' if entry.source else ""
    return (
        f'{{"id": {entry.id}, "call": {_encode(entry.call)}, "order": {entry.order}, '
        f'"create_graph": {_encode(entry.create_graph)}, "roots": {_edges(entry.roots)}{source}, '
        f'"ran": {_encode(entry.ran)}{_edges_of("inputs", entry.inputs)}{_edges_of("results", entry.results)}}}'
    )


def _call(call: ModuleCall) -> str:
    row: dict[str, Any] = {"id": call.id, "path": call.path, "class": call.cls, "parent": call.parent}
    if call.turns > 1:
        row |= {"turn": call.turn, "turns": call.turns}
    return _encode(row | {"parameters": call.parameters})
