"""What nodes keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograph_cli.graph import Saved, TensorType
from autograph_cli.record.tape import Kept, Row, Tape, key_of, number_of
from autograph_cli.torch._core import storages as memory
from autograph_cli.torch._core.dims import Given
from autograph_cli.torch._core.node import AccumulateGrad, MetaLike, Node
from autograph_cli.torch._core.saved_attributes import attribute
from autograph_cli.torch._core.saved_tensors import Packed, SavedList
from autograph_cli.torch._core.views import CopySlices
from autograph_cli.torch._kernels.meta import Meta

_PLAIN = (bool, int, float, complex, str)
_KEPT_AS_THEY_ARE = frozenset((*_PLAIN, type(None), np.dtype, Given))
_LONGEST = 60


def collect(tape: Tape, numbers: tuple[int, int]) -> None:
    """Note what the living nodes of these rows keep, before a backward pass frees it."""
    first, last = numbers
    saved = tape.saved
    rows = [
        row for _, row in tape.since(first) if row[0] <= last and row[2] is not None and row[2] is not AccumulateGrad
    ]
    used = [kept[3] for row in rows if row[0] in saved for kept in saved[row[0]] if kept[1] is not None]
    start = max(used, default=-1) + 1
    storages: dict[int, int] = {}
    for row in reversed(rows):
        if row[0] not in saved:
            node = row[1]()
            if node is not None and node._saved:
                saved[row[0]] = tuple(
                    [_kept(name, item, storages, start, version) for name, item, version in _items(node)]
                )
                if node._operation is None:
                    tape.custom[row[0]] = node._item_edges, node._item_results
    _find_leaves(tape, rows, storages, start)


Versions = dict[int, list[int]]
"""The versions that are kept of each storage, in order of first use."""


def records(kept: Iterable[Kept], versions: Versions, given: Collection[int] = ()) -> tuple[Saved, ...]:
    """What was noted, as records of the graph; `given` are the storages of leaves and inputs.

    Versions are numbered among those of their storage that are kept, so that the turns of a loop are alike.
    """
    found = []
    for name, dtype, what, storage, size, version in kept:
        if dtype is None:
            found.append(Saved(name, value=_shown(what)))
            continue
        known = versions.setdefault(storage, [])
        if version not in known:
            known.append(version)
        found.append(
            Saved(
                name,
                _type(dtype, what),
                bytes=size,
                storage=storage,
                version=known.index(version),
                given=storage in given,
            )
        )
    return tuple(found)


def places_of(row: Row, tape: Tape) -> Iterator[tuple[tuple[int, int], int]]:
    """The outputs, by their row's number and their own, that a row's node keeps, and the memory in which they lie."""
    kept = tape.saved.get(row.number, ())
    if row.cls is None or not kept:
        return
    edges, results = tape.custom.get(row.number, (row.cls._item_edges, row.cls._item_results))
    labels = _labels(row.cls) or tuple(f"saved_tensors[{place}]" for place in range(len(edges)))
    ends = dict(zip(labels, zip(edges, results, strict=True), strict=False))
    for name, dtype, _, storage, _, _ in kept:
        edge, result = ends.get(name, (None, None))
        output = row.next[edge] if edge is not None and edge < len(row.next) else None
        known = None if output is None else tape.rows.get(key_of(output))
        if dtype is not None and result is not None:
            yield (row.number, result), storage
        elif dtype is not None and known is not None and output is not None:
            yield (known.number, number_of(output)), storage


@functools.lru_cache(1024)
def _type(dtype: Any, shape: tuple[int, ...]) -> TensorType:
    return TensorType(dtype.name, tuple(shape), "meta" if shape.__class__ is MetaLike else "cpu")


@functools.cache
def _labels(cls: type[Node]) -> tuple[str, ...]:
    return tuple(map(attribute, cls._item_names))


def _find_leaves(tape: Tape, rows: Iterable[Row], storages: Mapping[int, int], start: int) -> None:
    """Note the leaves of these rows, and which leaves and inputs lie in memory that is kept."""
    if start == 0:
        tape.lies.clear()
        tape.parameters.clear()
    keys = {key_of(output) for row in rows for output in (*row.next, *row.args) if output is not None}
    for row in map(tape.rows.get, sorted(keys)):
        tensor = None if row is None or row.is_operation else row.ref()
        if row is not None and tensor is not None:
            if row.cls is not None:
                tape.parameters[row.number] = row.ref
            storage = storages.get(id(owner(tensor._raw)))
            if storage is not None:
                tape.lies[row.number] = storage


def _items(node: Node) -> list[tuple[str, Any, int]]:
    """What a node keeps, each under PyTorch's name and with the version that it had; of a list, each item."""
    if isinstance(node, CopySlices):
        node = node.function()
    items = node._saved or ()
    labels = _labels(node.__class__) or [f"saved_tensors[{place}]" for place in range(len(items))]
    extra = node._extra
    versions = {} if extra is None or extra.versions is None else extra.versions
    found = []
    for place, (label, item) in enumerate(zip(labels, items, strict=False)):
        if item.__class__ in (tuple, list) and not _is_size(item) and any(hasattr(part, "_raw") for part in item):
            found += [(f"{label}[{number}]", part, 0) for number, part in enumerate(item)]
        elif item.__class__ is SavedList:
            parts = enumerate(zip(item._items, item._versions, strict=True))
            found += [(f"{label}[{number}]", part, version) for number, (part, version) in parts if part is not None]
        elif item is not None:
            found.append((label, item, versions.get(place, 0) if versions else 0))
    return found


