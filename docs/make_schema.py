"""Writes docs/trace.schema.json from the records of a trace: `python docs/make_schema.py`."""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import NODEFAULT, Struct

from autograph_cli.graph import Edge, TensorType, Trace, records
from autograph_cli.graph.trace_writer import FORMAT, VERSION
from autograph_cli.graph.verifier import KINDS

FILE = Path(__file__).parent / "trace.schema.json"
_RENAMED = {"cls": "class", "pass_id": "pass"}
_NOT_WRITTEN = ("numbers",)
_COUNT = {"type": "integer", "minimum": 0}
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: _COUNT,
    float: {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]},
    records.Kind: {"enum": list(KINDS)},
    TensorType: {
        "type": "string",
        "pattern": r"^[A-Za-z_][A-Za-z0-9_]*\[([0-9]{1,18}(, [0-9]{1,18}){0,63})?\](@[A-Za-z0-9_:.-]+)?$",
    },
    Edge: {"type": "array", "prefixItems": [_COUNT, _COUNT], "items": False, "minItems": 2},
}


def schema() -> dict[str, Any]:
    """The schema of the version of traces that is written."""
    found: dict[str, Any] = {}
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    whole = _object(Trace, found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A trace of autograph, version {VERSION}",
        **whole,
        "required": ["format", "version", *whole["required"]],
        "properties": head | whole["properties"],
        "$defs": dict(sorted(found.items())),
    }


def _object(record: type[Struct], found: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(record, vars(records) | vars(sys.modules[record.__module__]))
    own = {_RENAMED.get(each, each): each for each in record.__struct_fields__ if each not in _NOT_WRITTEN}
    defaults = dict(zip(record.__struct_fields__, records.defaults_of(record), strict=True))
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, each in own.items() if defaults[each] is NODEFAULT],
        "properties": {key: _of(hints[each], found) for key, each in own.items()},
    }


def _of(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct):
        name = hint.__name__
        if name not in found:
            found[name] = {}
            found[name] = _object(hint, found)
        return {"$ref": f"#/$defs/{name}"}
    inner = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return {"anyOf": [_of(each, found) for each in inner if each is not type(None)] + [{"type": "null"}]}
    if inner[-1] is Ellipsis or typing.get_origin(hint) is Sequence:
        return {"type": "array", "items": _of(inner[0], found)}
    return {
        "type": "array",
        "prefixItems": [_of(each, found) for each in inner],
        "items": False,
        "minItems": len(inner),
    }


def text() -> str:
    """The file."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
