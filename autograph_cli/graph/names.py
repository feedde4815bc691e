"""The names that are given when a graph is printed: unique, stable, and safe on one line."""

from __future__ import annotations

import re
from collections import Counter

from autograph_cli.graph.records import Graph

_PLAIN = re.compile(r"[^\W\d][\w.\[\]]*")


def visible(text: str) -> str:
    """The text on one line: what cannot be printed (newlines, control characters) is written as an escape.

    >>> visible("a\\nb")
    'a\\\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def visible_lines(text: str) -> str:
    """The text with its lines and tabs as they are, and everything else that cannot be printed as an escape."""
    return "\n".join(["\t".join(map(visible, line.split("\t"))) for line in text.split("\n")])


def quoted(name: str) -> str:
    """The name as it is if it reads as a variable, else in quotes."""
    return name if _PLAIN.fullmatch(name) else repr(name)


def output_names(graph: Graph) -> list[tuple[str, ...]]:
    """One unique name for every output of every node, in order of ids.

    A variable's name where there is one (its second holder is `x~2`), else `%7` or `%7.1`, from the node's id.
    """
    used: Counter[str] = Counter()
    names = []
    for node in graph.nodes:
        several = len(node.outputs) > 1
        row = []
        for nr, output in enumerate(node.outputs):
            if output.names:
                name = quoted(output.names[0])
                used[name] += 1
                row.append(name if used[name] == 1 else f"{name}~{used[name]}")
            else:
                row.append(f"%{node.id}.{nr}" if several else f"%{node.id}")
        names.append(tuple(row))
    return names
