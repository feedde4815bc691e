"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.tape import Tape
from autograph_cli.torch._core.node import Node, Packed
from autograph_cli.torch._core.operation import _saved_attribute
from autograph_cli.torch._core.views import CopySlices

_PLAIN = (bool, int, float, complex, str)
_LONGEST = 60


def collect(tape: Tape, numbers: tuple[int, int]) -> None:
    """Note what the living nodes of these rows keep, before a backward pass frees it."""
    first, last = numbers
    storages: dict[int, int] = {}
    rows = [row for _, row in tape.since(first) if row.number <= last and row.cls is not None]
    used = [s.storage for row in rows for s in tape.saved.get(row.number, ()) if s.storage is not None]
    start = max(used, default=-1) + 1
    for row in reversed(rows):
        node = row.ref()
        if row.number not in tape.saved and isinstance(node, Node) and node.saved:
            tape.saved[row.number] = tuple(_kept(node, storages, start))


def _kept(node: Node, storages: dict[int, int], start: int) -> Iterator[Saved]:
    if isinstance(node, CopySlices):
        yield from _kept(node.function(), storages, start)
        return
    for name, item in named_items(node):
        if item is not None:
            yield _saved(name, item, storages, start)


def named_items(node: Node) -> Iterator[tuple[str, Any]]:
    """What a node keeps, each under PyTorch's name; of a list, each item."""
    items = node.saved or ()
    labels = map(_saved_attribute, node.saved_names) if node.saved_names else map("saved_tensors[{}]".format, range(len(items)))
    for label, item in zip(labels, items, strict=False):
        if isinstance(item, (tuple, list)) and any(hasattr(part, "_raw") for part in item):
            yield from ((f"{label}[{place}]", part) for place, part in enumerate(item))
        else:
            yield label, item


def _saved(name: str, item: Any, storages: dict[int, int], start: int) -> Saved:
    if isinstance(item, Packed):
        return Saved(name, value="packed by a hook")
    raw = getattr(item, "_raw", None)
    if raw is None:
        return Saved(name, value=_shown(item))
    owner = raw
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    storage = storages.setdefault(id(owner), start + len(storages))
    return Saved(name, TensorType(raw.dtype.name, tuple(raw.shape)), bytes=raw.nbytes, storage=storage)


def _shown(item: Any) -> str:
    """A plain value as text that is the same on every run."""
    if isinstance(item, _PLAIN):
        text = repr(item)
    elif isinstance(item, np.dtype):
        text = item.name
    elif isinstance(item, (tuple, list)):
        parts = ", ".join(map(_shown, item))
        text = f"({parts},)" if len(item) == 1 else f"({parts})"
    else:
        text = type(item).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def bytes_kept(nodes: Iterable[Node]) -> int:
    """The bytes that these nodes keep for backward; memory that several of them share counts once."""
    owners: dict[int, int] = {}
    for node in nodes:
        for _, item in named_items(node):
            raw = None if isinstance(item, Packed) else getattr(item, "_raw", None)
            if raw is not None:
                owner = raw if getattr(raw, "base", None) is None else raw.base
                owners[id(owner)] = max(owners.get(id(owner), 0), raw.nbytes)
    return sum(owners.values())
