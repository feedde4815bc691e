"""Reads traces as JSON: every field is checked, and nothing executed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import NODEFAULT, Struct, ValidationError, convert

from autograph_cli.graph.collector import resting
from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.ledger import Ledger
from autograph_cli.graph.records import (
    Allocation,
    Collective,
    DeviceMemory,
    Edge,
    Graph,
    Measured,
    Memory,
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
from autograph_cli.graph.trace_writer import FORMAT, HEADER, VERSION
from autograph_cli.graph.verifier import KINDS, verify

_TYPE = re.compile(r"([A-Za-z_]\w*)\[((?:(?:-1|\d{1,18})(?:, (?:-1|\d{1,18})){0,63})?)\](?:@([\w:.-]+))?", re.ASCII)
T = TypeVar("T")
Record = TypeVar("Record", bound=Struct)

Reader = Callable[[Any], T]
"""Takes a value and gives a record, or raises `Malformed`."""


def from_json(text: str, name: str = "the trace") -> Trace:
    """Read what `to_json` wrote; `name` is what errors call it.

    Raises `TraceError`: not a trace, truncated, of a newer version, or with a malformed part, which it names.
    """
    with resting():
        return trace_of(_parse(text, name), name)


def trace_of(data: dict[str, Any], name: str) -> Trace:
    """The trace that this JSON is, once it is known to be one; raises `TraceError`."""
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
        trace = _read_trace(body)
    except Malformed as error:
        raise TraceError(f"{name} is malformed: {error}.") from None
    except RecursionError:
        raise TraceError(f"{name} is malformed: it is nested too deeply.") from None
    for step in trace.steps:
        try:
            verify(step.graph)
            if step.double and isinstance(step.double.nodes, tuple):
                verify(step.double)
            for each in step.profile.allocations if step.profile else ():
                if each.node is not None and each.node >= len(step.graph):
                    raise GraphError(f"an allocation is of node {each.node}, and there are {len(step.graph)} nodes.")
        except GraphError as error:
            raise TraceError(f"{name} is malformed: step {step.number}: {error}") from None
    return trace


class Malformed(ValueError):
    """What is wrong with a value, and its position, which the readers around it put together."""

    def __init__(self, problem: str) -> None:
        self.problem, self.position = problem, ""

    def within(self, step: str) -> Malformed:
        """The same, seen from one step further out."""
        self.position = f"{step}.{self.position}" if self.position and self.position[0] != "[" else step + self.position
        return self

    def __str__(self) -> str:
        return f"{self.position or 'the trace'} {self.problem}"


def _parse(text: str, name: str) -> dict[str, Any]:
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise TraceError(f"{name} is empty, and not an autograph trace.")
    try:
        data = json.loads(start)
    except RecursionError:
        raise TraceError(f"{name} is not an autograph trace.") from None
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            raise TraceError(f"{name} is damaged: it has a number of too many digits.") from None
        if start.startswith(HEADER[: len(start)]):
            rest = start[error.pos :]
            # An open string or a number cut in two is reported where it starts; neither goes over a line's end.
            if "\n" not in rest.rstrip("\n"):
                line = start.count("\n") + 1
                raise TraceError(f"{name} is truncated: it ends in the middle, at line {line}.") from None
            raise TraceError(f"{name} is damaged: {error}.") from None
        raise TraceError(f"{name} is not an autograph trace.") from None
    if isinstance(data, dict) and "format" not in data and "nodes" in data:  # one graph alone
        step = {"number": 0, "graph": data}
        data = {"format": FORMAT, "version": VERSION, "script": "", "engine": "", "total_steps": 1, "steps": [step]}
        data["failure"] = ""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"{name} is not an autograph trace.")
    return data


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _need(good: bool, value: Any, wanted: str) -> None:
    if not good:
        raise Malformed(f"must be {wanted}, not {_shown(value)}")


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise Malformed(f"must be a string, not {_shown(value)}")


def _count(value: Any) -> int:
    if type(value) is int and 0 <= value < 1 << 63:
        return value
    large = " that 64 bits hold" if type(value) is int and value > 0 else ""
    raise Malformed(f"must be a whole number from 0{large}, not {_shown(value)}")


def _number(value: Any) -> float:
    if value in ("nan", "inf", "-inf"):
        return float(value)
    _need(type(value) in (int, float), value, "a number")
    return value  # type: ignore[no-any-return]


def _flag(value: Any) -> bool:
    _need(isinstance(value, bool), value, "true or false")
    return value  # type: ignore[no-any-return]


def _kind(value: Any) -> str:
    if type(value) is str and value in KINDS:
        return value
    raise Malformed(f"must be one of {', '.join(KINDS)}, not {_shown(value)}")


def _edge(value: Any) -> Edge:
    if type(value) is list and len(value) == 2:
        node, nr = value
        if type(node) is int and type(nr) is int and node >= 0 <= nr:
            return Edge(node, nr)
    raise Malformed(f"must be [node, output number], not {_shown(value)}")


def _constant(value: Any) -> tuple[str, str]:
    _need(type(value) is list and len(value) == 2, value, "[name, value]")
    return _text(value[0]), _text(value[1])


def _type(value: Any) -> TensorType:
    found = _type_of(value) if type(value) is str else None
    if found is None:
        raise Malformed(f'must be a type such as "float32[3, 4]", not {_shown(value)}')
    return found


@lru_cache(1 << 12)
def _type_of(text: str) -> TensorType | None:
    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    dtype, shape, device = match.groups()
    return TensorType(dtype, tuple(map(int, shape.split(", "))) if shape else (), device or "cpu")


_WRITTEN_OUT: dict[Reader[Any], str] = {
    _text: "{value} if type({value}) is str else {reader}({value})",
    _count: "{value} if type({value}) is int and 0 <= {value} < 1 << 63 else {reader}({value})",
}
"""What some readers do, as code in which they are called for the rest."""


def _optional(reader: Reader[T]) -> Reader[T | None]:
    def read(value: Any) -> T | None:
        return None if value is None else reader(value)

    _WRITTEN_OUT[read] = f"None if {{value}} is None else {_WRITTEN_OUT.get(reader, '{reader}({value})')}"
    return read


def _list(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(value: Any) -> tuple[T, ...]:
        if type(value) is not list:
            raise Malformed(f"must be a list, not {_shown(value)}")
        try:
            return tuple([reader(item) for item in value])
        except Malformed:
            return tuple([_reread(reader, item, f"[{index}]") for index, item in enumerate(value)])

    return read


_each_edge, _each_next = _list(_edge), _list(_optional(_edge))


def _edges(value: Any) -> tuple[Edge, ...]:
    """Edges, of which a trace has most."""
    try:
        if type(value) is list:
            return tuple(
                [
                    Edge(node, nr) if type(node) is int and type(nr) is int and node >= 0 <= nr else _edge((node, nr))
                    for node, nr in value
                ]
            )
    except (TypeError, ValueError):
        pass
    return _each_edge(value)


def _next(value: Any) -> tuple[Edge | None, ...]:
    return _each_next(value) if type(value) is list and None in value else _edges(value)


class Streamed:
    """Stands in JSON for nodes that were read, or counted, line by line."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes


