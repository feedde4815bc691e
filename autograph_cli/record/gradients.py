"""Gradients without a graph that `grad` calls gave, and that are computed with: operations that left no node."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autograph_cli.engines.protocol import BackwardCall, Held, Output, key_of
from autograph_cli.record.events import INPUT, LEAF, UNTRACKED, BackwardEvent, Event

if TYPE_CHECKING:
    from autograph_cli.record.event_log import EventLog


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
    given = log.gradients.get(id(tensor))
    if given is None or given.ref() is not tensor:
        return None
    step, known, entry = log.step, log.known, given.entry
    first = step.events[0].number if step.events else log.count + 1
    args = tuple(
        [output for output in given.differentiated if (key := key_of(output)) in known and stays(known[key], first)]
    )
    log.count += 1
    key = -log.count
    like = [log.engine.like(tensor)]
    log.add(
        Event(log.count, key, UNTRACKED, given.ref, None, like, args=args, site=entry.site, op=entry.call, cut=args)
    )
    log.tensors[id(tensor)] = Held(given.ref, key)
    step.untracked.append((id(tensor), key))
    return key


def stays(event: Event, first: int) -> bool:
    """Whether what an untracked operation is given is of this step, which begins there, or hangs on nothing before."""
    return event.number >= first or event.kind in (LEAF, INPUT)
