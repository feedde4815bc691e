"""Find what keeps the graphs of steps that are over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autograph_cli.findings.book import book_of
from autograph_cli.findings.calls import script_parts
from autograph_cli.findings.records import Found, Seen, line_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Keeper

_TAKES_IN = ("append", "appendleft", "add", "insert", "extend", "update", "setdefault")


def kept_graphs(seen: Seen) -> Iterator[Found]:
    """Yield who keeps the graphs of steps, or turns, that are over."""
    book = book_of(seen)
    for keeper in book.ledger.keepers if book else ():
        source = _taken_in(seen, keeper) or keeper.source
        each = f"{_size(keeper.bytes // keeper.steps)} more each time" if keeper.steps else ""
        size = f" ({_size(keeper.bytes)}, {each})" if keeper.bytes and each else ""
        facts = [f"{keeper.nodes} nodes{size} of {keeper.steps} earlier turns live on by it"]
        if keeper.living:
            shown = ", ".join(map(str, keeper.living[-4:]))
            facts.append(f"{shown} nodes of earlier steps were alive when one backward call after the other began")
        else:
            facts.append("no backward call runs them")
        said = f"{keeper.name} keeps the graphs of earlier turns: it takes in one more at {line_of(source)} each time"
        yield Found(said, source, tuple(facts), (), _SAVE if keeper.name.startswith("ctx.") else "")


_SAVE = "Pass it to ctx.save_for_backward: an attribute of ctx that is a result of its own makes a cycle."


def _size(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB" if count >= 1e3 else f"{count} bytes"


def _taken_in(seen: Seen, keeper: Keeper) -> Source | None:
    """The line by which a container takes in what it keeps."""
    last = re.search(r"(\w+)(\[[^\[\]]*\])?$", keeper.name.partition(" (in ")[0])
    if last is None:
        return None
    wanted = re.compile(rf"\b{last[1]}(\[.*\]|\.(setdefault|get)\(.*\))?$")
    for line, part in script_parts(seen, ast.stmt, ast.expr):
        target: ast.expr | None = None
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _TAKES_IN:
            target = part.func.value
        elif isinstance(part, ast.AugAssign):
            target = part.target
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript) and keeper.count > 1:
            target = part.targets[0].value
        elif isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == keeper.name:
            target = part.targets[0] if keeper.name.startswith("ctx.") else None
        if target is not None and wanted.search(ast.unparse(target)):
            return line
    return None
