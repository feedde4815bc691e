"""Traces in files: written and read as they stream, compressed or not, so that nothing is in memory twice."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import IO, Any

from msgspec.structs import force_setattr

from autograph_cli.graph.collector import resting
from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.records import Graph, Node
from autograph_cli.graph.trace import Trace
from autograph_cli.graph.trace_json import checked, decoded, from_json, trace_of
from autograph_cli.graph.trace_writer import BATCH, FORMAT, pieces
from autograph_cli.graph.verifier import verify

_MAGIC = b"\x1f\x8b"
"""The first bytes of a gzip file."""
MOST_PACKED = 100
"""The most that unpacking may multiply the size of a trace; traces of loops, the most alike, have 30."""
_SMALL, _BLOCK = 1 << 24, 1 << 20
_GRAPHS = ("graph", "double")
"""The graphs of a step."""
_NODES = b'"nodes": [\n', b'"nodes": [],\n'
_BEGIN = re.compile(rb'"(graph|double)": \{"nodes": \[(\],)?\n$')
_ROW = b'  {"id": '


def write_trace(trace: Trace, file: IO[bytes], *, compressed: bool = False) -> None:
    """Write the trace as JSON, as described in docs/trace-format.md, compressed by gzip if that is asked for."""
    level = 1 if sum(_paths(trace)) < _SMALL // 2 else 0
    packed = gzip.GzipFile("", "wb", level, file, 0) if compressed else nullcontext(file)
    with resting(), packed as out:
        for piece in pieces(trace):
            out.write(piece)


def _paths(trace: Trace) -> Iterator[int]:
    """The lengths of the paths of modules: of modules thousands deep in one another they would pack too well, see
    `check_unpacked`."""
    for step in trace.steps:
        for graph in (step.graph, step.double):
            yield from (len(call.path) for call in graph.calls) if graph is not None else ()


def read_trace(data: bytes, name: str = "the trace") -> Trace:
    """Read what `write_trace` wrote; `name` is what errors call it.

    The nodes of a double-backward graph are read when they are first looked at. Raises `TraceError`, then too: not a
    trace, truncated, of a newer version, or with a malformed part, which it names.

    >>> file = io.BytesIO()
    >>> write_trace(Trace("a.py"), file, compressed=True)
    >>> read_trace(file.getvalue()) == Trace("a.py")
    True
    """
    try:
        with resting():
            return _streamed(data, name)
    except (ValueError, RecursionError):  # of another layout, or wrong: to say what, it is read as a whole
        return from_json(_text(data, name), name)


def check_unpacked(packed: int, unpacked: int, name: str) -> None:
    """Raise `TraceError` for what cannot be a trace, being so much larger than its packed form."""
    if unpacked > _SMALL + MOST_PACKED * packed:
        raise TraceError(f"{name} is no trace: it unpacks to more than {MOST_PACKED} times its size.")


class _Packed(gzip.GzipFile):
    """The unpacked text of a trace, in blocks, as long as it can be one: see `check_unpacked`."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(fileobj=io.BytesIO(data))
        self._size, self._what = len(data), name

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(_BLOCK if size is None or size < 0 else min(size, _BLOCK))
        check_unpacked(self._size, self.tell(), self._what)
        return found


def _open(data: bytes, name: str) -> IO[bytes]:
    return io.BufferedReader(_Packed(data, name), _BLOCK) if data.startswith(_MAGIC) else io.BytesIO(data)


def _text(data: bytes, name: str) -> str:
    try:
        with _open(data, name) as file:
            return file.read().decode("utf-8", errors="replace")
    except EOFError:
        raise TraceError(f"{name} is truncated: it ends in the middle.") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"{name} is damaged: {error}.") from None


