"""Traces as JSON: written with one node a line, read with every field checked and nothing executed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, asdict, fields
from typing import Any, TypeVar

from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.records import (
    Edge,
    Graph,
    Measured,
    Memory,
    ModuleCall,
    Node,
    Output,
    Pass,
    Root,
    Saved,
    Source,
    Step,
    TensorType,
    Trace,
    Values,
)
from autograph_cli.graph.verifier import KINDS, verify

FORMAT, VERSION = "autograph-trace", 2
_HEADER = f'{{"format": "{FORMAT}"'
_TYPE = re.compile(r"([A-Za-z_]\w*)\[((?:\d{1,18}(?:, \d{1,18})*)?)\](?:@(\S+))?")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = json.JSONEncoder(ensure_ascii=False).encode
T = TypeVar("T")


# Writing


def to_json(trace: Trace) -> str:
    """Write the trace, as described in docs/trace-format.md; the same trace gives the same text.

    >>> from_json(to_json(Trace("a.py"))) == Trace("a.py")
    True
    """
    head = [f'"version": {VERSION}', f'"script": {_encode(trace.script)}', f'"engine": {_encode(trace.engine)}']
    head += [f'"total_steps": {trace.total_steps}', f'"failure": {_encode(trace.failure)}']
    steps = ",\n".join(_step(step) for step in trace.steps)
    return _escaped(f'{_HEADER}, {", ".join(head)},\n"steps": [\n{steps}\n]}}\n')


def graph_to_json(graph: Graph) -> str:
    """Write one graph alone, in the form that it has inside a step of a trace."""
    return _escaped(f"{{{_graph(graph)}}}\n")


def _escaped(text: str) -> str:
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _step(step: Step) -> str:
    derived = f', "derived": {_encode(step.derived)}' if step.derived else ""
    double = f',\n"double": {{{_graph(step.double)}}}' if step.double else ""
    memory = f', "memory": {_encode(asdict(step.memory))}' if step.memory else ""
    return f'{{"number": {step.number}{derived}{memory}, "graph": {{{_graph(step.graph)}}}{double}}}'


def _graph(graph: Graph) -> str:
    parts = [
        _rows("nodes", map(_node, graph.nodes)),
        _rows("roots", map(_root, graph.roots)),
        _rows("passes", map(_pass, graph.passes)),
    ]
    return ",\n".join([*parts, _rows("calls", map(_call, graph.calls))] if graph.calls else parts)


def _rows(name: str, rows: Iterable[dict[str, Any]]) -> str:
    lines = ",\n  ".join([_encode(row) for row in rows])
    return f'"{name}": [\n  {lines}\n]' if lines else f'"{name}": []'


def _root(root: Root) -> dict[str, Any]:
    return {"name": root.name, "node": root.node, "nr": root.nr}


def _node(node: Node) -> dict[str, Any]:
    row: dict[str, Any] = {"id": node.id, "kind": node.kind, "name": node.name, "op": node.op}
    row["outputs"] = [_output(output) for output in node.outputs]
    if node.next:
        row["next"] = [None if edge is None else (edge.node, edge.nr) for edge in node.next]
    if node.args:
        row["args"] = [(edge.node, edge.nr) for edge in node.args]
    if node.pass_id is not None:
        row |= {"order": node.order, "parent": node.parent, "pass": node.pass_id}
    if node.source:
        row["source"] = _source(node.source)
    if node.module:
        row["module"] = node.module
    if node.saved:
        row["saved"] = [_saved(saved) for saved in node.saved]
    if node.measured:
        row["measured"] = _measured(node.measured)
    if node.call is not None:
        row["call"] = node.call
    return row


def _output(output: Output) -> dict[str, Any]:
    row: dict[str, Any] = {"type": str(output.type)}
    if output.names:
        row["names"] = output.names
    if output.storage is not None:
        row["storage"] = output.storage
    return row


def _measured(measured: Measured) -> dict[str, Any]:
    row = _filled(measured)
    for key in ("values", "gradients"):
        if key in row:
            row[key] = [None if values is None else _filled(values) for values in row[key]]
    if measured.inside is not None:
        row["inside"] = {
            "nodes": [_node(node) for node in measured.inside.nodes],
            "roots": [_root(root) for root in measured.inside.roots],
            "passes": [_pass(entry) for entry in measured.inside.passes],
        }
    return row


def _filled(record: Measured | Values) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    pairs = ((field, getattr(record, field.name)) for field in fields(record))
    return {field.name: value for field, value in pairs if value != field.default}


def _source(source: Source) -> dict[str, Any]:
    row: dict[str, Any] = {"file": source.file, "line": source.line}
    return row | {key: value for key, value in (("text", source.text), ("function", source.function)) if value}


def _saved(saved: Saved) -> dict[str, Any]:
    row: dict[str, Any] = {"name": saved.name}
    if saved.type is None:
        return row | {"value": saved.value}
    row |= {"type": str(saved.type), "bytes": saved.bytes}
    row |= {} if saved.storage is None else {"storage": saved.storage}
    return row | {"version": saved.version} if saved.version else row


def _pass(entry: Pass) -> dict[str, Any]:
    row: dict[str, Any] = {"id": entry.id, "call": entry.call, "order": entry.order, "create_graph": entry.create_graph}
    row["roots"] = [(edge.node, edge.nr) for edge in entry.roots]
    if entry.source:
        row["source"] = _source(entry.source)
    return row | {"ran": entry.ran}


def _call(call: ModuleCall) -> dict[str, Any]:
    row: dict[str, Any] = {"id": call.id, "path": call.path, "class": call.cls, "parent": call.parent}
    if call.turns > 1:
        row |= {"turn": call.turn, "turns": call.turns}
    return row | {"parameters": call.parameters}


# Reading: a reader takes a value and its place in the text, and gives a record or says what is wrong there.

Reader = Callable[[Any, str], T]


def from_json(text: str, name: str = "the trace") -> Trace:
    """Read what `to_json` wrote; `name` is what errors call it.

    Raises `TraceError`: not a trace, truncated, of a newer version, or with a malformed part, which it names.
    """
    data = _parse(text, name)
    version = data.get("version")
    if type(version) is int and version > VERSION:
        raise TraceError(
            f"{name} has version {version}, and this autograph reads up to version {VERSION}: "
            "a newer autograph wrote it."
        )
    if type(version) is not int or version < 1:
        raise TraceError(f"{name} is malformed: version must be a whole number from 1, not {_shown(version)}.")
    body = {key: value for key, value in data.items() if key not in ("format", "version")}
    try:
        trace = _read_trace(body, "")
    except _Malformed as error:
        raise TraceError(f"{name} is malformed: {error}.") from None
    for step in trace.steps:
        try:
            verify(step.graph)
            if step.double:
                verify(step.double)
        except GraphError as error:
            raise TraceError(f"{name} is malformed: step {step.number}: {error}") from None
    return trace


class _Malformed(Exception):
    pass


def _parse(text: str, name: str) -> dict[str, Any]:
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise TraceError(f"{name} is empty, and not an autograph trace.")
    try:
        data = json.loads(start)
    except RecursionError:
        raise TraceError(f"{name} is not an autograph trace.") from None
    except ValueError as error:
        if start.startswith(_HEADER[: len(start)]):
            rest = start[error.pos :] if isinstance(error, json.JSONDecodeError) else "?"
            # An open string or a number cut in two is reported where it starts; neither goes over a line's end.
            if "\n" not in rest.rstrip("\n"):
                line = start.count("\n") + 1
                raise TraceError(f"{name} is truncated: it ends in the middle, at line {line}.") from None
            raise TraceError(f"{name} is damaged: {error}.") from None
        raise TraceError(f"{name} is not an autograph trace.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"{name} is not an autograph trace.")
    return data


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _need(good: bool, value: Any, place: str, wanted: str) -> None:
    if not good:
        raise _Malformed(f"{place or 'the trace'} must be {wanted}, not {_shown(value)}")


def _text(value: Any, place: str) -> str:
    _need(isinstance(value, str), value, place, "a string")
    return value  # type: ignore[no-any-return]


def _count(value: Any, place: str) -> int:
    _need(type(value) is int and value >= 0, value, place, "a whole number from 0")
    return value  # type: ignore[no-any-return]


def _flag(value: Any, place: str) -> bool:
    _need(isinstance(value, bool), value, place, "true or false")
    return value  # type: ignore[no-any-return]


def _kind(value: Any, place: str) -> str:
    _need(value in KINDS, value, place, f"one of {', '.join(KINDS)}")
    return value  # type: ignore[no-any-return]


def _edge(value: Any, place: str) -> Edge:
    good = isinstance(value, list) and len(value) == 2 and all(type(part) is int and part >= 0 for part in value)
    _need(good, value, place, "[node, output number]")
    return Edge(value[0], value[1])


def _type(value: Any, place: str) -> TensorType:
    match = _TYPE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _Malformed(f'{place} must be a type such as "float32[3, 4]", not {_shown(value)}')
    dtype, shape, device = match.groups()
    return TensorType(dtype, tuple(map(int, shape.split(", "))) if shape else (), device or "cpu")


def _optional(reader: Reader[T]) -> Reader[T | None]:
    return lambda value, place: None if value is None else reader(value, place)


def _list(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(value: Any, place: str) -> tuple[T, ...]:
        _need(isinstance(value, list), value, place, "a list")
        return tuple([reader(item, f"{place}[{index}]") for index, item in enumerate(value)])

    return read


def _record(cls: type[T], readers: dict[str, Reader[Any]], /, **renamed: str) -> Reader[T]:
    """A reader of one record; `renamed` are fields with another key in the text."""
    key_of = {field.name: renamed.get(field.name, field.name) for field in fields(cls)}  # type: ignore[arg-type]
    field_of = {key: field for field, key in key_of.items()}
    needed = [key_of[field.name] for field in fields(cls) if field.default is MISSING]  # type: ignore[arg-type]

    def read(value: Any, place: str) -> T:
        _need(isinstance(value, dict), value, place, "an object")
        for key in needed:
            if key not in value:
                raise _Malformed(f"{place or 'the trace'} has no {key!r}")
        prefix = f"{place}." if place else ""
        found = {}
        for key, item in value.items():
            if key not in field_of:
                raise _Malformed(f"{place or 'the trace'} has the unknown field {key!r}")
            found[field_of[key]] = readers[key](item, prefix + key)
        return cls(**found)

    return read


_read_source = _record(Source, {"file": _text, "line": _count, "text": _text, "function": _text})
_read_saved = _record(
    Saved,
    {
        "name": _text,
        "type": _optional(_type),
        "value": _text,
        "bytes": _count,
        "storage": _optional(_count),
        "version": _count,
    },
)
_read_output = _record(Output, {"type": _type, "names": _list(_text), "storage": _optional(_count)})
_read_values = _record(
    Values,
    {
        "whole": _list(_text), "low": _text, "mean": _text, "high": _text, "count": _count, "zeros": _count,
        "nans": _count, "bins": _list(_count),
    },
)  # fmt: skip


_read_call = _record(
    ModuleCall,
    {
        "id": _count, "path": _text, "class": _text, "parent": _optional(_count), "turn": _count, "turns": _count,
        "parameters": _count,
    },
    cls="class",
)  # fmt: skip


def _graph_reader(inside: Reader[Graph | None]) -> Reader[Graph]:
    """A reader of graphs; `inside` reads what ran inside of their nodes."""
    measured = _record(
        Measured,
        {
            "values": _list(_optional(_read_values)), "gradients": _list(_optional(_read_values)),
            "time": _optional(_count), "backward_time": _optional(_count), "formula": _list(_text), "inside": inside,
        },
    )  # fmt: skip
    node = _record(
        Node,
        {
            "id": _count, "kind": _kind, "name": _text, "op": _text, "outputs": _list(_read_output),
            "next": _list(_optional(_edge)), "args": _list(_edge), "order": _count, "parent": _optional(_count),
            "pass": _optional(_count), "source": _optional(_read_source), "module": _text,
            "saved": _list(_read_saved), "measured": _optional(measured), "call": _optional(_count),
        },
        pass_id="pass",
    )  # fmt: skip
    entry = _record(
        Pass,
        {
            "id": _count, "call": _text, "order": _count, "create_graph": _flag, "roots": _list(_edge),
            "source": _optional(_read_source), "ran": _list(_count),
        },
    )  # fmt: skip
    root = _record(Root, {"name": _text, "node": _count, "nr": _count})
    calls = _list(_read_call)
    return _record(Graph, {"nodes": _list(node), "roots": _list(root), "passes": _list(entry), "calls": calls})


def _nothing(value: Any, place: str) -> None:
    _need(value is None, value, place, "null")


_read_graph = _graph_reader(_optional(_graph_reader(_nothing)))
_read_memory = _record(
    Memory, {"parameters": _count, "gradients": _count, "optimizer": _count}
)
_read_trace = _record(
    Trace,
    {
        "script": _text,
        "engine": _text,
        "total_steps": _count,
        "failure": _text,
        "steps": _list(
            _record(
                Step,
                {
                    "number": _count, "graph": _read_graph, "derived": _text, "double": _optional(_read_graph),
                    "memory": _optional(_read_memory),
                },
            )
        ),
    },
)
