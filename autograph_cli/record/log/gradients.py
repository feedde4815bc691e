"""Gradients without a graph that `grad` calls gave, and that are computed with: operations that left no node."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autograph_cli.engines.held import Held
from autograph_cli.engines.protocol import BackwardCall, Output, key_of
from autograph_cli.record.log.events import INPUT, LEAF, UNTRACKED, BackwardEvent, Event

if TYPE_CHECKING:
    from autograph_cli.record.log.event_log import EventLog


class Given(Struct, frozen=True, eq=False):
    """A gradient, the call that gave it, and what that differentiated."""

    ref: weakref.ref[Any]
    entry: BackwardEvent
    differentiated: tuple[Output, ...]


def note(log: EventLog, call: BackwardCall, entry: BackwardEvent) -> None:
    """Remember the gradients of a call that have no graph."""
    for x, result, found in zip(entry.inputs, entry.results, call.found or (), strict=False):
        if x is not None and result is None and isinstance(found, log.engine.tensor):
            log.gradients[id(found)] = Given(weakref.ref(found), entry, (*entry.roots, x))


def used(log: EventLog, tensor: Any) -> int | None:
    """The key of the operation that a tensor is of, where it is such a gradient."""
    given = log.gradients.of(tensor)
    if given is None:
        return None
    step, known, entry = log.step, log.known, given.entry
    args = of_this_step(log, [output for output in given.differentiated if key_of(output) in known])
    log.count += 1
    key = -log.count
    like = [log.engine.like(tensor)]
    log.add(
        Event(log.count, key, UNTRACKED, given.ref, None, like, args=args, site=entry.site, op=entry.call, cut=args)
    )
    log.tensors[id(tensor)] = Held(given.ref, key)
    step.untracked.append((id(tensor), key))
    return key


def of_this_step(log: EventLog, outputs: Iterable[Output]) -> tuple[Output, ...]:
    """Return those that an operation without a node is told to be given: what is of the step that is going on, or hangs
    on nothing before."""
    first, known = log.step.begins_at(log.count), log.known
    found = []
    for output in outputs:
        event = known[key_of(output)]
        if event.number >= first or event.kind in (LEAF, INPUT):
            found.append(output)
    return tuple(found)
