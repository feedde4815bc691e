"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.tape import Kept, Tape
from autograph_cli.torch._core.node import AccumulateGrad, MetaLike, Node, Packed
from autograph_cli.torch._core.operation import _saved_attribute
from autograph_cli.torch._core.views import CopySlices
from autograph_cli.torch._kernels.meta import Meta

_PLAIN = (bool, int, float, complex, str)
_KEPT_AS_THEY_ARE = frozenset((*_PLAIN, type(None), np.dtype))
_LONGEST = 60


def collect(tape: Tape, numbers: tuple[int, int]) -> None:
    """Note what the living nodes of these rows keep, before a backward pass frees it."""
    first, last = numbers
    saved = tape.saved
    rows = [row for _, row in tape.since(first) if row[0] <= last and row[2] is not None and row[2] is not AccumulateGrad]
    used = [kept[3] for row in rows if row[0] in saved for kept in saved[row[0]] if kept[1] is not None]
    start = max(used, default=-1) + 1
    storages: dict[int, int] = {}
    for row in reversed(rows):
        if row[0] not in saved:
            node = row[1]()
            if node is not None and node._saved:
                saved[row[0]] = tuple([_kept(name, item, storages, start) for name, item in _items(node)])


def records(kept: Iterable[Kept]) -> tuple[Saved, ...]:
    """What was noted, as records of the graph."""
    return tuple([
        Saved(name, value=_shown(what)) if dtype is None else Saved(name, _type(dtype, what), bytes=size, storage=storage)
        for name, dtype, what, storage, size in kept
    ])  # fmt: skip


@functools.lru_cache(1024)
def _type(dtype: Any, shape: tuple[int, ...]) -> TensorType:
    return TensorType(dtype.name, tuple(shape), "meta" if shape.__class__ is MetaLike else "cpu")


@functools.cache
def _labels(cls: type[Node]) -> tuple[str, ...]:
    return tuple(map(_saved_attribute, cls._item_names))


def _items(node: Node) -> list[tuple[str, Any]]:
    """What a node keeps, each under PyTorch's name; of a list, each item."""
    if isinstance(node, CopySlices):
        node = node.function()
    items = node._saved or ()
    labels = _labels(node.__class__) or [f"saved_tensors[{place}]" for place in range(len(items))]
    found = []
    for label, item in zip(labels, items, strict=False):
        if item.__class__ in (tuple, list) and not _is_size(item) and any(hasattr(part, "_raw") for part in item):
            found += [(f"{label}[{place}]", part) for place, part in enumerate(item)]
        elif item is not None:
            found.append((label, item))
    return found


def _is_size(item: Any) -> bool:
    """Whether this is a shape or the like: quickly told, as there are many."""
    return not item or item[0].__class__ is int


def is_plain(item: Any) -> bool:
    """Whether this is a number, a text, or a tuple of such, which can be kept without keeping anything else."""
    kind = item.__class__
    return kind in _KEPT_AS_THEY_ARE or (kind is tuple and _KEPT_AS_THEY_ARE.issuperset(map(type, item)))


def plain_values(node: Node) -> list[Any]:
    """The plain values among what a node keeps."""
    return [item for item in node._saved or () if item is not None and is_plain(item)]


def _kept(name: str, item: Any, storages: dict[int, int], start: int) -> Kept:
    if is_plain(item):
        return name, None, item, 0, 0
    kind = item.__class__
    raw = None if kind is Packed else getattr(item, "_raw", None)
    if raw is None:
        return name, None, _Text("packed by a hook" if kind is Packed else _shown(item)), 0, 0
    shape = MetaLike(raw.shape) if raw.__class__ is Meta else raw.shape
    return name, raw.dtype, shape, storages.setdefault(id(_owner(raw)), start + len(storages)), raw.nbytes


def _owner(raw: Any) -> Any:
    """The array whose memory this is, or what stands for it where there is none."""
    if raw.__class__ is Meta:
        return raw.memory
    base = getattr(raw, "base", None)
    while isinstance(base, np.ndarray):
        raw, base = base, base.base
    return raw


class _Text(str):
    """What is shown as it is, without quotes."""


def _shown(item: Any) -> str:
    """A plain value as text that is the same on every run."""
    if isinstance(item, _Text):
        return str(item)
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
    """The bytes that these nodes keep for backward; memory that several of them share counts once, what is on `meta` not at all."""
    sizes: dict[int, int] = {}
    for node in nodes:
        for _, item in _items(node):
            raw = None if isinstance(item, Packed) else getattr(item, "_raw", None)
            if raw is not None and raw.__class__ is not Meta:
                owner = id(_owner(raw))
                sizes[owner] = max(sizes.get(owner, 0), raw.nbytes)
    return sum(sizes.values())
