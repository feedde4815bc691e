"""The tensors that nodes of PyTorch keep for backward, read when nodes are made: names, types, bytes, shared memory."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from autograph_cli.engines.checkpoints import held_by
from autograph_cli.engines.protocol import Output
from autograph_cli.engines.pytorch.private import opened, packing
from autograph_cli.engines.values import Text, saved_value, shared_bytes
from autograph_cli.graph import Saved, TensorType, records
from autograph_cli.graph.records import HELD

_Tensor, _strided = torch.Tensor, torch.strided
_PREFIX, _RAW = "_saved_", "_raw_saved_"
_UNSIGNED = 1 << 63
"""PyTorch shows a negative dimension that it saved as an unsigned number from here on."""
_FREED = "after they have already been freed"
_REFUSES = ("torch::autograd::Error", "torch::autograd::NotImplemented")
"""The names of nodes that cannot run."""
_NAMED = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_NUMBERS = (float, bool)
PACKED = Text(records.PACKED)

Row = tuple[str, Any, Any, int, int, int, Output | None]
Looked = tuple[Row, ...]
"""Each thing as in `protocol.Saved`, with the id of its memory, and the output that it is."""


def look(node: Any, output_of: Callable[[Any], Output | None]) -> Looked | None:
    """Return what a node keeps; what a hook has packed stays packed, and what a checkpoint holds is told beside it."""
    global _packs
    hooks = packing()
    _packs = _packs or hooks is not None
    found = _own(node, hooks is not None, output_of)
    if hooks is not None and any(row[2] is PACKED for row in found):
        found += _held(hooks[1], output_of)
    return tuple(found) or None


_packs = False


def is_packed() -> bool:
    """Return whether hooks were met that pack what nodes keep."""
    return _packs


_last: tuple[Callable[[], Any], list[Row]] = (lambda: None, [])
"""The function that the last checkpoint unpacks by, and what that holds."""


def _held(unpack: Any, output_of: Callable[[Any], Output | None]) -> list[Row]:
    """Return what the checkpoint holds that unpacks by this function: the same for all nodes in it."""
    global _last
    if (last := _last)[0]() is not unpack:
        found: list[Row] = []
        for place, tensor in enumerate(held_by(unpack, torch.Tensor, torch.nn.Module, opened)):
            note_kept(found, f"{HELD}[{place}]", tensor, output_of)
        _last = last = weakref.ref(unpack), found
    return last[1]


def _own(node: Any, packed: bool, output_of: Callable[[Any], Output | None]) -> list[Row]:
    """Return what a node keeps itself."""
    found: list[Row] = []
    if is_custom(node.__class__):
        items = () if packed else _kept(node, "saved_tensors") or ()
        for place, item in enumerate(items):
            note_kept(found, f"saved_tensors[{place}]", item, output_of)
        if packed and node._raw_saved_tensors:
            found.append(("saved_tensors", None, PACKED, 0, 0, 0, None))
        for name, item in vars(node).items():
            if isinstance(item, torch.Tensor) and not item.requires_grad:
                note_kept(found, f"ctx.{name}", item, output_of)
        return found
    for name, holds_tensors in names_kept(node.__class__):
        if holds_tensors and packed:
            found.append((name, None, PACKED, 0, 0, 0, None))
            continue
        try:
            item = getattr(node, name)
        except RuntimeError:  # it was freed before anybody asked
            continue
        if item.__class__ in (tuple, list) and any(isinstance(part, _Tensor) for part in item):
            for place, part in enumerate(item):
                note_kept(found, f"{name}[{place}]", part, output_of)
        elif item is not None:
            note_kept(found, name, item, output_of)
    return found


def _kept(node: Any, name: str) -> Any:
    """Return what a node keeps under this name; None if it was freed before anybody asked."""
    try:
        return getattr(node, name)
    except RuntimeError:
        return None


def until_broken(nodes: Sequence[Any], was_freed: Callable[[Any], bool]) -> list[Any]:
    """Return the nodes of a failed pass up to the one that lacks what it needs; none if all have it."""
    first = 0
    for place, node in enumerate(nodes, 1):
        try:
            if node.name() in _REFUSES:
                return list(nodes[:place])
            for name, _ in names_kept(node.__class__):
                getattr(node, name)
        except RuntimeError as error:  # changed in place; or freed, maybe by this pass itself
            if _FREED not in str(error) or was_freed(node):
                return list(nodes[:place])
            first = first or place
    return list(nodes[:first])


@functools.cache
def is_custom(cls: type) -> bool:
    """Return whether nodes of this class are of a custom Function."""
    return hasattr(cls, "saved_tensors")


@functools.cache
def names_kept(cls: type) -> tuple[tuple[str, bool], ...]:
    """The attributes of nodes of this class that hold what is saved, and whether that is tensors."""
    every = dir(cls)
    return tuple((name, f"{_RAW}{name.removeprefix(_PREFIX)}" in every) for name in every if name.startswith(_PREFIX))


def note_kept(found: list[Row], name: str, item: Any, output_of: Callable[[Any], Output | None]) -> None:
    if item is None:
        return
    if isinstance(item, _Tensor):
        dtype = dtype_and_device(item.dtype, item.device)
        version = 0 if item.is_inference() else item._version
        size = int(item.nbytes) if item.layout is _strided else size_of(item)
        found.append((name, dtype, shape_of(item), storage_of(item), size, version, output_of(item)))
    else:
        found.append((name, None, plain(item), 0, 0, 0, None))


@functools.lru_cache(256)
def dtype_and_device(dtype: Any, device: Any) -> tuple[str, str]:
    return str(dtype).removeprefix("torch."), str(device)


def plain(item: Any) -> Any:
    """A kept value that is no tensor, so that `protocol.shown` shows it."""
    if item.__class__ is int:
        return item - (1 << 64) if item >= _UNSIGNED else item
    if item.__class__ in _NUMBERS:
        return item
    if isinstance(item, (tuple, list)):
        return tuple(map(plain, item))
    return Text(str(item).removeprefix("torch.")) if isinstance(item, _NAMED) else item


def constants(looked: Looked | None) -> Looked | None:
    """Return what of it is no tensor."""
    return tuple([row for row in looked or () if row[1] is None]) or None


def saved(
    cls: Any, looked: Looked, storages: dict[int, int], start: int
) -> tuple[tuple[Saved, ...], dict[str, Output]]:
    """Return what a node keeps, and the outputs that these are; see `protocol.Engine`."""
    found: list[Saved] = []
    outputs: dict[str, Output] = {}
    for name, dtype, what, storage, size, version, output in looked:
        if dtype is None:
            found.append(saved_value(name, what))
            continue
        number = storages.setdefault(storage, start + len(storages))
        found.append(Saved(name, _saved_type(dtype, what), "", size, number, version))
        if output is not None:
            outputs[name] = output
    return tuple(found), outputs


def alike(
    looked: Looked, storages: dict[int, int], versions: dict[int, int], place: Callable[[Output | None], Any]
) -> tuple[Any, ...]:
    """Return what a node keeps without what differs from step to step; see `protocol.NodeFacts`. Values other than
    tensors were told with the operation."""
    return tuple(
        [
            (
                name,
                dtype,
                what,
                storages.setdefault(at, len(storages)),
                size,
                version - versions.setdefault(at, version),
            )
            + ((None,) if output is None else (place(output),))
            for name, dtype, what, at, size, version, output in looked
            if dtype is not None
        ]
    )


def kept_outputs(
    number: int, cls: Any, following: Sequence[Output | None], kept: Iterable[Saved], outputs: dict[str, Output] | None
) -> Iterator[tuple[Output, int]]:
    """The outputs that a node keeps, and the memory in which they are."""
    for saved in kept:
        if saved.storage is not None and outputs and saved.name in outputs:
            yield outputs[saved.name], saved.storage


def saved_constants(cls: Any, looked: Looked) -> tuple[Saved, ...]:
    """Return what of it is no tensor, as `constants` has it."""
    return tuple([saved_value(name, what) for name, _, what, *_ in looked])


@functools.lru_cache(1024)
def _saved_type(dtype: tuple[str, str], shape: tuple[int, ...]) -> TensorType:
    """The type of a tensor that is kept."""
    return TensorType(dtype[0], sides(shape), dtype[1])


def shape_of(x: Any) -> tuple[Any, ...]:
    """The shape of a tensor or of a node's output; a nested tensor has sides that are no numbers, or no shape."""
    try:
        return tuple(x.shape)
    except RuntimeError:
        return (-1,) * x.dim() if isinstance(x, torch.Tensor) else (-1,)