def _streamed(data: bytes, name: str) -> Trace:
    """The trace, its nodes read line by line and the rest as a whole; raises ValueError where it is not laid out so."""
    rest = bytearray()
    found: list[tuple[str, Sequence[Node]]] = []
    try:
        with _open(data, name) as lines:
            for line in lines:
                rest += line
                if line.endswith(_NODES) and (begin := _BEGIN.search(line)):
                    graph = begin[1].decode()
                    if begin[2]:
                        found.append((graph, ()))
                        continue
                    rows = _Rows(lines)
                    lazy = graph == "double" and not begin.start()
                    found.append((graph, _Unread(data, lines.tell(), rows, name) if lazy else _nodes(rows)))
                    rest += rows.end
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError from error
    head = decoded(bytes(rest), dict[str, Any])
    if head.get("format") != FORMAT:
        raise ValueError
    trace = trace_of(head, name)
    graphs = [(key, graph) for step in trace.steps for key in _GRAPHS if (graph := getattr(step, key)) is not None]
    if [key for key, _ in graphs] != [key for key, _ in found]:
        raise ValueError
    for (_, graph), (_, nodes) in zip(graphs, found, strict=True):
        force_setattr(graph, "nodes", nodes)
        if isinstance(nodes, _Unread):
            nodes.graph = graph
    return checked(trace, name)


class _Rows:
    """The lines from here on that are nodes; then `end` is the line after them."""

    def __init__(self, lines: IO[bytes]) -> None:
        self.lines = lines
        self.end = b""

    def __iter__(self) -> Iterator[bytes]:
        for line in self.lines:
            if not line.startswith(_ROW):
                self.end = line
                return
            yield line

    def count(self) -> int:
        """Return how many there are; they are passed over."""
        count = 0
        for line in self.lines:
            if not line.startswith(_ROW):
                self.end = line
                break
            count += 1
        return count


def _nodes(rows: _Rows) -> tuple[Node, ...]:
    """The nodes of these lines; raises ValueError where one is none."""
    nodes: list[Node] = []
    same: dict[Any, Any] = {}
    last: dict[str, Node] = {}
    lines = iter(rows)
    batch = list(itertools.islice(lines, BATCH))
    while batch:
        following = list(itertools.islice(lines, BATCH))
        text = b"".join(batch)
        if following:
            if not text.endswith(b",\n"):
                raise ValueError
            text = text[:-2]
        for node in decoded(b"[" + text + b"]", tuple[Node, ...]):
            _share(node, same, last)
            nodes.append(node)
        batch = following
    return tuple(nodes)


def _share(node: Node, same: dict[Any, Any], last: dict[str, Node]) -> None:
    """Let a node hold what is equal in others as one object: lines and names; edges, and what it makes and keeps, where
    the last one of its name has the same; and its edges, where they are its arguments."""
    for field in ("source", "name", "op"):
        value = getattr(node, field)
        force_setattr(node, field, same.setdefault(value, value))
    before = last.get(node.name)
    last[node.name] = node
    for field in ("outputs", "next", "saved", "constants") if before is not None else ():
        value, known = getattr(node, field), getattr(before, field)
        if value == known:
            force_setattr(node, field, known)
        elif len(value) > 1 and len(value) == len(known):
            force_setattr(node, field, tuple([b if a == b else a for a, b in zip(value, known, strict=True)]))
    for saved in node.saved:
        force_setattr(saved, "name", same.setdefault(saved.name, saved.name))
    following = (
        node.next if len(node.next) == len(node.args) else tuple([edge for edge in node.next if edge is not None])
    )
    if node.args == following:
        force_setattr(node, "args", following)


class _Unread(Sequence[Node]):
    """The nodes of a graph, counted, and read when they are first looked at."""

    graph: Graph

    def __init__(self, data: bytes, start: int, rows: _Rows, name: str) -> None:
        self.data, self.start, self.name = data, start, name
        self.length = rows.count()

    def read(self) -> Sequence[Node]:
        """The nodes, which the graph has from now on; raises `TraceError` where one is malformed."""
        if self.graph.nodes is self:
            try:
                with resting(), _open(self.data, self.name) as lines:
                    lines.seek(self.start)
                    force_setattr(self.graph, "nodes", _nodes(_Rows(lines)))
                    verify(self.graph)
            except (ValueError, GraphError):
                from_json(_text(self.data, self.name), self.name)  # says what is wrong
                raise TraceError(f"{self.name} is damaged.") from None
        return self.graph.nodes

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        return self.read()[index]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.read())

    def __eq__(self, other: object) -> bool:
        return self.read() == other

    def __hash__(self) -> int:
        return hash(self.read())
