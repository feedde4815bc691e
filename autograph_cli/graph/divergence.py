"""Finds where two recorded runs part first, and how far that spreads: step by step, by `parting.py`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.aligned import Aligned, Compared, at, flow_in
from autograph_cli.graph.compared import drawn_otherwise
from autograph_cli.graph.numbers import Apart, numbers
from autograph_cli.graph.parting import Parting
from autograph_cli.graph.parting_backward import partings
from autograph_cli.graph.parting_collectives import Parted
from autograph_cli.graph.parting_inside import Inside
from autograph_cli.graph.parting_training import options, stepped
from autograph_cli.graph.records import Edge, Exact, Pass, Source, above
from autograph_cli.graph.trace import Step, Trace

Verdict = Literal["equal", "rounding", "parted", "incomparable"]
_NOISE = 1e-5
"""Gradients that are so small beside those of other leaves are rounding by themselves."""
_KEPT = 0.1
"""The share of a difference of leaves that counts, of which an optimizer makes more."""
_OWN = 1e-4
"""The part of an element of a gradient that differs, above which an optimizer may make any step of the element."""
_RELATED = 0.9
"""Numbers of so high a correlation are the same draws, scaled, moved or cut off; of many, half of it."""


class Spread(Struct, frozen=True):
    """The difference of one leaf's gradient in one backward call."""

    name: str
    order: int
    relative: float
    parted: bool
    """True if that is more than rounding."""


class Divergence(Struct, frozen=True):
    """The comparison of the numbers of two runs."""

    verdict: Verdict
    why: str = ""
    """The reason why nothing could be compared, or looked at: one sentence."""
    old: Step | None = None
    new: Step | None = None
    """The steps in which they part."""
    parting: Parting | None = None
    aligned: Aligned | None = None
    spread: tuple[Spread, ...] = ()
    looked: int = 0
    """The tensors that were compared, gradients included."""
    unseen: int = 0
    """The tensors whose numbers one run lacks, or rounding has blurred."""
    blurred: int = 0
    """The compared tensors that differ by no more than rounding may have grown to."""
    alone: int = 0
    """The operations and leaves that the other run has not."""
    steps: int = 0
    """The steps that were compared."""
    largest: float = 0.0
    """The largest relative difference that is rounding."""
    total: int = 0
    """The steps that both runs had."""
    exact: bool = False
    """True if they are equal, bit for bit, in all that was compared before the step in which they part."""
    stepped: Source | None = None
    """The line that stepped the optimizer before a step that begins with other numbers."""
    notes: tuple[tuple[str, str], ...] = ()
    """Findings from running both again: a word, and the sentence that goes with it."""
    options: str = ""
    """A sentence on how both runs train, such as on an option of an optimizer, or on a `zero_grad`; empty if alike."""
    exchanged: Parted | None = None
    """The collective at which the ranks part first, if that is no consequence of `parting`."""
    inside: Inside | None = None
    """The operation inside of a part that `torch.compile` compiled at which one run parts, if it was opened."""
    gap: tuple[int, int] | None = None
    """The steps between which they part, if these were not kept: the last one that is equal, or -1, and the first that
    begins with other numbers."""

    def __str__(self) -> str:
        """The report, as `autograph diff --values` prints it."""
        return "\n".join(above("parting_text").text(self, ("the first", "the second")))

    def __repr__(self) -> str:
        """In short, for it holds graphs."""
        return f"<Divergence: {self.verdict}{f', {self.parting.kind}' if self.parting else ''}>"