def _nodes(reader: Reader[Node]) -> Reader[Sequence[Node]]:
    listed = _list(reader)
    return lambda value: (
        value[0].nodes if type(value) is list and value and type(value[0]) is Streamed else listed(value)
    )


def _reread(reader: Reader[T], value: Any, step: str) -> T:
    """What the reader gives, or the error that it raises, with this step added to its position."""
    try:
        return reader(value)
    except Malformed as error:
        raise error.within(step) from None


def _record(
    cls: type[Record], readers: dict[str, Reader[Any]], /, *, make: Callable[..., Record] | None = None, **renamed: str
) -> Reader[Record]:
    """A reader of one record; `renamed` are fields with another key in the text, and `make` makes it."""
    every = zip(cls.__struct_fields__, defaults_of(cls), strict=True)
    fields = {key: default for name, default in every if (key := renamed.get(name, name)) in readers}
    table = {key: (position, readers[key]) for position, key in enumerate(fields)}
    needed = {key for key, default in fields.items() if default is NODEFAULT}
    blank = list(fields.values())
    made = make or cls
    makers: dict[tuple[str, ...], Callable[..., Record]] = {}
    """By the keys of an object, in their order: what checks its values, and makes the record of them."""

    def read(value: Any) -> Record:
        if type(value) is dict:
            shape = tuple(value)
            maker = makers.get(shape)
            if maker is None and len(makers) < _SHAPES and needed <= value.keys() <= table.keys():
                maker = makers[shape] = _maker(made, blank, [table[key] for key in shape])
            if maker is not None:
                try:
                    return maker(*value.values())
                except Malformed:
                    pass
        return told(value)

    def told(value: Any) -> Record:
        """The same, field by field, so that an error says where it is."""
        if type(value) is not dict:
            raise Malformed(f"must be an object, not {_shown(value)}")
        if not needed <= value.keys():
            raise Malformed(f"has no {next(key for key in fields if key in needed - value.keys())!r}")
        found: list[Any] = blank.copy()
        key = ""
        try:
            for key, item in value.items():
                position, reader = table[key]
                found[position] = reader(item)
        except KeyError:
            raise Malformed(f"has the unknown field {key!r}") from None
        except Malformed as error:
            raise error.within(key) from None
        return made(*found)

    return read


def _maker(made: Callable[..., T], blank: Sequence[Any], given: Sequence[tuple[int, Reader[Any]]]) -> Callable[..., T]:
    """What makes a record of the values for these fields, written out: a trace has ten records for each node."""
    words = [f"blank[{position}]" for position in range(len(blank))]
    for place, (position, reader) in enumerate(given):
        code = _WRITTEN_OUT.get(reader, "{reader}({value})")
        words[position] = code.format(reader=f"readers[{place}]", value=f"v{place}")
    scope: dict[str, Any] = {"made": made, "blank": blank, "readers": [reader for _, reader in given]}
    names = ", ".join(f"v{place}" for place in range(len(given)))
    maker: Callable[..., T] = eval(f"lambda {names}: made({', '.join(words)})", scope)
    return maker


