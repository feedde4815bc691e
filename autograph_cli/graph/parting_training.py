"""Finds what two runs did otherwise with the gradients of a step: optimizers, clips, and when gradients are cleared."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograph_cli.graph.ledger import Happening, Ledger
    from autograph_cli.graph.records import Source
    from autograph_cli.graph.trace import Trace

_KINDS = {
    "backward": "the backward call",
    "zero_grad": "zero_grad",
    "clip": "the clip",
    "unscale": "unscale_",
    "step": "a step of the optimizer",
}
"""The kinds of happenings by which gradients come to change parameters, in words."""
_WORDED = ("clip", "unscale")
"""The kinds of which the line says how it is done."""
_ALIKE = 1e-3
"""Two changes of parameters are told as other ones if their norms differ by more, relatively."""


def stepped(traces: tuple[Trace, Trace], number: int, known: str) -> tuple[Source | None, str]:
    """The line at which something was done otherwise with the gradients of this step, or else the optimizer stepped;
    and a sentence on that, which is the `known` one where nothing was."""
    both = [_done(trace.ledger, number) for trace in traces]
    one, other = _apart(*both)
    steps = [[each for each in done if each.kind == "step"] for done in both]
    whole = [] if traces[0].ledger is None else traces[0].ledger.heard
    lines = {each.source for each in whole if each.kind == "step"}  # of a step in which nothing was heard
    sources = (each.source for each in (one, other, *steps[0]) if each is not None and each.source is not None)
    line = next(sources, lines.pop() if len(lines) == 1 else None)
    return line, _otherwise(one, other) or known or _changes(*steps)


def _done(ledger: Ledger | None, number: int) -> list[Happening]:
    """Return what was done with the gradients of a step, since the optimizer stepped before: what clears those that are
    zero does nothing."""
    heard = [] if ledger is None else ledger.heard
    done = [each for each in heard if each.kind in _KINDS and (each.kind != "zero_grad" or each.ready)]
    last = max((at for at, each in enumerate(done) if each.kind == "step" and each.step < number), default=-1)
    found = [each for each in done[last + 1 :] if each.step <= number]
    while found and found[-1].kind == "zero_grad":  # those of the step that follows
        found.pop()
    return found


def _apart(mine: list[Happening], its: list[Happening]) -> tuple[Happening | None, Happening | None]:
    """Return the first that the runs do not have in common: one of each, or what one of them has alone."""
    for at, (one, other) in enumerate(zip_longest(mine, its)):
        if one is None or other is None or _key(one) != _key(other):
            if one and other and one.kind != other.kind:
                is_later = one.kind in {each.kind for each in its[at:]}
                return (None, other) if is_later else (one, None)
            return one, other
    return None, None


def _key(one: Happening) -> tuple[str, str, float]:
    return one.kind, one.source.text if one.source is not None and one.kind in _WORDED else "", one.rate


def _otherwise(one: Happening | None, other: Happening | None) -> str:
    """Say what is not the same."""
    only = other if one is None else one if other is None else None
    if only is not None:
        at = f" ({only.source.file}:{only.source.line})" if only.source is not None else ""
        return f"{_KINDS[only.kind]}{at} ran in the {'second' if one is None else 'first'} alone"
    if one is None or other is None or one.rate == other.rate:
        return ""
    return f"the step before had lr={one.rate:g} in the first and lr={other.rate:g} in the second"


def _changes(mine: list[Happening], its: list[Happening]) -> str:
    """Say by how much the optimizer changed the parameters of which it had the same gradients."""
    norms = [sum(each.norm for each in steps) for steps in (mine, its)]
    if not (mine and its):
        return ""
    if abs(norms[0] - norms[1]) > _ALIKE * max(norms):
        return f"the step changed parameters by {norms[0]:.3g} in the first and by {norms[1]:.3g} in the second"
    return "the step changed parameters alike: what came after it did not"


def options(old: Trace, new: Trace) -> str:
    """Return the options of the first optimizer that has others in the second run; empty where none has."""
    made = [() if trace.ledger is None else trace.ledger.optimizers for trace in (old, new)]
    for one, other in zip(*made, strict=False):
        mine, its = dict(one.options), dict(other.options)
        names = [name for name, value in mine.items() if its.get(name, value) != value]
        told = [", ".join(f"{name}={each[name]:g}" for name in names) for each in (mine, its)]
        if one.cls != other.cls:
            return f"the optimizer is {one.cls} in the first and {other.cls} in the second"
        if names:
            at = f" ({one.source.file}:{one.source.line})" if one.source is not None else ""
            return f"the optimizer {one.cls}{at} has {told[0]} in the first and {told[1]} in the second"
    return ""