def divergence(old: Trace, new: Trace, *, rtol: float = 0.0) -> Divergence:
    """Compare the numbers of two runs that were recorded with values; a relative difference of `rtol` is none.

    >>> divergence(Trace("a.py"), Trace("b.py")).why
    'the first has no graph'
    """
    refused = _refused(old, new)
    if refused:
        return Divergence("incomparable", refused)
    later = {step.number: step for step in new.steps if step.has_nodes}
    pairs = [(step, later[step.number]) for step in old.steps if step.has_nodes and step.number in later]
    counts: Counter[str] = Counter()
    carried: dict[str, float] = {}
    noisy: dict[str, Any] = {}
    worst, before, alone, blurred, steps, same = 0.0, None, 0, 0, 0, True
    for one, other in pairs:
        same = not (counts["rounding"] or blurred)
        exact = old.engine == new.engine and not counts["rounding"]
        aligned = Aligned(one.graph, other.graph, same_engine=exact, rtol=rtol, same_words=old.engine == new.engine)
        aligned.carried = carried if before == one.number - 1 or not counts["rounding"] else None
        aligned.noisy = noisy
        found = partings(aligned)
        alone += len(one.graph) + len(other.graph) - 2 * len(aligned.pairs)
        counts.update(aligned.levels)
        blurred += aligned.blurred
        worst = max(worst, aligned.largest)
        for name, apart in _carried(aligned):
            carried[name] = max(carried.get(name, 0.0), apart)
        for name, places in _noisy(aligned):
            noisy[name] = places | noisy.get(name, False)
        steps += 1
        if found:
            break
        before = one.number
    compared = Divergence(
        "rounding" if counts["rounding"] or blurred else "equal",
        looked=counts.total() - counts["unknown"],
        unseen=counts["unknown"],
        blurred=blurred,
        alone=alone,
        steps=steps,
        largest=worst,
        total=min(old.total_steps, new.total_steps),
        exact=same and bool(found or not (counts["rounding"] or blurred)),
        options=options(old, new),
    )
    if found:
        return _parted(compared, (old, new), (one, other), aligned, found[0], before)
    ended = _other_lengths(old, new, pairs)
    if compared.options and compared.verdict == "rounding":
        ended = f"{compared.options}, and what differs may be rounding or come of that"
    return replace(compared, verdict="incomparable", why=ended) if ended else compared


def _hooked(parting: Parting, step: Step, traces: tuple[Trace, Trace]) -> Parting:
    """Return the parting with the lines of the hooks that the tensor has in one run only; of a call that begins with
    another gradient as one of a hook, if the tensor has one."""
    assert parting.old is not None
    names = ("", *step.graph[parting.old].outputs[parting.nr].names)
    known = [() if trace.ledger is None else trace.ledger.hooks for trace in traces]
    both = [[each for each in hooks if each.kind == "register_hook" and each.on in names] for hooks in known]
    texts = [{each.source.text: each.source for each in hooks if each.source is not None} for hooks in both]
    alone = [tuple([one[text] for text in one if text not in other]) for one, other in (texts, texts[::-1])]
    lines = alone[0] + alone[1] if max(map(len, alone)) == 1 else ()  # of several nobody knows which
    return replace(parting, kind="hook" if any(both) else parting.kind, hooks=lines)


def _refused(old: Trace, new: Trace) -> str:
    """Return why two traces cannot be compared at all; empty where they can."""
    for trace, which in ((old, "first"), (new, "second")):
        graphs = [step.graph for step in trace.steps if step.has_nodes]
        if not graphs:
            return f"the {which} has no graph"
        if not any(node.measured and node.measured.exact for graph in graphs for node in graph):
            return f"the {which} has no numbers: record it with --record values"
    if not {step.number for step in old.steps if step.has_nodes} & {s.number for s in new.steps if s.has_nodes}:
        return "they have no step in common"
    kinds = [trace.kind_of(trace.steps[0]) for trace in (old, new)] if old.digest == new.digest else []
    ends = [f"{kind.source.file}:{kind.source.line}" for kind in kinds if kind is not None and kind.source is not None]
    if old.total_steps == 1 and len(set(ends)) == 2:
        return f"the steps are of different kinds, ended by {ends[0]} and {ends[1]}"
    return ""


