"""Writes facts of operations from their records: `python -m autograph_cli.engines.builtin.operations_file`."""

from __future__ import annotations

import json
import re

from autograph_cli.engines.builtin.formulas import formula_of
from autograph_cli.engines.operations import FILE
from autograph_cli.graph.reordered import SYMMETRIC
from autograph_cli.torch._core.operations.operation import table


def text() -> str:
    """Return the file's text: a line for each name of a node, with the operation, its outputs, and its formula."""
    rows: dict[str, list[object]] = {}
    for operation in table.values():
        node = operation.node.__name__
        if operation.derivatives and (node not in rows or operation.name.rstrip("_") == _named(node)):
            rows[node] = [operation.name, len(operation.schema.outputs), *formula_of(operation.node)]
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}\n"


def symmetric() -> str:
    """Return the operations that give the same whichever of their two tensors comes first, as JSON."""
    return json.dumps(sorted({operation.name for operation in table.values() if operation.symmetric})) + "\n"


def _named(node: str) -> str:
    """Return the operation that the name of a node is made of, which several operations may have."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"Backward\d+$", "", node)).lower()


if __name__ == "__main__":
    import autograph_cli.torch  # noqa: F401  # it fills the table

    FILE.write_text(text(), encoding="utf-8")
    SYMMETRIC.write_text(symmetric(), encoding="utf-8")