_SHAPES = 100
"""Sets of keys of which it is written out how a record of them is made."""

_read_source = _record(
    Source, {"file": _text, "line": _count, "text": _text, "function": _text}, make=lru_cache(1 << 14)(Source)
)
_read_saved = _record(
    Saved,
    {
        "name": _text,
        "type": _optional(_type),
        "value": _text,
        "bytes": _count,
        "storage": _optional(_count),
        "version": _count,
        "given": _flag,
    },
)
_read_output = _record(Output, {"type": _type, "names": _list(_text), "storage": _optional(_count)})
_read_values = _record(
    Values,
    {
        "whole": _list(_text),
        "low": _text,
        "mean": _text,
        "high": _text,
        "count": _count,
        "zeros": _count,
        "nans": _count,
        "bins": _list(_count),
        "norm": _text,
    },
)


_read_call = _record(
    ModuleCall,
    {
        "id": _count,
        "path": _text,
        "class": _text,
        "parent": _optional(_count),
        "turn": _count,
        "turns": _count,
        "parameters": _count,
    },
    cls="class",
)


def _readers(inside: Reader[Graph | None]) -> tuple[Reader[Node], Reader[Graph]]:
    """A reader of nodes and one of graphs; `inside` reads what ran inside of their nodes."""
    measured = _record(
        Measured,
        {
            "values": _list(_optional(_read_values)),
            "gradients": _list(_optional(_read_values)),
            "time": _optional(_count),
            "backward_time": _optional(_count),
            "formula": _list(_text),
            "inside": inside,
            "began": _optional(_count),
            "flops": _optional(_count),
            "runs": _list(_record(Run, {"began": _count, "time": _count, "flops": _count})),
            "error": _optional(_number),
            "wrong": _text,
            "nonfinite": _list(_count),
        },
    )
    node = _record(
        Node,
        {
            "id": _count,
            "kind": _kind,
            "name": _text,
            "op": _text,
            "outputs": _list(_read_output),
            "next": _next,
            "args": _edges,
            "order": _count,
            "parent": _optional(_count),
            "pass": _optional(_count),
            "source": _optional(_read_source),
            "module": _text,
            "saved": _list(_read_saved),
            "measured": _optional(measured),
            "call": _optional(_count),
            "constants": _list(_constant),
            "cut": _list(_count),
        },
        pass_id="pass",
    )
    entry = _record(
        Pass,
        {
            "id": _count,
            "call": _text,
            "order": _count,
            "create_graph": _flag,
            "roots": _edges,
            "source": _optional(_read_source),
            "ran": _list(_count),
            "inputs": _edges,
            "results": _next,
        },
    )
    root = _record(Root, {"name": _text, "node": _count, "nr": _count})
    calls = _list(_read_call)
    return node, _record(Graph, {"nodes": _nodes(node), "roots": _list(root), "passes": _list(entry), "calls": calls})


def _nothing(value: Any) -> None:
    _need(value is None, value, "null")


def _ledger(value: Any) -> Ledger:
    """The ledger of training, of which a trace has one."""
    try:
        found = convert(value, Ledger)
    except ValidationError as error:
        raise Malformed(f"is no ledger: {error}") from None
    problem = found.problem()
    if problem:
        raise Malformed(problem)
    return found


read_node, _read_graph = _readers(_optional(_readers(_nothing)[1]))
_held: dict[str, Reader[Any]] = {"parameters": _count, "gradients": _count, "optimizer": _count}
_read_memory = _record(Memory, {**_held, "devices": _list(_record(DeviceMemory, {"device": _text, **_held}))})
_read_allocation = _record(
    Allocation,
    {
        "bytes": _count,
        "began": _count,
        "ended": _optional(_count),
        "node": _optional(_count),
        "what": _text,
        "device": _text,
    },
)
_read_profile = _record(Profile, {"wall": _count, "measuring": _count, "allocations": _list(_read_allocation)})
_read_trace = _record(
    Trace,
    {
        "script": _text,
        "engine": _text,
        "total_steps": _count,
        "failure": _text,
        "failed_at": _optional(_read_source),
        "notices": _list(
            _record(Notice, {"kind": _text, "name": _text, "source": _optional(_read_source), "step": _count})
        ),
        "rank": _count,
        "ranks": _count,
        "collectives": _list(
            _record(
                Collective,
                {
                    "op": _text,
                    "sequence": _count,
                    "group": _text,
                    "ranks": _list(_count),
                    "bytes": _count,
                    "step": _count,
                    "source": _optional(_read_source),
                    "tensors": _list(_text),
                    "peer": _optional(_count),
                    "during": _optional(_count),
                },
            )
        ),
        "ledger": _optional(_ledger),
        "watched": _list(_record(Watched, {"name": _text, "kind": _text, "rows": _list(_list(_number))})),
        "steps": _list(
            _record(
                Step,
                {
                    "number": _count,
                    "graph": _read_graph,
                    "derived": _text,
                    "double": _optional(_read_graph),
                    "memory": _optional(_read_memory),
                    "profile": _optional(_read_profile),
                    "older": _count,
                },
            )
        ),
    },
)
