"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from autograph_cli.engines.protocol import Saved as Kept, key_of, shown
from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.events import LEAF, OPERATION, Look, StepLog


def look(log: EventLog, step: StepLog) -> None:
    """Note what the living nodes of a step keep, before a backward pass frees it, as far as it was not noted yet."""
    known = log.known
    operations = [event for event in step.events if event[2] is OPERATION]
    outputs: set[Any] = set().union(*[event[6] for event in operations], *[event[7] for event in operations])
    outputs.discard(None)
    own = {event[1] for event in operations}
    if step.looked:
        before = {key for looked, _ in step.looked for key, *_ in looked}
        operations = [event for event in operations if event[1] not in before]
    found = log.engine.look([event[3]() for event in operations])
    looked = [(event[1], event[4], kept) for event, kept in zip(operations, found, strict=True) if kept is not None]
    outer = {key_of(output) for output in outputs - own} - own
    met = [event for event in map(known.get, outer) if event is not None]
    if len(met) < len(outer):
        step.oldest = 0
    else:
        step.oldest = min([event[0] for event in met if event[2] is OPERATION], default=sys.maxsize)
    living = [(event, tensor) for event in met if event[2] is not OPERATION and (tensor := event[3]()) is not None]
    storages = log.engine.storages([tensor for _, tensor in living])
    step.looked.append((looked, [(event, storage) for (event, _), storage in zip(living, storages, strict=True)]))


def settle(log: EventLog, step: StepLog) -> dict[int, int]:
    """Work out what was noted of a step that is kept, and of older ones; the storages of its leaves and inputs."""
    for looks in (*log.unsettled, *[looks for _, _, looks in log.over]):
        _settle(log, looks)
    log.unsettled.clear()
    return _settle(log, step.looked)


def _settle(log: EventLog, looks: Sequence[Look]) -> dict[int, int]:
    start = 0
    lies: dict[int, int] = {}
    for looked, leaves in looks:
        storages: dict[int, int] = {}
        for key, cls, found in looked:
            saved = log.engine.saved(cls, found, storages, start)
            if key in log.known:
                log.saved.setdefault(key, saved)
        lies |= {event[0]: storages[memory] for event, memory in sorted(leaves) if memory in storages}
        start += len(storages)
    return lies


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


def parameters_of(step: StepLog) -> dict[int, weakref.ref[Any]]:
    """The leaves that the nodes of a step lead to, by key."""
    return {event[1]: event[3] for _, leaves in step.looked for event, _ in leaves if event[2] is LEAF}