def _other_lengths(old: Trace, new: Trace, pairs: list[tuple[Step, Step]]) -> str:
    """Return why runs that are equal as far as they were compared are not the same; empty where they are."""
    if old.total_steps != new.total_steps:
        return f"the first has {old.total_steps} steps and the second {new.total_steps}; those that both have are equal"
    for one, other in pairs:
        calls = len(one.graph.passes), len(other.graph.passes)
        if calls[0] != calls[1]:
            return f"in step {one.nth} the first has {calls[0]} backward calls and the second {calls[1]}"
    return ""


def _parted(
    compared: Divergence,
    traces: tuple[Trace, Trace],
    steps: tuple[Step, Step],
    aligned: Aligned,
    parting: Parting,
    before: int | None,
) -> Divergence:
    one, other = steps
    last = -1 if before is None else before
    verdict: Verdict = "parted"
    why, line, gap = "", None, None
    if parting.kind in ("seed", "hook"):
        parting = _hooked(parting, one, traces)
    elif parting.kind == "state":
        verdict, why = _of_state(aligned, parting, one, before)
        if one.graph[parting.old or 0].kind == "leaf" and before is not None and before == one.number - 1:
            line, told = stepped(traces, before, compared.options)
            compared = replace(compared, options=told)
        if verdict == "parted" and last < one.number - 1:
            gap = last, one.number
    return replace(
        compared,
        verdict=verdict,
        why=why,
        old=one,
        new=other,
        parting=parting,
        aligned=aligned,
        spread=tuple(_spread(aligned)),
        stepped=line,
        gap=gap,
    )


def _of_state(aligned: Aligned, parting: Parting, step: Step, before: int | None) -> tuple[Verdict, str]:
    """Return what is to be said where leaves or inputs are other ones from the beginning."""
    assert parting.old is not None
    assert parting.new is not None
    one, other = aligned.old[parting.old], aligned.new[parting.new]
    types = one.outputs[0].type, other.outputs[0].type
    if types[0].shape != types[1].shape:
        name = _name(aligned, parting.old)
        return "incomparable", f"{name} is {types[0]} in the first and {types[1]} in the second"
    states = [node.id for node in aligned.old if not node.computes and node.id in aligned.pairs]
    parted = [number for number in states if aligned.results[number, 0].level == "parted"]
    others = [number for number in parted if _unrelated(aligned, number)]
    given = [number for number in others if aligned.old[number].kind != "leaf"]
    if before is None and drawn_otherwise(one, other):
        return "parted", ""
    leaves = [number for number in states if aligned.old[number].kind == "leaf"]
    if before is None and not given and len(others) > 1 and 2 * len(others) >= len(leaves):
        return "incomparable", f"the runs began with other random numbers: {len(others)} of {len(leaves)} leaves differ"
    given += [number for number in others if _made_alike(aligned, number)]
    if before is None and given:
        return "incomparable", f"{_name(aligned, given[0])} is other data, or the runs drew other random numbers"
    if step.number and before != step.number - 1:
        kept = f"the steps between {before + 1} and {step.nth}" if before is not None else f"those before {step.nth}"
        return "parted", f"{kept} were not kept: record with --steps all"
    return "parted", ""


def _made_alike(aligned: Aligned, number: int) -> bool:
    """Return whether lines that say the same made a leaf in both runs."""
    measured = aligned.old[number].measured, aligned.new[aligned.pairs[number]].measured
    lines = [() if each is None else tuple([source.text for source in each.made]) for each in measured]
    return lines[0] == lines[1] != ()


def _name(aligned: Aligned, number: int) -> str:
    """Return the name of a leaf or an input: one without a name is named by the line that takes it."""
    pair = aligned.old[number], aligned.new[aligned.pairs[number]]
    named = [name for node in pair for name in node.outputs[0].names]
    if named:
        return named[0]
    source = above("parting_text").place(aligned.old, number)
    return f"an input of {source.file}:{source.line}" if source is not None else "an input"


