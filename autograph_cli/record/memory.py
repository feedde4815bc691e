"""The bytes that a step holds: its parameters, their gradients, and the state of optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograph_cli.engines.protocol import Engine
from autograph_cli.graph import Memory
from autograph_cli.record.public_names import is_ours

_LONGEST = 256
"""Longer containers are data, and no place of optimizers."""


def optimizers_in(engine: Engine, spaces: Iterable[Mapping[str, Any]]) -> list[weakref.ref[Any]]:
    """The optimizers that variables hold: themselves, in a container, or as an attribute."""
    found: dict[int, Any] = {}
    optimizer = engine.optimizers()
    for space in spaces:
        for value in list(space.values()):
            for each in (value, *_parts(value, engine.tensor)):
                if isinstance(each, optimizer):
                    found[id(each)] = each
    return [weakref.ref(each) for each in found.values()]


def _parts(value: Any, tensor: type) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        yield from value if len(value) <= _LONGEST else ()
    elif isinstance(value, dict):
        yield from list(value.values()) if len(value) <= _LONGEST else ()
    elif not isinstance(value, (type, tensor)) and not is_ours(type(value)):
        attributes = getattr(value, "__dict__", None)
        yield from list(attributes.values()) if isinstance(attributes, dict) and len(attributes) <= _LONGEST else ()


def memory_of(engine: Engine, leaves: Iterable[weakref.ref[Any]], optimizers: Iterable[weakref.ref[Any]]) -> Memory:
    """The bytes that are held now."""
    living = [leaf for leaf in [ref() for ref in leaves] if leaf is not None]
    states = [each.state.values() for each in [ref() for ref in optimizers] if each is not None]
    kept = [item for state in states for entry in state for item in entry.values() if isinstance(item, engine.tensor)]
    return Memory(*engine.leaf_bytes(living), engine.bytes_of(kept))
