"""The bytes that a step holds: its parameters, their gradients, and the state of optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from autograph_cli.engines.protocol import TensorFacts
from autograph_cli.graph import DeviceMemory, Memory
from autograph_cli.record.names.source_locations import Site
from autograph_cli.record.names.variables import OPAQUE, attributes_of, items_of
from autograph_cli.record.run.public_names import is_ours

MOST_COUNTED = 64
"""The most sets of parameters for which the last count of memory is remembered."""


def optimizers_in(engine: TensorFacts, spaces: Iterable[Mapping[str, Any]]) -> list[weakref.ref[Any]]:
    """The optimizers that variables hold: themselves, in a container, or as an attribute."""
    found: dict[int, Any] = {}
    optimizer = engine.optimizers()
    if optimizer is None:
        return []
    for space in spaces:
        for value in list(space.values()):
            kind = type(value)
            if id(kind) in OPAQUE or issubclass(kind, engine.tensor):
                continue
            if issubclass(kind, optimizer):
                found[id(value)] = value
            else:
                found.update((id(each), each) for each in _parts(value) if issubclass(type(each), optimizer))
    return [weakref.ref(each) for each in found.values()]


def _parts(value: Any) -> list[Any]:
    """Return what a container or an object of the script's holds, read without code of its own."""
    held = items_of(value)
    if held is None and not issubclass(type(value), (type, list, tuple, dict)) and not is_ours(type(value)):
        held = items_of(attributes_of(value))
    return [item for _, item in held or ()]


class HeldBySteps:
    """The bytes that steps hold; of steps of a kind with the same parameters they are counted less and less often."""

    def __init__(self, engine: TensorFacts) -> None:
        self._engine = engine
        self._counted: dict[tuple[tuple[Site, ...], frozenset[int]], tuple[int, Memory]] = {}
        """By the call that ends a step, and its parameters: how often there was one, and its memory as counted last."""

    def clear(self) -> None:
        """Count the next step anew."""
        self._counted.clear()

    def of(
        self,
        sites: tuple[Site, ...],
        leaves: Mapping[int, weakref.ref[Any]],
        optimizers: Iterable[weakref.ref[Any]],
        *,
        anew: bool,
    ) -> Memory:
        """The bytes that a step holds which ends there, by a count `anew` if it is to be kept."""
        those = sites, frozenset(leaves)
        times, memory = self._counted.pop(those, (0, None))
        if memory is None or seldom(times) or anew:
            memory = _memory_of(self._engine, [*leaves.values()], optimizers)
        if len(self._counted) > MOST_COUNTED:
            self._counted.clear()
        self._counted[those] = times + 1, memory
        return memory


def seldom(times: int) -> bool:
    """Return whether this is one of 0, 1, 2, 4, 8, ..."""
    return times & (times - 1) == 0


def _memory_of(
    engine: TensorFacts, leaves: Iterable[weakref.ref[Any]], optimizers: Iterable[weakref.ref[Any]]
) -> Memory:
    """The bytes that are held now."""
    tensor = engine.tensor
    living = [leaf for leaf in [ref() for ref in leaves] if leaf is not None]
    states = [[*each.state.values()] for each in [ref() for ref in optimizers] if each is not None]
    kept = [item for state in states for entry in state for item in [*entry.values()] if isinstance(item, tensor)]
    held = engine.leaf_bytes(living), engine.bytes_of(kept)
    return Memory(*held[0], held[1], _by_device(engine, living, kept))


def _by_device(engine: TensorFacts, leaves: list[Any], kept: list[Any]) -> tuple[DeviceMemory, ...]:
    """The bytes that leaves, their gradients and the state of optimizers hold by device; none for the CPU alone."""
    every = (*leaves, *kept)
    with engine.untouched():
        devices = {x.device for x in every}
    places = dict.fromkeys(map(engine.device, every if len(devices) > 1 else every[:1]))
    if places.keys() <= {"cpu"}:
        return ()
    found = []
    for place in places:
        there = [leaf for leaf in leaves if engine.device(leaf) == place]
        state = [tensor for tensor in kept if engine.device(tensor) == place]
        found.append(DeviceMemory(place, *engine.leaf_bytes(there), engine.bytes_of(state)))
    return tuple(found)