def _unrelated(aligned: Aligned, number: int) -> bool:
    """Return whether the numbers of a leaf or an input have nothing to do with those of its like."""
    pair = [
        aligned.number(graph, Edge(edge))
        for graph, edge in ((aligned.old, number), (aligned.new, aligned.pairs[number]))
    ]
    if pair[0] is None or pair[1] is None:
        return False
    if not (pair[0].data and pair[1].data):
        return aligned.results[number, 0].relative > 1 - _RELATED
    return not _correlated(pair[0], pair[1])


def _correlated(old: Exact, new: Exact) -> bool:
    arrays = [numbers(old), numbers(new)]
    if old.kind[0] in "iub":  # indices and masks
        return True
    if old.count < 4 or any(array.std() == 0 for array in arrays):  # too few to tell, or constants
        return True
    by_chance = min(_RELATED, max(0.5, 3 / math.sqrt(old.count)))
    return bool(abs(np.corrcoef(*arrays)[0, 1]) > by_chance)


def _spread(aligned: Aligned, *, noise: bool = False) -> Iterator[Spread]:
    """The gradients of leaves that both runs have, as far as they are not the same, each where it is most apart; those
    that are nothing but rounding beside the others only where `noise` is asked for, as being apart by all that they
    are."""
    worst: dict[tuple[int, int], Spread] = {}
    for mine, its in zip(aligned.old.passes, aligned.new.passes, strict=False):
        leaves = [number for number in mine.ran if aligned.old[number].kind == "leaf" and number in aligned.pairs]
        found = {number: _gradients(aligned, number, mine, its) for number in leaves}
        scales = [each.apart.scale for each in found.values() if each is not None]
        largest = max(filter(math.isfinite, scales), default=0.0)
        for number, compared in found.items():
            if compared is None or compared.level == "same":
                continue
            name = next(iter(aligned.old[number].outputs[0].names), aligned.old[number].module)
            told = Spread(name, mine.order, compared.relative, compared.level == "parted")
            if compared.apart.scale < _NOISE * largest:
                if not noise:
                    continue
                told = Spread(name, mine.order, 1.0, False)
            key = number, mine.order
            worst[key] = max(worst.get(key, told), told, key=lambda each: (each.parted, each.relative))
    yield from worst.values()


def _carried(aligned: Aligned) -> Iterator[tuple[str, float]]:
    """Yield how much leaves may differ in the steps to come: as their gradients do, and as they do already."""
    yield from ((each.name, each.relative) for each in _spread(aligned, noise=True))
    for (number, _), found in aligned.results.items():
        if aligned.old[number].kind == "leaf" and math.isfinite(found.relative):
            yield from ((name, _KEPT * found.relative) for name in aligned.old[number].outputs[0].names)


def _noisy(aligned: Aligned) -> Iterator[tuple[str, Any]]:
    """Yield the elements of leaves whose gradients differ by as much as they are, of those that are kept whole."""
    for mine, its in zip(aligned.old.passes, aligned.new.passes, strict=False):
        for number in mine.ran:
            if aligned.old[number].kind != "leaf" or number not in aligned.pairs:
                continue
            sides = (aligned.old[number], mine.id), (aligned.new[aligned.pairs[number]], its.id)
            flows = [flow_in(node, call) for node, call in sides]
            given = [None if flow is None else at(flow.given, 0) for flow in flows]
            arrays = [numbers(each) for each in given if each is not None and each.data]
            if len(arrays) == 2 and arrays[0].shape == arrays[1].shape:
                with np.errstate(all="ignore"):
                    places = np.abs(arrays[0] - arrays[1]) > _OWN * np.maximum(*map(np.abs, arrays))
                yield from ((name, places) for name in aligned.old[number].outputs[0].names[:1] if places.any())


def _gradients(aligned: Aligned, one: int, mine: Pass, its: Pass) -> Compared | None:
    other = aligned.pairs[one]
    flows = flow_in(aligned.old[one], mine.id), flow_in(aligned.new[other], its.id)
    if flows[0] is None or flows[1] is None:
        return None if flows == (None, None) else Compared("parted", Apart(False, math.inf, math.inf))
    return aligned.loosely(at(flows[0].given, 0), at(flows[1].given, 0), Edge(one), Edge(other))
