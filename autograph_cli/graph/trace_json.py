"""Reads traces as JSON: every field is checked, and nothing executed."""

from __future__ import annotations

import json
import re
import threading
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from autograph_cli.graph.collector import resting
from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.records import Number, TensorType
from autograph_cli.graph.trace import Step, Trace
from autograph_cli.graph.trace_writer import FORMAT, HEADER, VERSION
from autograph_cli.graph.verifier import KINDS, verify

_SIDE = r"(?:-1|[0-9]{1,18})"
TYPE = rf"([A-Za-z_][A-Za-z0-9_]*)\[((?:{_SIDE}(?:, {_SIDE}){{0,63}})?)\](?:@([A-Za-z0-9_:.-]+))?"
"""The text of a type: dtype, shape and device."""
_STEP_IN = re.compile(r"\.?(\w+)|\[(\d+)\]")
_WORDS = {
    "Object missing required field `(.*)`": r"has no '\1'",
    "Object contains unknown field `(.*)`": r"has the unknown field '\1'",
    "Invalid enum value .*": f"must be one of {', '.join(KINDS)}",
    "Expected (.*?)(, got .*)?$": r"must be \1",
    r" \| ": "` or `",
    "`int`( >= 0)?": "a whole number from 0",
    f" <= {(1 << 63) - 1}": " that 64 bits hold",
    "`str`": "a string",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
}
"""The messages of msgspec, and those on a trace that stand for them."""
_ONE = threading.RLock()
"""One thread converts at a time: msgspec learns the classes at first, and crashes where two threads make it do so."""
T = TypeVar("T")


def from_json(text: str, name: str = "the trace") -> Trace:
    """Read what `to_json` wrote; `name` is what errors call it.

    Raises `TraceError`: not a trace, truncated, of a newer version, or with a malformed part, which it names.
    """
    with resting():
        return checked(trace_of(_parse(text, name), name), name)


def trace_of(data: dict[str, Any], name: str) -> Trace:
    """Return the trace that this JSON is, its graphs not checked yet; raises `TraceError`."""
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
        with _ONE:
            return msgspec.convert(body, Trace, dec_hook=_special)
    except msgspec.ValidationError as error:
        raise TraceError(f"{name} is malformed: {_problem(str(error), body)}.") from None
    except UnicodeEncodeError:  # which msgspec raises instead
        raise TraceError(f"{name} is malformed: it has a text with a lone surrogate where none can be.") from None
    except RecursionError:
        raise TraceError(f"{name} is malformed: it is nested too deeply.") from None


def checked(trace: Trace, name: str) -> Trace:
    """Return the trace, whose graphs keep to the rules; raises `TraceError`."""
    for step in trace.steps:
        try:
            _check(step)
        except GraphError as error:
            raise TraceError(f"{name} is malformed: step {step.nth}: {error}") from None
    if trace.ledger is not None and (problem := trace.ledger.problem()):
        raise TraceError(f"{name} is malformed: the ledger {problem}.")
    return trace


def _check(step: Step) -> None:
    verify(step.graph)
    if step.double and isinstance(step.double.nodes, tuple):
        verify(step.double)
    for each in step.profile.allocations if step.profile else ():
        if each.node is not None and each.node >= len(step.graph):
            raise GraphError(f"an allocation is of node {each.node}, and there are {len(step.graph)} nodes.")


def decoded(text: bytes, kind: type[T]) -> T:
    """Return the record, or the tuple of records, that a text in JSON is; raises ValueError."""
    try:
        with _ONE:
            return msgspec.json.decode(text, type=kind, dec_hook=_special)
    except msgspec.DecodeError:  # wrong, or with a lone surrogate
        with _ONE:
            return msgspec.convert(json.loads(text), kind, dec_hook=_special)


def _special(kind: type, value: Any) -> Any:
    """Return a number or a type, of which JSON has a text."""
    if kind is Number:
        if type(value) in (int, float) or value in ("nan", "inf", "-inf"):
            return Number(value)
        raise ValueError("must be a number")
    found = _type_of(value) if type(value) is str else None
    if found is None:
        raise ValueError('must be a type such as "float32[3, 4]"')
    return found


@lru_cache(1 << 12)
def _type_of(text: str) -> TensorType | None:
    match = re.fullmatch(TYPE, text)
    if match is None:
        return None
    dtype, shape, device = match.groups()
    return TensorType(dtype, tuple(map(int, shape.split(", "))) if shape else (), device or "cpu")


def _problem(told: str, value: Any) -> str:
    """Return what msgspec told in the words of docs/trace-format.md: where, and what is wrong with the value there."""
    problem, _, place = told.partition(" - at `$")
    place = place.strip(".`")
    for key, index in _STEP_IN.findall(place):
        value = value[key or int(index)]
    for theirs, ours in _WORDS.items():
        problem = re.sub(theirs, ours, problem)
    shown = f", not {_shown(value)}" if problem.startswith("must") else ""
    return f"{place or 'the trace'} {problem}{shown}"


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
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"{name} is not an autograph trace.")
    return data


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
