"""Sentences that are true of equal layers, or of one line that ran many times, told once for all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from autograph_cli.graph.ranks import listed
from autograph_cli.graph.review_words import few

_NUMBER = re.compile(r"(?<=\.)\d+(?=[.`])(?=[^`]*`[^`]*(?:`[^`]*`[^`]*)*$)")
"""A number between dots, or at the end, of a name in backticks."""


_MODULE = re.compile(r"`[^` ]*\.[^` ]*`")
_LINE = re.compile(r" \([^() ]+:\d+\)")
_CALLED = " is called with "
_VALUE = re.compile(r"=-?[\d.e+-]+")


def folded(told: Iterable[str]) -> Iterator[str]:
    """Yield the sentences; those that differ in the number of a layer alone, or in the module and its line, are one, in
    the place of the first.

    >>> list(folded(["`h.0.attn` is gone", "`x` is new", "`h.1.attn` is gone", "`h.2.attn` is gone"]))
    ['`h.0-2.attn` is gone', '`x` is new']
    >>> list(folded(["`enc.norm` is gone", "`dec.norm` is gone"]))
    ['`enc.norm` is gone; the same of `dec.norm`']
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for sentence in told:
        groups[_NUMBER.sub("#", sentence)].append(sentence)
    lines: dict[str, list[str]] = defaultdict(list)
    for alike in groups.values():
        for sentence in _together(alike):
            call, called, _ = sentence.partition(_CALLED)
            lines[f"{call}{_VALUE.sub('=', sentence.removeprefix(call))}" if called else sentence].append(sentence)
    places: dict[str, list[str]] = defaultdict(list)
    for alike in lines.values():
        more = len(alike) - 1
        for sentence in [f"{alike[0]}, and so are {more} more there"] if more > 1 else alike:
            key = _LINE.sub("", _MODULE.sub("``", sentence, count=1)) if _MODULE.search(sentence) else sentence
            places[key].append(sentence)
    for alike in places.values():
        others = dict.fromkeys(f"{_MODULE.findall(one)[0]}{''.join(_LINE.findall(one)[:1])}" for one in alike[1:])
        line = "".join(_LINE.findall(alike[0])[:1])
        names = [name.removesuffix(line) for name in others]
        yield f"{alike[0]}; the same of {few(names)}" if names else alike[0]


def _together(alike: Sequence[str]) -> Sequence[str]:
    rows = [_NUMBER.findall(sentence) for sentence in alike]
    columns = list(zip(*rows, strict=True))
    varying = {column for column in columns if len(set(column)) > 1}
    if len(alike) < 2 or len(varying) != 1:
        return alike
    numbers = listed(map(int, varying.pop())).replace(" ", "")
    words = iter([numbers if len(set(column)) > 1 else column[0] for column in columns])
    return [_NUMBER.sub(lambda _: next(words), alike[0])]
