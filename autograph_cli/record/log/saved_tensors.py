"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from autograph_cli.graph import Saved
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, OPERATION, Event, Look, StepLog


def look(log: EventLog, step: StepLog) -> None:
    """Note what the living nodes of a step keep, before a backward pass frees it, as far as it was not noted yet."""
    known = log.known
    events = [event for event in step.events if event.kind is OPERATION]
    outer = _outer(events)
    step.outer |= outer
    step.seen = len(step.events)
    if step.looked:
        before = {event.key for earlier in step.looked for event in earlier.events}
        events = [event for event in events if event.key not in before]
    kept = list(log.engine.look(event.ref() for event in events))
    others, tensors = [], []
    for event in map(known.get, outer):
        if event is not None and event.kind is not OPERATION and (tensor := event.ref()) is not None:
            others.append(event)
            tensors.append(tensor)
    step.looked.append(Look(events, kept, others, log.engine.storages(tensors)))
    step.leaves.update([(event.key, event.ref) for event in _leaves(log, outer)])


def _leaves(log: EventLog, outer: Collection[int]) -> Iterator[Event]:
    """Yield the leaves among these, and those that their nodes, which earlier steps made, lead to."""
    known, met, stack = log.known, set(outer), list(outer)
    while stack:
        event = known.get(stack.pop())
        if event is None:
            continue
        if event.kind is LEAF:
            yield event
        elif event.kind is OPERATION:
            keys = {output if isinstance(output, int) else output[0] for output in event.next if output is not None}
            stack += keys - met
            met |= keys


def _outer(events: Sequence[Event]) -> set[int]:
    """Return what these hang on beside themselves."""
    used: set[Any] = set().union(
        *[event.next for event in events], *[event.args for event in events if event.args is not event.next]
    )
    used.difference_update([event.key for event in events], (None,))
    return {output if output.__class__ is int else output[0] for output in used}


def settle(log: EventLog, step: StepLog) -> dict[int, int]:
    """Work out what was noted of a step that is kept, and of older ones; the storages of its leaves and inputs."""
    log.looks += [over.looked for over in log.over]
    for over in log.over:
        over.looked = []
    for looks in log.looks:
        _settle(log, looks)
    log.looks.clear()
    return _settle(log, step.looked)


def _settle(log: EventLog, looks: Sequence[Look]) -> dict[int, int]:
    start, read, known = 0, log.engine.saved, log.known
    storage_of: dict[int, int] = {}
    for noted in looks:
        storages: dict[int, int] = {}
        for event, kept in zip(noted.events, noted.kept, strict=True):
            if kept is not None:
                saved = read(event.cls, kept, storages, start)  # in any case: it numbers the storages
                key = event.key
                if key in known and key not in log.saved:
                    log.saved[key] = saved
        pairs = zip(noted.others, noted.memory, strict=True)
        storage_of |= {event.number: storages[at] for event, at in pairs if at in storages}
        start += len(storages)
    return storage_of


Versions = dict[int, list[int] | int]
"""The versions that are kept of each storage, in order of first use: a number where there is only one, as mostly."""


def records(kept: tuple[Saved, ...], versions: Versions, given: Collection[int] = ()) -> tuple[Saved, ...]:
    """Return what was noted, with versions by number; `given` are the storages of leaves and inputs."""
    found: list[Saved] | None = None
    for place, saved in enumerate(kept):
        storage = saved.storage
        if storage is None:
            continue
        version = saved.version
        number = 0 if versions.setdefault(storage, version) == version else _number(versions, storage, version)
        if number != version or storage in given:
            found = found or list(kept)
            found[place] = replace(saved, version=number, given=storage in given)
    return kept if found is None else tuple(found)


def _number(versions: Versions, storage: int, version: int) -> int:
    """The number of a version among those of its storage that are kept, so that the turns of a loop are alike."""
    known = versions[storage]
    if isinstance(known, int):
        known = versions[storage] = [known]
    if version not in known:
        known.append(version)
    return known.index(version)
