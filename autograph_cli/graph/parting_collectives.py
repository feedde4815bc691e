"""The first collective at which the ranks of two runs part, though what comes before it is equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograph_cli.graph.numbers import SAME, Apart, apart
from autograph_cli.graph.ranks import words
from autograph_cli.graph.records import Exact
from autograph_cli.graph.source import Source
from autograph_cli.graph.trace import Collective, Trace

_ROUNDED = 64
"""The units by which results of the same numbers may differ: ranks are added up in any order."""
_GROWS = 100
"""The rounding of what is given counts so many times in the result."""
_BLURRED = 0.01
"""Rounding that may have grown so far is not judged."""
_NAMED = 3
"""The most tensors that are named."""
_ONE_GIVES = ("broadcast", "scatter")
_COMPILED = re.compile(r"\b_orig_mod\.")
_EPSILON = {"f8": 2.0**-52, "c16": 2.0**-52}


class Exchange(Struct, frozen=True):
    """One collective, as a rank of both runs made it."""

    rank: int
    old: Collective
    new: Collective
    given: Apart
    """The difference of what the rank gives."""
    made: Apart | None
    """The difference of what it gets; None where that was not recorded."""
    eps: float = 0.0

    @property
    def carries_gradients(self) -> bool:
        """Return whether it was made in a backward call, or of gradients."""
        return self.old.during is not None or any(name.endswith(".grad") for name in self.old.tensors)


class Parted(Struct, frozen=True):
    """The first collective at which two runs part."""

    exchange: Exchange
    ranks: tuple[int, ...]
    """The ranks that get, or give, other numbers."""
    made: bool
    """True if the result is another one, though what all ranks give is the same."""

    @property
    def apart(self) -> Apart:
        """Return the difference."""
        return self.exchange.made or SAME if self.made else self.exchange.given

    @property
    def places(self) -> list[Source]:
        """Return the lines that made it in both runs, where they are known."""
        return [each.source for each in (self.exchange.old, self.exchange.new) if each.source is not None]

    @property
    def direction(self) -> str:
        """Return `backward` where gradients are exchanged."""
        return "backward" if self.exchange.carries_gradients else "forward"


def first_parted(ranks: Sequence[tuple[Trace, Trace]], *, exact: bool, before: int | None) -> Parted | None:
    """Return the first collective of the steps up to `before` at which the runs part: one whose result is another one
    of the same numbers, or, if the runs are `exact` the same until then, one that is given other gradients."""
    sides = [list(_exchanges(one, other)) for one, other in ranks]
    for calls in zip(*sides, strict=False):
        first = calls[0].old
        if len({(each.old.op, each.old.step) for each in calls}) > 1 or (before is not None and first.step > before):
            return None
        grown = max(each.given.relative for each in calls)
        spoilt = [each for each in calls if each.given.relative > _limit(each, 0.0)]
        others = [] if spoilt else [each for each in calls if _is_other(each, grown)]
        if others:
            return Parted(others[0], tuple(each.rank for each in others), True)
        if spoilt:
            told = exact and calls[0].carries_gradients and (before is None or first.step < before)
            return Parted(spoilt[0], tuple(each.rank for each in spoilt), False) if told else None
    return None


def _is_other(each: Exchange, grown: float) -> bool:
    limit = _limit(each, grown)
    return each.made is not None and limit < _BLURRED and each.made.relative > limit


def _limit(each: Exchange, grown: float) -> float:
    return _ROUNDED * each.eps + _GROWS * grown


def _exchanges(one: Trace, other: Trace) -> Iterator[Exchange]:
    """Yield the collectives of the steps that both runs have kept, in order, up to the first that has no like."""
    kept = {step.number for step in one.steps} & {step.number for step in other.steps}
    mine, its = ([each for each in trace.collectives if each.step in kept and _adds(each)] for trace in (one, other))
    for old, new in zip(mine, its, strict=False):
        given = _apart(old.given, new.given)
        if (old.op, old.step, old.group) != (new.op, new.step, new.group) or given is None or _reordered(old, new):
            return
        eps = max(_EPSILON.get(each.kind, 2.0**-23) for each in old.given if each is not None)
        yield Exchange(one.rank, old, new, given, _apart(old.made, new.made) if old.made and new.made else None, eps)


def _adds(each: Collective) -> bool:
    """Return whether its result is made of the floating numbers that each rank gives: those that one rank sends to the
    others are looked at where they are used."""
    numbers = [x for x in each.given if x is not None]
    return each.peer is None and each.op not in _ONE_GIVES and bool(numbers) and all(x.kind[0] in "fc" for x in numbers)


def _reordered(old: Collective, new: Collective) -> bool:
    """Return whether each exchanges several tensors in one, and not surely in the same order: DDP puts them in the
    order in which gradients come, which is another one in a compiled model."""
    mine, its = ([_COMPILED.sub("", name.partition(".")[2]) for name in each.tensors] for each in (old, new))
    return len(mine) > len(old.given) and mine != its


def _apart(old: Sequence[Exact | None], new: Sequence[Exact | None]) -> Apart | None:
    """Return the largest difference of the tensors; None where these are other ones."""
    if len(old) != len(new):
        return None
    found = [SAME if one is None or other is None else apart(one, other) for one, other in zip(old, new, strict=True)]
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: each.relative, default=SAME) if len(known) == len(found) else None


def said(found: Parted) -> str:
    """Return the sentence on it, without its place."""
    call = found.exchange.old
    more = f" and {len(call.tensors) - _NAMED} more" if len(call.tensors) > _NAMED else ""
    of = f" of {', '.join(call.tensors[:_NAMED])}{more}" if call.tensors else ""
    if found.made:
        return f"{call.op}{of} makes other numbers of what the ranks give, which is the same"
    verb = "give" if len(found.ranks) > 1 else "gives"
    before = "though all results and gradients until then are the same"
    return f"{words(found.ranks)} {verb} {call.op}{of} other numbers, {before}"


def details(found: Parted) -> Iterator[tuple[str, str]]:
    """Yield the lines below it."""
    sides = found.exchange.old, found.exchange.new
    yield from (("line", line) for line in dict.fromkeys(each.source.text for each in sides if each.source) if line)
    yield "given", f"{sides[0].bytes:,} bytes" + (", the same on all ranks" if found.made else "")
    apart, of = found.apart, "the norm" if found.apart.index is None else "the largest number"
    yield "worst", f"{apart.old.real:.7g} and {apart.new.real:.7g}: {apart.relative:.1e} of {of}"
    yield "rank", words(found.ranks)
