"""A parameter in the ledger of training: who holds it, what came to it, what moved it, which hooks are on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograph_cli.graph.ledger import Happening, Hook, Ledger
from autograph_cli.graph.source import Source

_FEW = 3


def facts_of(ledger: Ledger, names: Collection[str]) -> list[str]:
    """Return what is known of the parameter of one of these names, as sentences.

    >>> facts_of(Ledger(), ["w"])
    []
    """
    number = next((n for n, each in enumerate(ledger.parameters) if each.name and each.name in names), None)
    if number is None:
        told = any(ledger.optimizers) and any(ledger.parameters)
        return ["no optimizer holds it, and no backward call gave it a gradient"] if told and _is_known(ledger) else []
    return [
        *_holders(ledger, number),
        *_gradients(ledger, number),
        *_module(ledger, number),
        *(_hook(each) for each in ledger.hooks if each.parameter == number),
    ]


def _is_known(ledger: Ledger) -> bool:
    """Return whether all parameters have names, so that one that is not among them is known to be none."""
    return all(each.name for each in ledger.parameters)


def _holders(ledger: Ledger, number: int) -> Iterator[str]:
    holders = [
        n
        for n, each in enumerate(ledger.optimizers)
        if number in ledger.sets[each.holds]
        or any(h.optimizer == n and number in ledger.sets[h.given] for h in ledger.happenings if h.kind == "step")
    ]
    if ledger.optimizers and not holders:
        yield "no optimizer holds it, so no step changes it"
    for n in holders:
        made = ledger.optimizers[n]
        steps = [h for h in ledger.happenings if h.kind == "step" and h.optimizer == n]
        moved = sum(number in ledger.sets[h.moved] for h in steps)
        frozen = sum(number in ledger.sets[h.frozen] for h in steps)
        where = f", made{_at(made.source)}," if made.source else ""
        found = f"{made.name or made.cls}{where} holds it"
        if steps:
            found += f", and moved it in {moved} of {_counted(ledger, len(steps))} steps"
        if frozen:
            found += f"; in {frozen} of them it required no gradient"
        yield found


def _gradients(ledger: Ledger, number: int) -> Iterator[str]:
    calls = [h for h in ledger.happenings if h.kind == "backward" and not h.failed]
    given = [h for h in calls if number in ledger.sets[h.given]]
    zero = sum(number in ledger.sets[h.zero] for h in given)
    if calls and ledger.optimizers:
        yield (
            f"{len(given)} of {_counted(ledger, len(calls))} backward calls gave it a gradient{_at_each(given)}"
            f"{f', {zero} of them zeros alone' if zero else ''}"
        )
    cuts = [h for h in ledger.happenings if h.kind == "cut" and number in ledger.sets[h.given] and h.words]
    yield from dict.fromkeys(f"{h.words}{_at(h.source)} cuts off what was computed from it" for h in cuts[:_FEW])
    added = [h for h in given if number in ledger.sets[h.ready]]
    if added and not any(added[0].source == h.source for h in added[1:]):
        yield f"the backward call{_at(added[0].source)} added to a gradient that was there, which nothing had zeroed"
    elif added:
        yield f"{len(added)} of them added to a gradient that was there, the first{_at(added[0].source)}"
    clips = [h for h in ledger.happenings if h.kind == "clip" and number in ledger.sets[h.given]]
    if clips:
        yield f"{clips[0].words} looked at it {len(clips)} times{_at(clips[0].source)}"


def _module(ledger: Ledger, number: int) -> Iterator[str]:
    position = ledger.parameters[number].module
    module = None if position is None else ledger.modules[position]
    if module is None:
        return
    if module.copied:
        yield f"its module, {module.cls}, is a copy, made{_at(module.source)}"
    if module.listed:
        yield f"its module, {module.cls}, is kept in {module.listed}, where parameters() does not look"
    later = [each for each in ledger.optimizers if each.at and module.at > each.at]
    if later:
        shown = later[0].name or later[0].cls
        yield f"its module, {module.cls}, was made{_at(module.source)}, after {shown}{_at(later[0].source)}"


def _hook(hook: Hook) -> str:
    pairs = [f"{low:g} to {high:g}" for low, high in zip(hook.given, hook.returned, strict=True)]
    more = f", and {len(pairs) - _FEW} more" if len(pairs) > _FEW else ""
    changed = f"it changed the norm of the gradient from {', '.join(pairs[:_FEW])}{more}"
    kept = "it ran, and left the norm of the gradient as it was"
    did = "it did not run" if not pairs else kept if hook.given == hook.returned else changed
    return f"{hook.kind} is on it{_at(hook.source)}, {hook.function or 'a function'}: {did}"


def _counted(ledger: Ledger, count: int) -> str:
    """Return how many were heard; where more came later, they are the first ones."""
    return f"the first {count}" if ledger.more else f"{count}"


def _at_each(happenings: Collection[Happening]) -> str:
    """Return the lines at which it happened."""
    places = list(dict.fromkeys([place for each in happenings if (place := _at(each.source))]))
    return ",".join(places[:_FEW]) + (f", and {len(places) - _FEW} more lines" if len(places) > _FEW else "")


def _at(source: Source | None) -> str:
    return f" at {source.file}:{source.line}" if source else ""
