"""Writes docs/trace.schema.json from the records of a trace: `python docs/make_schema.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from autograph_cli.graph import Trace
from autograph_cli.graph.records import Number, TensorType
from autograph_cli.graph.trace_json import TYPE
from autograph_cli.graph.trace_writer import FORMAT, VERSION

FILE = Path(__file__).parent / "trace.schema.json"
_SPECIAL = {
    TensorType: {"type": "string", "pattern": f"^{TYPE}$"},
    Number: {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]},
}


def schema() -> dict[str, Any]:
    """The schema of the version of traces that is written."""
    _, found = msgspec.json.schema_components([Trace], schema_hook=_SPECIAL.get, ref_template="#/$defs/{name}")
    del found["Graph"]["properties"]["numbers"]
    whole = found.pop("Trace")
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": f"A trace of autograph, version {VERSION}",
        "required": [*head, *whole["required"]],
        "properties": head | whole["properties"],
        "$defs": dict(sorted(found.items())),
    }


def text() -> str:
    """The file."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
