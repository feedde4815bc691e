"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from autograph_cli.engines.protocol import Saved as Kept
from autograph_cli.engines.protocol import shown
from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.event_log import OPERATION, Event, EventLog, StepLog


def collect(log: EventLog, step: StepLog) -> None:
    """Note what the living nodes of a step keep, before a backward pass frees it."""
    saved, look = log.saved, log.engine.saved
    events = [event for event in step.events if event[2] is OPERATION]
    used = [kept[3] for event in events if event[0] in saved for kept in saved[event[0]][0] if kept[1] is not None]
    start = max(used, default=-1) + 1
    storages: dict[int, int] = {}
    for event in events:
        if event[0] not in saved:
            node = event[3]()
            if node is not None:
                kept = look(node, storages, start)
                if kept is not None:
                    saved[event[0]] = kept
    if start == 0:
        step.storages.clear()
        step.parameters.clear()
    _find_leaves(log, step, events, storages)


def _find_leaves(log: EventLog, step: StepLog, events: Iterable[Event], storages: dict[int, int]) -> None:
    """Note the leaves that nodes hang on, and which leaves and inputs lie in memory that is kept."""
    known, storage_of = log.known, log.engine.storage
    keys: set[Any] = set()
    for event in events:
        keys.update(event[6])
        keys.update(event[7])
    keys = {key if key.__class__ is int else key[0] for key in keys if key is not None}
    for key in sorted(keys.difference([event[1] for event in events])):
        met = known.get(key)
        tensor = None if met is None or met[2] is OPERATION else met[3]()
        if met is not None and tensor is not None:
            if met.cls is not None:
                step.parameters[met.number] = met.ref
            storage = storages.get(storage_of(tensor))
            if storage is not None:
                step.storages[met.number] = storage


Versions = dict[int, list[int]]
"""The versions that are kept of each storage, in order of first use."""


def records(
    kept: Iterable[Kept], type_of: Callable[[Any, Any], TensorType], versions: Versions, given: Collection[int] = ()
) -> tuple[Saved, ...]:
    """What was noted, as records of the graph; `given` are the storages of leaves and inputs.

    Versions are numbered among those of their storage that are kept, so that the turns of a loop are alike.
    """
    found = []
    for name, dtype, what, storage, size, version in kept:
        if dtype is None:
            found.append(Saved(name, value=shown(what)))
            continue
        known = versions.setdefault(storage, [])
        if version not in known:
            known.append(version)
        found.append(
            Saved(
                name,
                type_of(dtype, what),
                bytes=size,
                storage=storage,
                version=known.index(version),
                given=storage in given,
            )
        )
    return tuple(found)
