"""The colours of a script's lines: runs of characters that belong together, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_KINDS = (
    ("Token.Comment", "c"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "f"),
)


def runs_of(lines: Sequence[str]) -> list[str]:
    """Return for each line its runs, each as its kind and its length, `k6.1f3`; the dot has no colour of its own.

    >>> runs_of(["def f(x):", "    return x  # same"])
    ['k3.1f1.4', '.4k6.4c6']
    """
    from pygments.lexers.python import PythonLexer  # only pages need it

    found: list[list[list[Any]]] = [[]]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        letter = next((its for name, its in _KINDS if str(kind).startswith(name)), ".")
        for number, part in enumerate(text.split("\n")):
            if number:
                found.append([])
            if part and found[-1] and found[-1][-1][0] == letter:
                found[-1][-1][1] += len(part)
            elif part:
                found[-1].append([letter, len(part)])
    told = ["".join(f"{letter}{length}" for letter, length in line) for line in found]
    return (told + [""] * len(lines))[: len(lines)]
