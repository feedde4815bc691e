"""Traces the numbers of a parameter that was computed before it was one: `0.02 * torch.randn(4)`."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograph_cli.engines.held import Drawn
from autograph_cli.engines.protocol import key_of
from autograph_cli.record.log.data import Facts
from autograph_cli.record.log.events import INPUT, UNTRACKED, Event

if TYPE_CHECKING:
    from autograph_cli.record.log.event_log import EventLog

THEN = "then"
"""The fact of what ran after random numbers were drawn."""


def origin_of(log: EventLog, key: int, ref: weakref.ref[Any]) -> Drawn | None:
    """Return the random draws that the result of this event was computed from, with the operations after them; without
    such, that it is the same in each run. None where that is not known, as of what hangs on other parameters."""
    events = _led_to(log, key)
    if events is None:
        return None
    sites = tuple([site for event in events for site in (*event.made_at, event.site) if site is not None])
    op = ""
    by: Facts = ()
    for event in events:
        given = _drawn_by(log, event)
        if given is not None and not op:
            (_, op), *first = given
            by = tuple(first)
        elif op and (given is not None or event.kind == UNTRACKED):
            plain = () if event.kind == INPUT else log.engine.arguments(event.cls, event.plain or ())
            by = followed(by, event.op, given[1:] if given is not None else plain)
    return Drawn(ref, op, sites, by if op else None)


def followed(by: Facts, name: str, given: Sequence[tuple[str, str]]) -> Facts:
    """The arguments of a draw, with an operation that ran after it, and what that was given.

    >>> followed((("std", "1"),), "mul", [("other", "0.02")])
    (('std', '1'), ('then', 'mul(0.02)'))
    """
    before = [value for key, value in by if key == THEN]
    call = f"{name}({', '.join(value for _, value in given)})"
    return (*[pair for pair in by if pair[0] != THEN], (THEN, ", ".join([*before, call])))


def _led_to(log: EventLog, key: int) -> list[Event] | None:
    """The events that an event hangs on, and itself, in the order in which they ran; None if one of them is not known,
    or was not seen to be made: a parameter, or what another library brought."""
    found: dict[int, Event] = {}
    waiting = [key]
    while waiting:
        key = waiting.pop()
        event = log.known.get(key)
        if event is None or event.kind not in (INPUT, UNTRACKED) or not event.op:
            return None
        if key not in found:
            found[key] = event
            fills = event.op.endswith("_") and log.engine.is_random(event.cls)
            waiting += map(key_of, event.args[1:] if fills else event.args)
    return sorted(found.values(), key=lambda event: event.number)


def _drawn_by(log: EventLog, event: Event) -> Facts | None:
    """The operation that drew random numbers, and its arguments, if the event did so."""
    if event.kind == INPUT:
        facts = () if log.data is None else log.data.facts.get(event.number, ())
        return facts if facts and facts[0][0] == "drawn" else None
    if not log.engine.is_random(event.cls):
        return None
    return ("drawn", event.op), *log.engine.arguments(event.cls, event.plain or ())
