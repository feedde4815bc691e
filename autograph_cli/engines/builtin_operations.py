"""Writes `operations.json` from the records of the engine: `python -m autograph_cli.engines.builtin_operations`."""

from __future__ import annotations

import json

from autograph_cli.engines.builtin_formulas import formula_of
from autograph_cli.engines.operations import FILE
from autograph_cli.torch._core.operation import table


def text() -> str:
    """Return the file's text: a line for each name of a node, with the operation, its outputs, and its formula."""
    rows: dict[str, list[object]] = {}
    for operation in table.values():
        if operation.derivatives:
            row: list[object] = [operation.name, len(operation.schema.outputs), *formula_of(operation.node)]
            rows.setdefault(operation.node.__name__, row)
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}\n"


if __name__ == "__main__":
    import autograph_cli.torch  # noqa: F401  # it fills the table

    FILE.write_text(text(), encoding="utf-8")
