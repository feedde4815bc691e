"""The tensors that nodes of the built-in engine keep for backward: names, types, bytes and shared memory, no values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograph_cli.engines.checkpoints import held_by
from autograph_cli.engines.protocol import Output
from autograph_cli.engines.values import Text, places, saved_value, shared_bytes, shown
from autograph_cli.graph import Saved, TensorType
from autograph_cli.graph.records import HELD, PACKED
from autograph_cli.torch._arrays import storages as memory
from autograph_cli.torch._arrays.backends import ELSEWHERE, device_of
from autograph_cli.torch._arrays.meta import Meta
from autograph_cli.torch._core.base.dims import Given, GivenSizes
from autograph_cli.torch._core.running.views import CopySlices
from autograph_cli.torch._core.tape.node import LEAF, Node, device_of_like, likes_on, shape_dtype
from autograph_cli.torch._core.tape.saved_attributes import attribute, needs
from autograph_cli.torch._core.tape.saved_tensors import Packed, SavedList, SavedResult, without_hooks
from autograph_cli.torch._core.tape.tensor import Tensor
from autograph_cli.torch._core.tape.wrapped_numbers import number_of
from autograph_cli.torch.nn import Module

_PLAIN = frozenset((bool, int, float, complex, str, type(None), Given))
"""Classes of what can be kept without keeping anything else."""
BRIEF = _PLAIN | {tuple}
"""The same, and sizes and the like, of which `saved_constants` looks at each number."""
_TENSORS = frozenset((Tensor, SavedResult))
_array = np.ndarray
ARRAYS = frozenset((_array, *np.sctypeDict.values()))
"""NumPy's arrays, and its scalars, which single numbers are in."""
Positions = tuple[tuple[int | tuple[int, int] | None, ...], tuple[int | None, ...]]
"""For each thing that a node keeps, the edge of the input or the output that it is; of a copy from before a change in
place, which output of which node."""
Ends = dict[str, tuple[int | tuple[int, int] | None, int | None]]


def look(nodes: Iterable[Node | None]) -> Iterator[Any]:
    """Yield what living nodes keep, as plain data that `saved` reads; None for one that keeps nothing.

    Quick: it is done in every step.
    """
    for node in nodes:
        if node is None:
            yield None
            continue
        cls = node.__class__
        if not (items := node._ag_saved) or not (_kinds.get(cls) or kind_of(cls)).simple:
            yield _look_into(node)
            continue
        kept: list[Any] = []
        packed = None
        for item in items:  # a comprehension for each node takes longer
            kind = item.__class__
            if kind in _TENSORS and (raw := item._ag_raw).__class__ in ARRAYS:
                kept.append([raw.dtype, raw.shape, id(raw if raw.base is None else owner(raw)), raw.nbytes])
            else:
                kept.append(item if kind in BRIEF else noted_of(item))
                packed = item if kind is Packed and item.hooked else packed
        extra = node._ag_extra
        versions = None if extra is None else extra.versions
        if packed is not None:
            held = _held(packed)
            versions = {**(versions or {}), **{len(kept) + n: x._version for n, x in enumerate(held)}}
            kept += map(noted_of, held)
        yield versions, kept


def _held(packed: Packed) -> list[Tensor]:
    """Return what the checkpoint holds that took over a saved tensor."""
    return held_by(packed.unpack, Tensor, Module, _opened)


def _opened(item: Any) -> tuple[Any, ...]:
    return (item.packed, item.unpack) if isinstance(item, Packed) else ()


def _look_into(node: Node) -> Any:
    """Return what a node keeps of which not each is under a name of its own; None if it keeps nothing or was freed."""
    if node._ag_saved is None or not (node._ag_saved or hasattr(node, "__dict__")) or kind_of(node.__class__).simple:
        return None
    seen = [(name, noted_of(item), version) for name, item, version in _items(node)]
    return (
        (None, seen, None if node._ag_operation is not None else (node._ag_item_edges, node._ag_item_results))
        if seen
        else None
    )