def sides(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape in numbers: -1 for a side that has no one length."""
    return tuple([side if side.__class__ is int else -1 for side in shape])


def storage_of(tensor: Any) -> int:
    """The id of the memory in which a tensor is; its own, where it has none that could be shared."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # sparse, and wrapped by a transform
        return id(tensor)


def size_of(tensor: Any) -> int:
    """The bytes of a tensor; of a sparse one, of what it is made of."""
    if tensor.layout is torch.strided:
        return int(tensor.nbytes)
    if tensor.layout is torch.sparse_coo:
        return int(tensor._values().nbytes + tensor._indices().nbytes)
    parts = ("values", "crow_indices", "col_indices", "ccol_indices", "row_indices")
    return sum(_part_size(tensor, name) for name in parts)


def _part_size(tensor: Any, name: str) -> int:
    try:
        return int(getattr(tensor, name)().nbytes)
    except RuntimeError:  # this layout has none
        return 0


def storages(tensors: Iterable[Any]) -> list[int]:
    """The ids of the memory in which tensors are."""
    return list(map(storage_of, tensors))


def bytes_of(tensors: Iterable[Any]) -> int:
    """The bytes of tensors; memory that several of them share counts once."""
    return shared_bytes((storage_of(tensor), size_of(tensor)) for tensor in tensors)


def leaf_bytes(leaves: Iterable[Any]) -> tuple[int, int]:
    """The bytes of these leaves, and of their gradients."""
    parameters = [leaf for leaf in leaves if leaf.is_leaf and leaf.requires_grad]
    return bytes_of(parameters), bytes_of([x.grad for x in parameters if x.grad is not None])
