"""Forgets events of the log on which no step depends that is still wanted, and nothing that lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograph_cli.engines.protocol import key_of
from autograph_cli.record.log.events import COMPUTED, LEAF, OPERATION, Event, Look, StepLog

if TYPE_CHECKING:
    from autograph_cli.record.log.event_log import EventLog

LIMIT = 10_000
"""The events that may gather in one step before those of dead nodes are forgotten."""
BATCH = 250
"""The events that may be left over when a step ends."""
MOST_OVER = 4
"""The most steps that others may depend on that are looked through at once; older ones wait for a `sweep`."""
CALLS = 1_000
"""The backward calls that may gather in one step before those that made nothing are forgotten, the newest apart."""


@dataclass(slots=True)
class Limits:
    """The most that may gather in a log before some is forgotten; what is left then doubles it."""

    events: int = LIMIT
    """Within a step."""
    between: int = BATCH
    """The most when a step ends."""
    calls: int = CALLS


def closure(log: EventLog, keys: Iterable[int]) -> set[int]:
    """These events and all that they hang on: by gradient, by data, as derivatives."""
    known, leaves = log.known, log.leaves
    met = {key for key in keys if key in known}
    stack = list(met)
    while stack:
        event = known[stack.pop()]
        following, args, parent = event.next, event.args, event.parent
        hung_on = following if args is following else (*following, *args)
        for output in hung_on if parent is None else (*hung_on, parent):
            if output is None:
                continue
            key = output if output.__class__ is int else key_of(output)
            if key in leaves:
                key = leaves[key]
            if key not in met and key in known:
                met.add(key)
                stack.append(key)
    return met


def drop(log: EventLog, wanted: Sequence[StepLog]) -> None:
    """Forget the steps that are over, as far as nothing of them lives and none of those that are `wanted` still hangs
    on them.

    This is quick, so that the memory of their events is used again at once: the garbage collector runs as often as it
    does without a recorder.
    """
    over, known, kept = log.over, log.known, []
    seen = all(len(step.events) == step.seen for step in wanted)
    if seen and len(log.steps) == len(wanted) + len(over):  # else another thread may hang on them
        needed = set[int]().union(*[step.outer for step in wanted])
        needed.update(*[entry.ran for step in wanted for entry in step.passes])
        while over:
            step, dead = over.pop(), []
            for event in step.events:
                if event.ref() is None:
                    if event.kind is not LEAF:
                        dead.append(event.key)
                elif event.kind is OPERATION:
                    break
            else:
                if needed.isdisjoint(dead):
                    for key in dead:
                        known.pop(key, None)
                    for noted in (log.saved, log.names, log.borrowed):
                        for key in noted.keys() & dead:
                            del noted[key]
                    continue
            needed.update(step.outer, *[entry.ran for entry in step.passes])
            kept.append(step)
        over.extend(reversed(kept))
    if len(over) > MOST_OVER:
        log.looks.append(over.pop(0).looked)


def lines_of(events: Iterable[Event]) -> frozenset[tuple[int, int]]:
    """Return where these happened, by the ids of code and the offsets in it."""
    return frozenset((id(event.site[0]), event.site[1]) for event in events if event.site is not None)


def leave_out(log: EventLog, step: StepLog, starts: Iterable[int], lines: Set[tuple[int, int]]) -> None:
    """Leave out of a step what it had computed before the first of all that these hang on, as far as they do not.

    What `lines` computed right before that belongs to the step: an index, a mask, the size of something.
    """
    if lines_of(step.events) <= lines:  # all of it
        return
    needed, events = closure(log, starts), step.events
    turn = next((n for n, event in enumerate(events) if event.key in needed and event.kind in COMPUTED), 0)
    while turn and lines_of(events[turn - 1 : turn]) <= lines:
        turn -= 1
    left = step.leave_out(turn, needed)
    log.unseen.update([event.key for event in left if event.kind is OPERATION])


def sweep(log: EventLog, *, between: bool = False) -> None:
    """Forget what is not needed; `between` steps, all of those that are going on in other threads is."""
    log.looks += [step.looked for step in log.over]
    log.over.clear()
    known, steps = log.known, list(log.steps)
    log.tensors.sweep()
    log.drawn.sweep()
    log.gradients.sweep()
    log.shared.sweep()
    starts = [event.key for step in steps if step.finished or between for event in step.events]
    starts += [key for key, event in [*known.items()] if event.kind is OPERATION and event.ref() is not None]
    starts += [held.number for held in [*log.tensors.values()]]
    keep = closure(log, starts)
    for key in known.keys() - keep:
        known.pop(key, None)  # a handler of a signal may forget too
    for noted in (log.leaves, log.saved, log.spent, log.names, log.borrowed):
        for key in noted.keys() - keep:
            noted.pop(key, None)
    log.unseen &= keep
    log.looks = [looks for looks in log.looks if any(_matters(look, keep) for look in looks)]
    for step in steps:
        step.events = [event for event in step.events if event.key in keep]
    log.limits.events, log.limits.between = max(LIMIT, 2 * len(known)), max(BATCH, 2 * len(known))
    forget_calls(log)


def _matters(look: Look, keep: Set[int]) -> bool:
    return not keep.isdisjoint(look.freed) or any(event.key in keep for event in look.events)


def forget_calls(log: EventLog) -> None:
    """Forget the backward calls of this step that made no node which is still known, the newest ones apart."""
    step = log.step
    makers = {id(event.made_by) for event in [*log.known.values()]}
    older, newer = step.passes[: -CALLS // 10], step.passes[-CALLS // 10 :]
    step.passes = [entry for entry in older if id(entry) in makers or entry in step.running] + newer
    log.limits.calls = max(CALLS, 2 * len(step.passes))
