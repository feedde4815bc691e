"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable
from typing import Any

from autograph_cli.engines.protocol import Saved as Kept
from autograph_cli.engines.protocol import key_of, shown
from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.events import OPERATION, StepLog


def look(log: EventLog, step: StepLog) -> None:
    """Note what the living nodes of a step keep, before a backward pass frees it, as far as it was not noted yet."""
    known, look_at = log.known, log.engine.look
    looked: dict[int, Any] = {}
    before = {number for looked, _ in step.looked for number in looked} if step.looked else ()
    own: set[Any] = set()
    outputs: set[Any] = set()
    for event in step.events:
        if event[2] is OPERATION:
            own.add(event[1])
            outputs.update(event[6], event[7])
            node = event[3]()
            if node is not None and event[0] not in before:
                found = look_at(node)
                if found is not None:
                    looked[event[0]] = event[4], found
    outputs -= own
    outputs.discard(None)
    outer = {key_of(output) for output in outputs} - own
    met = [event for event in map(known.get, outer) if event is not None]
    step.older = len(met) < len(outer) or any(event[2] is OPERATION for event in met)
    living = [(event, tensor) for event in met if event[2] is not OPERATION and (tensor := event[3]()) is not None]
    positions = log.engine.storages([tensor for _, tensor in living])
    leaves = {event[0]: (event[3], event[4], position) for (event, _), position in zip(living, positions, strict=True)}
    step.looked.append((looked, leaves))


def settle(log: EventLog, step: StepLog) -> None:
    """Work out what was noted of a step that is kept: which storages there are, and what lies in each."""
    start = 0
    for looked, leaves in step.looked:
        storages: dict[int, int] = {}
        for number, (cls, found) in looked.items():
            log.saved.setdefault(number, log.engine.saved(cls, found, storages, start))
        if start == 0:
            step.storages = {}
        step.storages |= {n: storages[leaves[n][2]] for n in sorted(leaves) if leaves[n][2] in storages}
        start += len(storages)


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


def parameters_of(step: StepLog) -> list[weakref.ref[Any]]:
    """The leaves that the nodes of a step lead to."""
    return [ref for _, leaves in step.looked for ref, cls, _ in leaves.values() if cls is not None]
