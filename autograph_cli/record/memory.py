"""The bytes that a step holds: its parameters, their gradients, and the state of optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograph_cli.graph import Memory
from autograph_cli.record.naming import is_ours
from autograph_cli.record.saved import owner
from autograph_cli.torch._core.node import LEAF
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch.optim.optimizer import Optimizer

_LONGEST = 256
"""Longer containers are data, and no place of optimizers."""


def optimizers_in(spaces: Iterable[Mapping[str, Any]]) -> list[weakref.ref[Optimizer]]:
    """The optimizers that variables hold: themselves, in a container, or as an attribute."""
    found: dict[int, Optimizer] = {}
    for space in spaces:
        for value in list(space.values()):
            for each in (value, *_parts(value)):
                if isinstance(each, Optimizer):
                    found[id(each)] = each
    return [weakref.ref(each) for each in found.values()]


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        yield from value if len(value) <= _LONGEST else ()
    elif isinstance(value, dict):
        yield from list(value.values()) if len(value) <= _LONGEST else ()
    elif not isinstance(value, (type, Tensor)) and not is_ours(type(value)):
        attributes = getattr(value, "__dict__", None)
        yield from list(attributes.values()) if isinstance(attributes, dict) and len(attributes) <= _LONGEST else ()


def memory_of(leaves: Iterable[weakref.ref[Tensor]], optimizers: Iterable[weakref.ref[Optimizer]]) -> Memory:
    """The bytes that are held now."""
    parameters = [leaf for leaf in (ref() for ref in leaves) if leaf is not None and leaf._edge is LEAF]
    metas = [leaf._meta for leaf in parameters]
    gradients = [meta.grad for meta in metas if meta is not None and meta.grad is not None]
    states = [each.state.values() for each in (ref() for ref in optimizers) if each is not None]
    kept = [item for state in states for entry in state for item in entry.values() if isinstance(item, Tensor)]
    return Memory(_bytes(parameters), _bytes(gradients), _bytes(kept))


def _bytes(tensors: Iterable[Tensor]) -> int:
    sizes: dict[int, int] = {}
    for tensor in tensors:
        raw = tensor._raw
        size = raw.nbytes if hasattr(raw, "nbytes") else raw.values.nbytes + raw.places.nbytes
        place = id(owner(raw))
        sizes[place] = max(sizes.get(place, 0), size)
    return sum(sizes.values())