def constants(taken: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a node keeps that is no tensor, `taken` by its class's `Traits`, as `saved_constants` reads it."""
    return (
        tuple(taken) if BRIEF.issuperset(map(type, taken)) else tuple([x if _is_constant(x) else None for x in taken])
    )


def plain_arguments(inputs: Iterable[Any]) -> tuple[Any, ...]:
    """Return what an operation was given that is no tensor, in its place; None for the rest."""
    return tuple(
        [
            number_of(x) if isinstance(x, Tensor) else x if _is_constant(x) else places(getattr(x, "given", x))
            for x in inputs
        ]
    )


class Traits(NamedTuple):
    """Facts on all nodes of a class, looked up for each operation that leaves one."""

    takes_edges: bool
    """True if the tensors that the operation takes are those that the node has edges for."""
    forgets_plain: bool
    """True if it takes arguments that are no tensors and that the node does not keep."""
    take: Callable[[Any], tuple[Any, ...]] | None
    """Takes what is no tensor from all that a node keeps, if there is any."""
    positions: tuple[int, ...] = ()
    """The positions of the taken values among all that the node keeps."""


@functools.cache
def traits(cls: type[Node]) -> Traits:
    """The traits of a class of nodes."""
    operation = cls._ag_operation
    if operation is None:
        return Traits(False, cls is CopySlices, None)
    takes_edges = not operation.flattens and 0 < len(operation.inputs) == len(operation.positions)
    forgets_plain = any(
        not parameter.is_tensor and not parameter.is_list and parameter.name not in operation.saved_names
        for parameter in operation.schema.parameters
    )
    labels, made_of = _labels(cls), {n for _, _, given in _made(cls) for n in given}
    plain = [n for n, name in enumerate(operation.saved_names) if not operation.is_tensor(name)]
    positions = [n for n in plain if n in made_of or hasattr(cls, labels[n])]
    if not positions:
        return Traits(takes_edges, forgets_plain, None)
    take: Any = operator.itemgetter(*positions, positions[0])  # never one thing only: that would not come in a tuple
    return Traits(takes_edges, forgets_plain, take, tuple(positions))


def _is_constant(item: Any) -> bool:
    kind = item.__class__
    return (
        kind in _PLAIN or (issubclass(kind, tuple) and _PLAIN.issuperset(map(type, item))) or isinstance(item, np.dtype)
    )


def saved_constants(cls: type[Node], noted: Any) -> tuple[Saved, ...]:
    """Return what a node keeps that is no tensor, where no more was noted."""
    labels = _labels(cls)
    taken = {} if noted is None else dict(zip(traits(cls).positions, noted, strict=False))
    shown = [(labels[n], item) for n, item in taken.items() if item is not None and hasattr(cls, labels[n])]
    found = [saved_value(name, as_given(item)) for name, item in shown if _is_constant(item)]
    return (*found, *(_values_made(cls, taken) if taken else ()), *kind_of(cls).always)


@functools.cache
def _made(cls: type[Node]) -> tuple[tuple[str, Callable[..., Any], tuple[int, ...]], ...]:
    """Return what PyTorch's nodes of this class keep that is no tensor and is made here of what these do: its name,
    how, and where that stands."""
    operation = cls._ag_operation
    shows = [] if operation is None else [(name, show) for name, show in operation.saved.items() if callable(show)]
    return tuple(
        [
            (f"_saved_{name}", show, tuple(map(operation.saved_names.index, given)))
            for name, show in shows
            if operation is not None and (given := needs(show)) and not any(map(operation.is_tensor, given))
        ]
    )


def _values_made(cls: type[Node], items: Any) -> list[Saved]:
    """The same with its values, of the items that a node keeps, by where they stand."""
    values = [(name, show(*[items[n] for n in given])) for name, show, given in _made(cls)]
    return [saved_value(name, value) for name, value in values if value is not None]


def _always(cls: type[Node]) -> tuple[Saved, ...]:
    """Return what PyTorch's nodes of this class keep, and here is the same for all of them."""
    given = {} if cls._ag_operation is None else cls._ag_operation.saved
    made = {name: show() for name, show in given.items() if callable(show) and not needs(show)}
    return tuple([saved_value(f"_saved_{name}", value) for name, value in made.items() if value is not None])


def as_given(item: Any) -> Any:
    """A kept value as PyTorch's node has it: a dimension that was given as a negative number is negative."""
    if isinstance(item, (Given, GivenSizes)):
        return item if item.given is None else item.given
    return tuple(map(as_given, item)) if item.__class__ is tuple else item


def noted_of(item: Any) -> Any:
    """Return what is noted of one thing that a node keeps: a list for a tensor, else what it is or how it is shown."""
    kept = without_hooks(item)
    kind = kept.__class__
    if kind is not Packed and hasattr(kept, "_ag_raw"):
        raw = kept._ag_raw
        shape = likes_on(device_of(raw))(raw.shape) if raw.__class__ in ELSEWHERE else raw.shape
        copy = [] if kept is item or item.edge is None else [(item.edge[0]._ag_seq, item.edge[1])]
        return [raw.dtype, shape, id(owner(raw)), raw.nbytes, *copy]
    if kind in _PLAIN or isinstance(item, np.dtype) or (issubclass(kind, tuple) and _PLAIN.issuperset(map(type, item))):
        return item
    return Text(PACKED if kind is Packed else shown(item))


def saved(
    cls: type[Node], looked: Any, storages: dict[int, int], start: int
) -> tuple[tuple[Saved, ...], Positions | None]:
    """Return what a node keeps, and, of a custom Function, which inputs and outputs these are.

    `storages` numbers the memory that was met, by id, the first one `start`.
    """
    _, labels, always, _, _ = _kinds.get(cls) or kind_of(cls)
    if len(looked) == 2:
        versions, items = looked
        positions = None
    else:
        _, seen, positions = looked
        labels, items = [name for name, _, _ in seen], [item for _, item, _ in seen]
        versions = {place: version for place, (_, _, version) in enumerate(seen)}
    found: list[Saved] = []
    copies = False
    for place, item in enumerate(items):
        if item.__class__ is list:
            if len(item) > 4:
                copies = True
            number = storages.setdefault(item[2], start + len(storages))
            version = versions.get(place, 0) if versions else 0
            label = labels[place] if place < len(labels) else f"{HELD}[{place - len(labels)}]"
            found.append(Saved(label, saved_type(item[0], item[1]), "", item[3], number, version))
        elif item is not None and (cls._ag_operation is None or hasattr(cls, labels[place])):
            found.append(saved_value(labels[place], as_given(item)))
    if copies and len(looked) == 2:
        edges = list(cls._ag_item_edges)
        for position, item in enumerate(looked[1][: len(edges)]):
            if item.__class__ is list and len(item) > 4:
                edges[position] = item[4]
        positions = edges, cls._ag_item_results
    if len(looked) == 2:
        found += _values_made(cls, items)
    found += always
    return tuple(found), positions


class _Kind(NamedTuple):
    """Facts on the values that all nodes of a class keep."""

    simple: bool
    """True if there is no list of tensors."""
    labels: Sequence[str]
    """The names."""
    always: tuple[Saved, ...]
    """The records that are the same for all nodes."""
    ends: Ends
    """Empty of a custom Function, each of whose nodes has its own."""
    makes: bool
    """True if values are made of what is kept, as the sizes of a bias are."""


_kinds: dict[type[Node], _Kind] = {}


def kind_of(cls: type[Node]) -> _Kind:
    if cls not in _kinds:
        operation = cls._ag_operation
        simple = operation is not None and not any(parameter.is_list for parameter in operation.schema.parameters)
        ends = {} if operation is None else _ends(cls, cls._ag_item_edges, cls._ag_item_results)
        _kinds[cls] = _Kind(simple, _labels(cls), _always(cls), ends, bool(_made(cls)))
    return _kinds[cls]


def _items(node: Node) -> list[tuple[str, Any, int]]:
    """Return what a node keeps, each under PyTorch's name and with the version that it had; of a list, each item."""
    if isinstance(node, CopySlices):
        node = node.function()
    items = node._ag_saved or ()
    labels = _labels(node.__class__) or [f"saved_tensors[{position}]" for position in range(len(items))]
    extra = node._ag_extra
    versions = None if extra is None else extra.versions
    found = []
    for position, (label, item) in enumerate(zip(labels, items, strict=False)):
        if item is None or not (node._ag_operation is None or hasattr(node.__class__, label)):
            continue
        kind = item.__class__
        if isinstance(item, Node):  # of one tensor of a list
            parts_of_one = [each for each in _items(item) if hasattr(each[1], "_ag_raw")]
            found += [(f"{name}[{position}]", part, version) for name, part, version in parts_of_one]
        elif (kind is tuple or kind is list) and not _is_size(item) and any(hasattr(part, "_ag_raw") for part in item):
            found += [(f"{label}[{number}]", part, 0) for number, part in enumerate(item)]
        elif kind is SavedList:
            parts = enumerate(zip(item.shown._items, item.shown._versions, strict=True))
            found += [(f"{label}[{number}]", part, version) for number, (part, version) in parts if part is not None]
        else:
            found.append((label, item, versions.get(position, 0) if versions else 0))
    if packed := next((item for item in items if isinstance(item, Packed) and item.hooked), None):
        found += [(f"{HELD}[{n}]", x, x._version) for n, x in enumerate(_held(packed))]
    return found + _attributes(node)


def _attributes(node: Node) -> list[tuple[str, Any, int]]:
    """The tensors without a history that a custom Function has put on its `ctx`."""
    own = getattr(node, "__dict__", None)
    if not own:
        return []
    return [(f"ctx.{name}", x, 0) for name, x in own.items() if isinstance(x, Tensor) and not x.requires_grad]


def _is_size(item: Any) -> bool:
    """Return whether this is a shape or the like: quickly told, as there are many."""
    return not item or item[0].__class__ is int


@functools.cache
def _labels(cls: type[Node]) -> tuple[str, ...]:
    operation = cls._ag_operation
    shown = {} if operation is None else {item: name for name, item in operation.saved.items() if isinstance(item, str)}
    return tuple([f"_saved_{shown[name]}" if name in shown else attribute(name) for name in cls._ag_item_names])


def _ends(cls: type[Node], edges: Sequence[int | tuple[int, int] | None], results: Sequence[int | None]) -> Ends:
    """By the name of what a node keeps: of which edge it is the output, or which result."""
    labels = _labels(cls) or tuple(f"saved_tensors[{position}]" for position in range(len(edges)))
    return dict(zip(labels, zip(edges, results, strict=True), strict=False))


def kept_outputs(
    number: int, cls: type[Node], following: Sequence[Output | None], kept: Iterable[Saved], positions: Positions | None
) -> list[tuple[Output, int]]:
    """The outputs that a node keeps, those of other nodes and its own, and the memory in which they are."""
    ends = (_kinds.get(cls) or kind_of(cls)).ends if positions is None else _ends(cls, *positions)
    found: list[tuple[Output, int]] = []
    for saved in kept:
        if saved.storage is None or (end := ends.get(saved.name)) is None:
            continue
        edge, result = end
        output: Output | None = None
        if result is not None:
            output = number, result
        elif isinstance(edge, tuple):
            output = edge if edge[1] else edge[0]
        elif edge is not None and edge < len(following):
            output = following[edge]
        if output is not None:
            found.append((output, saved.storage))
    return found


def types(cls: type[Node] | None, like: Any) -> list[TensorType]:
    """The types of a node's outputs, or of a tensor where there is no node."""
    if cls is None or not cls._ag_multiple:
        return [_type(shape_dtype(like) if like is None else like)]
    return [_type(shape_dtype(each) if each is None else each) for each in like]


@functools.lru_cache(1024)
def saved_type(dtype: Any, shape: tuple[int, ...]) -> TensorType:
    """The type of a tensor that is kept."""
    return TensorType(dtype.name, tuple(shape), str(device_of_like(shape)))


@functools.lru_cache(1024)
def _type(like: Any) -> TensorType:
    shape, dtype = shape_dtype(like)
    return TensorType(dtype.name, tuple(shape), str(device_of_like(like)))


def storages(tensors: Iterable[Tensor]) -> list[int]:
    """The ids of the memory in which tensors are."""
    return [
        id(raw) if (raw := tensor._ag_raw).__class__ in ARRAYS and raw.base is None else id(owner(raw))
        for tensor in tensors
    ]


def owner(raw: Any) -> Any:
    """The array whose memory this is, or what stands for it where there is none."""
    if raw.__class__ in ARRAYS:
        base = raw.base
        if base is None:
            return raw
        if base.__class__ is _array and base.base is None:
            return base
    return raw.memory if raw.__class__ is Meta else memory.owner(raw)


def leaf_bytes(leaves: Iterable[Tensor]) -> tuple[int, int]:
    """The bytes of these leaves, and of their gradients."""
    parameters = [leaf for leaf in leaves if leaf._ag_edge is LEAF]
    return bytes_of(parameters), bytes_of(
        [m.grad for x in parameters if (m := x._ag_meta) is not None and m.grad is not None]
    )


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """The bytes of tensors; memory that several of them share counts once."""
    arrays = [tensor._ag_raw for tensor in tensors]
    return shared_bytes(
        (id(owner(raw)), raw.nbytes if hasattr(raw, "nbytes") else raw.values.nbytes + raw.positions.nbytes)
        for raw in arrays
    )


def bytes_kept(nodes: Iterable[Node]) -> int:
    """The bytes that these nodes keep; memory that several of them share counts once, what is on `meta` not at all."""
    items = (without_hooks(item) for node in nodes for _, item, _ in _items(node))
    arrays = [getattr(item, "_ag_raw", None) for item in items if not isinstance(item, Packed)]
    return shared_bytes((id(owner(raw)), raw.nbytes) for raw in arrays if raw is not None and raw.__class__ is not Meta)
