"""Writes docs/commands.schema.json, the JSON that commands print: `python docs/make_command_schema.py`.

Records of the package give their own schema. Dictionaries that a command makes are written here as shapes: a type, a
list of one shape, a dictionary whose keys may end in `?`, an `Of` (any key), an `Either`, or the name of a schema.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autograph_cli.findings.records import Finding
from autograph_cli.graph.ledger import Ledger

FILE = Path(__file__).parent / "commands.schema.json"
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", None: "null"}


class Of(NamedTuple):
    """A dictionary from any name to this shape."""

    shape: Any


class Either(NamedTuple):
    """One of two shapes."""

    one: Any
    other: Any


ROW = {
    "name": str,
    "count": int,
    "forward_ns": int,
    "backward_ns": int,
    "flops": int,
    "bytes_made": int,
    "bytes_kept": int,
}
STEP = {"line": Either(str, None), "call": str, "roots": [str], "nodes": int}
ORDER = {
    "order": int,
    "error": Either(float, None),
    "worst": str,
    "kinks": int,
    "kink": str,
    "compared": int,
    "wanted": int,
}
VERDICT = {"kind": str, "name": str, "orders": [{**ORDER, "unchecked": str, "good": bool}], "unchecked": str}
SOURCE = {"file": str, "line": int, "text?": str}
PARTED = {
    "kind": str,
    "direction": str,
    "step": int,
    "places": [{"file": str, "line": int}],
    "operations": [Either(str, None)],
    "relative": Either(float, None),
    "index": Either(int, None),
    "values": Either([str], None),
    "details": Of(str),
}
LISTS = ("removed", "added", "changed", "passes", "renamed")
CHANGES = {"same": bool, "sentences": [str]}
SHAPES: dict[str, Any] = {
    "autograph check FILE --json": [{**VERDICT, "because": [str], "good": bool}],
    "autograph check FILE FILE --json": [{"script": str, "exit_code": int, "verdicts": "autograph check FILE --json"}],
    "autograph check --independence FILE --json": [{"kind": str, "said": str, "source": Either(SOURCE, None)}],
    "autograph diff A B --json": {
        "format": str,
        "version": int,
        **CHANGES,
        "sections": Of({**CHANGES, **{key: [...] for key in LISTS}}),
    },
    "autograph diff --values A B --json": {
        "format": str,
        "version": int,
        "verdict": str,
        "sentence": str,
        "steps": int,
        "compared": int,
        "not_compared": int,
        "without_like": int,
        "largest_rounding": float,
        "first?": PARTED,
        "gradients?": [{"name": str, "order": int, "relative": Either(float, None), "parted": bool}],
    },
    "autograph explain FILE --format json": [Finding],
    "autograph inspect FILE NAME --json": Of(...),
    "autograph profile FILE --json": {
        "script": str,
        "step": int,
        "wall_ns": int,
        "measuring_ns": int,
        "total": ROW,
        "by": Of([ROW]),
        "memory?": {"peak_bytes": int, "peak_at_ns": int, "alive_at_peak": Of(Of(int)), "timeline": [[int]]},
    },
    "autograph show --ledger --json": Ledger,
    "autograph steps FILE --json": {
        "script": str,
        "steps": int,
        "kinds": [{"steps": int, **STEP, "first": int, "last": Either(int, None), "trains": bool}],
        "kept": [{"step": int, **STEP, "passes": int, "time": Either(float, None)}],
        "optimizers": [str],
    },
    "autograph why LOSS LEAF FILE --json": {
        "loss": str,
        "leaf": str,
        "step": int,
        "count": str,
        "paths": [[{"node": int, "tensors": [str], "operation": str, "source": Either(SOURCE, None)}]],
        "cut": [str],
        "training": [str],
    },
}
"""The output of each command."""


def schema() -> dict[str, Any]:
    """The schemas of all commands, by their names in `$defs`."""
    _, found = msgspec.json.schema_components([Finding, Ledger], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What autograph prints with --json",
        "$defs": dict(sorted({**found, **{name: of(shape) for name, shape in SHAPES.items()}}.items())),
    }


def of(shape: Any) -> dict[str, Any]:
    """The schema of a shape."""
    if shape is ...:
        return {}
    if isinstance(shape, Of):
        return {"type": "object", "additionalProperties": of(shape.shape)}
    if isinstance(shape, Either):
        return {"anyOf": [of(shape.one), of(shape.other)]}
    if isinstance(shape, list):
        return {"type": "array", "items": of(shape[0])}
    if isinstance(shape, dict):
        return {
            "type": "object",
            "required": [key for key in shape if not key.endswith("?")],
            "properties": {key.removesuffix("?"): of(each) for key, each in shape.items()},
            "additionalProperties": False,
        }
    name = shape if isinstance(shape, str) else getattr(shape, "__name__", "")
    return {"type": TYPES[shape]} if shape in TYPES else {"$ref": "#/$defs/" + name.replace(" ", "%20")}


def text() -> str:
    """The file."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
