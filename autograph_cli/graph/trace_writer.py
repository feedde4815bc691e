"""Writes traces and graphs as JSON, one node a line, in the form that docs/trace-format.md describes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from autograph_cli.graph.collector import resting
from autograph_cli.graph.records import Graph, Record
from autograph_cli.graph.trace import Profile, Step, Trace

BATCH = 1_000
"""Rows that are written, or read, at once."""
FORMAT, VERSION = "autograph-trace", 7
HEADER = f'{{"format": "{FORMAT}"'
_NOT_PRINTED = re.compile("[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Lone surrogates, and what a terminal could obey."""


@resting()
def to_json(trace: Trace) -> str:
    """Write the trace, as described in docs/trace-format.md; the same trace gives the same text.

    >>> from autograph_cli.graph import from_json
    >>> from_json(to_json(Trace("a.py"))) == Trace("a.py")
    True
    """
    return b"".join(pieces(trace)).decode()


def pieces(trace: Trace) -> Iterator[bytes]:
    """Yield what `to_json` writes, piece by piece."""
    always = {key: getattr(trace, key) for key in ("script", "engine", "total_steps", "failure")}
    yield b'%s, %s,\n"steps": [\n' % (
        HEADER.encode(),
        encoded({"version": VERSION} | always | plain(replace(trace, steps=())))[1:-1],
    )
    for number, step in enumerate(trace.steps):
        yield b",\n" * bool(number)
        yield from _step(step)
    yield b"\n]}\n"


@resting()
def graph_to_json(graph: Graph) -> str:
    """Write one graph alone, in the form that it has inside a step of a trace."""
    return (b"".join(_graph(graph)) + b"\n").decode()


def encoded(value: Any) -> bytes:
    """Return a record, or what `plain` makes of one, as JSON on one line."""
    try:
        text = msgspec.json.format(_encoder.encode(value), indent=0)
    except UnicodeEncodeError:  # of a lone surrogate
        text = json.dumps(plain(value), ensure_ascii=False).encode("utf-8", "surrogatepass")
    if text.isascii():
        return text
    words = text.decode("utf-8", "surrogatepass")
    return _NOT_PRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", words).encode()


def plain(value: Any) -> Any:
    """Return a record as the objects, lists, texts and numbers that its JSON has."""
    return msgspec.to_builtins(value, enc_hook=_plain)


def _plain(value: Any) -> str | float:
    if isinstance(value, str):
        return str(value)  # of a type
    if not isinstance(value, float):
        raise TypeError(f"a trace cannot have {value!r}")
    if value.is_integer():
        return int(value)
    return float(value) if value - value == 0 else str(float(value))


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_BREAK = {"": 0}
"""Stands between records that go on lines of their own: no record has a field without a name."""
_BETWEEN = b', {"": 0}, '


def _step(step: Step) -> Iterator[bytes]:
    about = plain(replace(step, graph=Graph(), double=None, profile=None))
    del about["graph"]
    yield encoded(about)[:-1]
    if step.profile:
        yield b',\n"profile": '
        yield from _profile(step.profile)
    yield b', "graph": '
    yield from _graph(step.graph)
    if step.double:
        yield b',\n"double": '
        yield from _graph(step.double)
    yield b"}"


def _profile(profile: Profile) -> Iterator[bytes]:
    yield encoded(replace(profile, allocations=()))[:-1] + b", "
    yield from _rows(b"allocations", profile.allocations)
    yield b"}"


def _graph(graph: Graph) -> Iterator[bytes]:
    yield b"{"
    yield from _rows(b"nodes", graph.nodes)
    yield b",\n"
    yield from _rows(b"roots", graph.roots)
    yield b",\n"
    yield from _rows(b"passes", graph.passes)
    if graph.calls:
        yield b",\n"
        yield from _rows(b"calls", graph.calls)
    yield b"}"


def _rows(name: bytes, records: Sequence[Record]) -> Iterator[bytes]:
    """Yield a list, one record a line."""
    between = b'"%s": [\n  ' % name
    rest = iter(records)
    while some := list(itertools.islice(rest, BATCH)):
        lines = encoded(list(itertools.chain.from_iterable(zip(some, itertools.repeat(_BREAK)))))
        yield between + lines[1 : -len(_BETWEEN) + 1].replace(_BETWEEN, b",\n  ")
        between = b",\n  "
    yield b"\n]" if records else b'"%s": []' % name
