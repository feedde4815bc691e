"""The tensors that nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from autograph_cli.graph import Saved
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, OPERATION, Event, Look, StepLog, Storages, behind


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
    while met := log.unseen & outer:
        log.unseen -= met
        older = [known[key] for key in sorted(met) if key in known]
        outer |= _outer(older)
        events += older
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
    for key in behind(log.known, outer):
        if (event := log.known.get(key)) is not None and event.kind is LEAF:
            yield event


def _outer(events: Sequence[Event]) -> set[int]:
    """Return what these hang on beside themselves."""
    used: set[Any] = set().union(
        *[event.next for event in events], *[event.args for event in events if event.args is not event.next]
    )
    used.difference_update([event.key for event in events], (None,))
    return {output if output.__class__ is int else output[0] for output in used}


def settle(log: EventLog, step: StepLog) -> Storages:
    """Work out what was noted of older steps, and of a step that is kept; return the memory of the latter."""
    log.looks += [over.looked for over in log.over]
    for over in log.over:
        over.looked = []
    for looks in log.looks:
        _settle(log, looks)
    log.looks.clear()
    return _settle(log, step.looked)


def _settle(log: EventLog, looks: Sequence[Look]) -> Storages:
    read, known = log.engine.saved, log.known
    found = Storages()
    for noted in looks:
        storages: dict[int, int] = {}
        for event, kept in zip(noted.events, noted.kept, strict=True):
            if kept is not None:
                saved, positions = read(event.cls, kept, storages, len(found.ids))  # in any case: it numbers storages
                if event.key in known:
                    log.saved[event.key] = saved, positions, found
        pairs = zip(noted.others, noted.memory, strict=True)
        found.of |= {event.number: storages[at] for event, at in pairs if at in storages}
        found.ids += storages
        log.spent.update([(key, noted.call) for key in noted.freed if key in known])
    return found


def add_earlier(log: EventLog, events: Sequence[Event], storages: Storages, first: int) -> dict[int, tuple[Saved, ...]]:
    """Return what those of these operations keep that earlier steps noted, by key, among the storages of this step,
    whose first backward call has this number.

    They lived when this step's memory was noted, and so did theirs: an equal id is the same memory.
    """
    found: dict[int, tuple[Saved, ...]] = {}
    places: dict[int, int] = {}
    moved: dict[Storages, dict[int, int]] = {}
    for event in events:
        noted = log.saved.get(event.key)
        if noted is None or noted[2] is storages:
            continue
        kept, _, theirs = noted
        if log.spent.get(event.key, first) < first:
            kept = tuple([saved for saved in kept if saved.type is None])
        places = places or {at: number for number, at in reversed([*enumerate(storages.ids)])}
        numbers = moved.setdefault(theirs, {})
        for storage in [saved.storage for saved in kept if saved.storage is not None]:
            at = theirs.ids[storage]
            if at not in places:
                places[at] = len(storages.ids)
                storages.ids.append(at)
            numbers[storage] = places[at]
        found[event.key] = tuple([x if x.storage is None else replace(x, storage=numbers[x.storage]) for x in kept])
    for theirs, numbers in moved.items():
        for number, storage in theirs.of.items():
            if storage in numbers:
                storages.of.setdefault(number, numbers[storage])
    return found


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
