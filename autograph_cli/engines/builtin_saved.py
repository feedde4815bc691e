"""What nodes of the built-in engine keep for backward: names, types, bytes and shared memory, without the values."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from autograph_cli.engines.protocol import Output, Saved, Text, shown
from autograph_cli.graph import TensorType
from autograph_cli.torch._core import storages as memory
from autograph_cli.torch._core.node import LEAF, MetaLike, Node, shape_dtype
from autograph_cli.torch._core.operation import _saved_attribute
from autograph_cli.torch._core.saved_tensors import Packed, SavedList, SavedResult
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch._core.views import CopySlices
from autograph_cli.torch._kernels.meta import Meta

_PLAIN = frozenset((bool, int, float, complex, str, type(None)))
"""Classes of what can be kept without keeping anything else."""
_LISTS = frozenset((tuple, list, SavedList))
_TENSORS = (Tensor, SavedResult)
_ZEROS = itertools.repeat(0)
Places = tuple[tuple[int | None, ...], tuple[int | None, ...]]
"""For each thing that a node keeps, the edge of the input or the output that it is."""


def saved(node: Node, storages: dict[int, int], start: int) -> tuple[tuple[Saved, ...], Places | None] | None:
    """What a living node keeps, and, of a custom Function, which inputs and outputs these are; None if it keeps nothing."""
    items = node._saved
    if not items:
        return None
    simple = node._operation is not None and node._extra is None and _LISTS.isdisjoint(map(type, items))
    found = []
    for name, item, version in zip(_labels(node.__class__), items, _ZEROS, strict=False) if simple else _items(node):
        kind = item.__class__
        if isinstance(item, _TENSORS):
            raw = item._raw
            whole = raw.__class__ is np.ndarray and raw.base is None
            place = id(raw if whole else owner(raw))
            storage = storages.get(place)
            if storage is None:
                storage = storages[place] = start + len(storages)
            shape = MetaLike(raw.shape) if raw.__class__ is Meta else raw.shape
            found.append((name, raw.dtype, shape, storage, raw.nbytes, version))
        elif item is None:
            continue
        elif kind in _PLAIN or isinstance(item, np.dtype) or (kind is tuple and _PLAIN.issuperset(map(type, item))):
            found.append((name, None, item, 0, 0, 0))
        else:
            found.append((name, None, Text("packed by a hook" if kind is Packed else shown(item)), 0, 0, 0))
    return tuple(found), None if node._operation is not None else (node._item_edges, node._item_results)


def _items(node: Node) -> list[tuple[str, Any, int]]:
    """What a node keeps, each under PyTorch's name and with the version that it had; of a list, each item."""
    if isinstance(node, CopySlices):
        node = node.function()
    items = node._saved or ()
    labels = _labels(node.__class__) or [f"saved_tensors[{place}]" for place in range(len(items))]
    extra = node._extra
    versions = None if extra is None else extra.versions
    found = []
    for place, (label, item) in enumerate(zip(labels, items, strict=False)):
        if item is None:
            continue
        kind = item.__class__
        if (kind is tuple or kind is list) and not _is_size(item) and any(hasattr(part, "_raw") for part in item):
            found += [(f"{label}[{number}]", part, 0) for number, part in enumerate(item)]
        elif kind is SavedList:
            parts = enumerate(zip(item._items, item._versions, strict=True))
            found += [(f"{label}[{number}]", part, version) for number, (part, version) in parts if part is not None]
        else:
            found.append((label, item, versions.get(place, 0) if versions else 0))
    return found


def _is_size(item: Any) -> bool:
    """Whether this is a shape or the like: quickly told, as there are many."""
    return not item or item[0].__class__ is int


@functools.cache
def _labels(cls: type[Node]) -> tuple[str, ...]:
    return tuple(map(_saved_attribute, cls._item_names))


def kept_outputs(
    number: int, cls: type[Node], following: Sequence[Output | None], kept: Iterable[Saved], places: Places | None
) -> Iterator[tuple[Output, int]]:
    """The outputs that a node keeps, those of other nodes and its own, and the memory in which they lie."""
    edges, results = places or (cls._item_edges, cls._item_results)
    labels = _labels(cls) or tuple(f"saved_tensors[{place}]" for place in range(len(edges)))
    ends = dict(zip(labels, zip(edges, results, strict=True), strict=False))
    for name, dtype, _, storage, _, _ in kept:
        edge, result = ends.get(name, (None, None))
        output = following[edge] if edge is not None and edge < len(following) else None
        if dtype is not None and result is not None:
            yield (number, result), storage
        elif dtype is not None and output is not None:
            yield output, storage


def types(cls: type[Node] | None, like: Any) -> list[TensorType]:
    """The types of a node's outputs, or of a tensor where there is no node."""
    return [_type(each) for each in (like if cls is not None and cls._multiple else [like])]


@functools.lru_cache(1024)
def saved_type(dtype: Any, shape: tuple[int, ...]) -> TensorType:
    """The type of a tensor that is kept."""
    return TensorType(dtype.name, tuple(shape), "meta" if shape.__class__ is MetaLike else "cpu")


def _type(like: Any) -> TensorType:
    if like is None:  # an output of a custom Function that is no tensor
        return TensorType("object", ())
    shape, dtype = shape_dtype(like)
    return TensorType(dtype.name, tuple(shape), "meta" if like.__class__ is MetaLike else "cpu")


def storage(tensor: Tensor) -> int:
    """The id of the memory in which a tensor lies."""
    raw = tensor._raw
    return id(raw if raw.__class__ is np.ndarray and raw.base is None else owner(raw))


def owner(raw: Any) -> Any:
    """The array whose memory this is, or what stands for it where there is none."""
    return raw.memory if raw.__class__ is Meta else memory.owner(raw)


def leaf_bytes(leaves: Iterable[Tensor]) -> tuple[int, int]:
    """The bytes of these leaves, and of their gradients."""
    parameters = [leaf for leaf in leaves if leaf._edge is LEAF]
    metas = [leaf._meta for leaf in parameters]
    return bytes_of(parameters), bytes_of([meta.grad for meta in metas if meta is not None and meta.grad is not None])


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """The bytes of tensors; memory that several of them share counts once."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        raw = tensor._raw
        size = raw.nbytes if hasattr(raw, "nbytes") else raw.values.nbytes + raw.places.nbytes
        place = storage(tensor)
        sizes[place] = max(sizes.get(place, 0), size)
    return sum(sizes.values())


def bytes_kept(nodes: Iterable[Node]) -> int:
    """The bytes that these nodes keep; memory that several of them share counts once, what is on `meta` not at all."""
    sizes: dict[int, int] = {}
    for node in nodes:
        for _, item, _ in _items(node):
            raw = None if isinstance(item, Packed) else getattr(item, "_raw", None)
            if raw is not None and raw.__class__ is not Meta:
                place = id(owner(raw))
                sizes[place] = max(sizes.get(place, 0), raw.nbytes)
    return sum(sizes.values())