def _is_size(item: Any) -> bool:
    """Whether this is a shape or the like: quickly told, as there are many."""
    return not item or item[0].__class__ is int


def is_plain(item: Any) -> bool:
    """Whether this is a number, a text, or a tuple of such, which can be kept without keeping anything else."""
    kind = item.__class__
    return kind in _KEPT_AS_THEY_ARE or (issubclass(kind, tuple) and _KEPT_AS_THEY_ARE.issuperset(map(type, item)))


def plain_places(cls: type[Node] | None, kept: Iterable[Kept]) -> list[tuple[int, Any]]:
    """What a node keeps beside tensors, each by its place among all that such a node keeps; None where it keeps nothing."""
    if cls is None or cls._operation is None:
        return []
    values = {name: value for name, dtype, value, *_ in kept if dtype is None}
    tensors = map(cls._operation.is_tensor, cls._item_names)
    return [
        (place, values.get(label))
        for place, (label, tensor) in enumerate(zip(_labels(cls), tensors, strict=True))
        if not tensor
    ]


def _kept(name: str, item: Any, storages: dict[int, int], start: int, version: int) -> Kept:
    if is_plain(item):
        return name, None, item, 0, 0, 0
    kind = item.__class__
    raw = None if kind is Packed else getattr(item, "_raw", None)
    if raw is None:
        return name, None, _Text("packed by a hook" if kind is Packed else _shown(item)), 0, 0, 0
    shape = MetaLike(raw.shape) if raw.__class__ is Meta else raw.shape
    storage = storages.setdefault(id(owner(raw)), start + len(storages))
    return name, raw.dtype, shape, storage, raw.nbytes, version


def owner(raw: Any) -> Any:
    """The array whose memory this is, or what stands for it where there is none."""
    if raw.__class__ is Meta:
        return raw.memory
    return memory.owner(raw)


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
        for _, item, _ in _items(node):
            raw = None if isinstance(item, Packed) else getattr(item, "_raw", None)
            if raw is not None and raw.__class__ is not Meta:
                place = id(owner(raw))
                sizes[place] = max(sizes.get(place, 0), raw.nbytes)
    return sum(sizes.values())
