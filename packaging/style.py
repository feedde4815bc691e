"""Print the faults of style of pages and of the package's docstrings, and fail if there are any."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/how-to/*.md", "docs/course/*.md")
PACKAGE = "autograph_cli"
LONGEST = 32
"""Words that a sentence, or a part of it between colons and semicolons, may have; code is one word, brackets none."""
RULES = {
    "begins with a clause for a noun": re.compile(r"^(?:What|Whatever|That which|Whether)\b(?!.*\?$)"),
    "what ... what": re.compile(r"\bwhat\b[^?,:;]*\bwhat\b(?!.*\?$)", re.IGNORECASE),
    "that of": re.compile(r"\b(?:that|those) of\b"),
    "so many": re.compile(r"\bso (?:many|much)\b(?! (?:that|more|less))"),
    "is told": re.compile(r"\b(?:is|are|be|was|were) (?:told|said)\b(?! apart)"),
    "a word that readers do not use": re.compile(
        r"\b(?:thereof|therein|wherein|likewise|anew|for its own sake|by the way|to be had|otherwise and no)\b",
        re.IGNORECASE,
    ),
}
"""The name of each fault, and the pattern that finds it in a sentence."""
CLAUSE = re.compile(
    r"(?:What|Whatever|Whether|That|Those|Of|How|Which|Who|When|Where|If|Why|So|Such|It|There"
    r"|(?:As|At|By|For|From|In|On|To|Up to|With) (?:what|which|where|whom|how|so|such|many|much|long))\b"
)
"""Beginnings of docstrings that are neither a verb nor a thing."""
DOCSTRING = re.compile(r'^ *"""\s*(?P<text>.+?)"""$', re.MULTILINE | re.DOTALL)
"""A docstring of Python or Cython, which fills its lines."""


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The line of a page at which each sentence begins, and the sentence: of paragraphs, rows of tables and items."""
    text = re.sub(r"^(#+ .*?$|---\n.*?^---$|```.*?^```$|<!--.*?-->$|\$\$.*?\$\$)", _blank, text, flags=re.S | re.M)
    text = re.sub(r"`[^`]+`", lambda found: "`c`" + "\n" * found[0].count("\n"), text)
    text = re.sub(r"\]\([^)]*\)|[*\[\]]", "", text)
    at = 1
    for block in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.) )|(?<=\|)\n| \| )", text):
        begin = at
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(]|autograph|mypy)|(?<=:)\n", block):
            words = " ".join(re.sub(r"^\s*(?:[-*>#|]+|\d+\.)\s*", "", sentence).split())
            if words:
                yield begin, words
            begin += sentence.count("\n")
        at += block.count("\n")


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def faults(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, the name and the sentence of each fault of a page."""
    for line, sentence in sentences(text):
        length = max(len(part.split()) for part in re.split("[:;]", re.sub(r"\([^)]*\)", "", sentence)))
        if length > LONGEST:
            yield line, f"a sentence of {length} words", sentence
        yield from ((line, name, sentence) for name, rule in RULES.items() if rule.search(sentence))


def docstring_faults(source: str) -> Iterator[tuple[int, str, str]]:
    """The line, the name and the text of each docstring of a module that begins with a clause."""
    for found in DOCSTRING.finditer(source):
        if CLAUSE.match(found["text"]):
            line = source.count("\n", 0, found.start("text")) + 1
            yield line, "begins with a clause for a noun", " ".join(found["text"].split())


def found() -> Iterator[str]:
    """Yield a line for each fault: the file, the line, the fault and the sentence."""
    pages = sorted(page for pattern in PAGES for page in ROOT.glob(pattern))
    modules = sorted(file for kind in ("py", "pyx", "pxi", "pxd") for file in (ROOT / PACKAGE).rglob(f"*.{kind}"))
    for files, check in ((pages, faults), (modules, docstring_faults)):
        for file in files:
            for line, name, sentence in check(file.read_text("utf-8")):
                yield f"{file.relative_to(ROOT).as_posix()}:{line}: {name}: {sentence[:160]}"


if __name__ == "__main__":
    lines = list(found())
    print(*lines, sep="\n", end="\n" * bool(lines), file=sys.stderr)
    sys.exit(bool(lines))
