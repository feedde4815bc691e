"""The tensors that nodes save: their versions, the hooks that pack them, and how they come back with their history."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._arrays.lazy import Lazy, resolved
from ..base.dtypes import FROM_NUMPY, type_name
from ..base.errors import refused
from ..base.state import process_state, thread_state
from .node import INFERENCE, LEAF, AccumulateGrad, Edge, Node, Versions, edge_of, extra_of, marks_leaf
from .tensor import Tensor, make
from .wrapped_numbers import is_wrapped_number

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def inference_saved() -> RuntimeError:
    """PyTorch's error for saving a tensor that was made in inference mode."""
    return RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
        "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
    )


def expect(node: Any, index: int, tensor: Tensor) -> None:
    """Remember that a tensor was saved at a version other than 0."""
    if tensor._ag_counter is INFERENCE:
        raise inference_saved()
    version = tensor._ag_counter[0]
    if version:
        if node._ag_extra is None:
            node._ag_extra = Versions({index: version})
        else:
            node._ag_extra.versions[index] = version


class SavedResult:
    """An output saved by its own node: the array without the tensor, so that no cycle arises."""

    __slots__ = ("_ag_counter", "_ag_raw")

    def __init__(self, raw: Any, version: list[int]) -> None:
        self._ag_raw = raw
        self._ag_counter = version


class SavedView(SavedResult):
    """A result that is output `number` of another node: of a change of a view in place, whose history is that of the
    view, which its base's leads to; or of one tensor of a list."""

    __slots__ = ("_seen_from", "number")

    def __init__(self, item: SavedResult, node: Node, number: int = 0) -> None:
        super().__init__(item._ag_raw, item._ag_counter)
        self._seen_from = weakref.ref(node)
        self.number = number


class Indices(list[Any]):
    """The tensors to pick with, by dimension, or None."""

    __slots__ = ("given",)
    given: list[Any]
    """The same with masks as they are, which PyTorch's nodes keep, in place of the positions where they hold."""


class SavedList:
    """A saved list of tensors that have no gradient (indices), with the versions they had."""

    __slots__ = ("_given", "_items", "_versions")

    def __init__(self, items: Any) -> None:
        self._items = list(items)
        given = getattr(items, "given", None)
        self._given = None if given is None else SavedList(given)
        """Values that nodes show instead, where they are known."""
        counters = [None if t is None else t._ag_counter for t in self._items]
        if [c for c in counters if c is INFERENCE]:
            raise inference_saved()
        self._versions = [0 if c is None else c[0] for c in counters]

    def tensors(self) -> list[Any]:
        """The tensors; PyTorch's error if one was changed in place since."""
        for t, expected in zip(self._items, self._versions, strict=True):
            if t is not None and t._ag_counter is not None and t._ag_counter[0] != expected:
                raise version_error(t._ag_raw, "", t._ag_counter[0], expected)
        if self._given is None:
            return [t.tensor() if t.__class__ is Packed else t for t in self._items]
        given = self._given.tensors()
        packed = any(t.__class__ is Packed for t in self._given._items)
        result = Indices(_positions(given) if packed else self._items)
        result.given = given
        return result

    @property
    def shown(self) -> SavedList:
        """Return what nodes show, and hooks are given."""
        return self._given or self

    def raws(self) -> list[Any]:
        """Their arrays, checked likewise."""
        return [None if t is None else resolved(t._ag_raw) for t in self.tensors()]


def _positions(given: list[Any]) -> list[Any]:
    """Tensors to pick with: a mask is as many as it has dimensions."""
    result: list[Any] = []
    for t in given:
        mask = t is not None and t._ag_raw.dtype.kind != "i"
        result += [make(positions) for positions in t._ag_raw.nonzero()] if mask else [t]
    return result


class Packed:
    """A saved tensor that `saved_tensors_hooks` took over."""

    __slots__ = ("_ag_counter", "edge", "hooked", "packed", "unpack")

    def __init__(self, packed: Any, unpack: Callable[[Any], Tensor], edge: Any, hooked: bool = True) -> None:
        self.hooked = hooked
        self.packed = packed
        self.unpack = unpack
        self.edge = edge
        self._ag_counter = None

    def tensor(self) -> Tensor:
        result = self.unpack(self.packed)
        if not hasattr(result, "_ag_raw"):
            raise refused(
                TypeError,
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}",
            )
        return result

    @property
    def _ag_raw(self) -> Any:
        return resolved(self.tensor()._ag_raw)


def without_hooks(item: Any) -> Any:
    """Return what is saved, with the copy that stands for a tensor from before its change in place; what hooks took
    over stays closed."""
    return item.packed if item.__class__ is Packed and not item.hooked else item


def freed() -> RuntimeError:
    """PyTorch's error for a second pass through a graph that the first one freed."""
    return RuntimeError(FREED)


def check_version(node: Node, index: int) -> None:
    """Raise PyTorch's error if the tensor saved at `index` was changed in place since."""
    item = node._ag_saved[index]
    if item._ag_counter is None:
        return
    versions = node._ag_extra.versions if node._ag_extra is not None else None
    expected = versions.get(index, 0) if versions else 0
    now = item._ag_counter[0]
    if now == expected:
        return
    raise version_error(item._ag_raw, _origin(node, index), now, expected)


def opened_raw(node: Node, index: int) -> Any:
    """The elements of the tensor saved at `index`; PyTorch's error if it was changed in place since."""
    item, extra = node._ag_saved[index], node._ag_extra
    versions = None if extra is None else extra.versions
    if item._ag_counter is not None and item._ag_counter[0] != (versions.get(index, 0) if versions else 0):
        check_version(node, index)
    raw = item._ag_raw
    return raw if raw.__class__ is np.ndarray else resolved(raw)


def check_versions(node: Node, opens: bool = False) -> None:
    """`check_version` for everything that the node saved: PyTorch opens also what the wanted gradients do not need.

    `opens`: the node will not run, so what hooks took over is unpacked here.
    """
    for index, item in enumerate(node._ag_saved or ()):
        if isinstance(item, SavedList):
            item.tensors()
        elif opens and item.__class__ is Packed:
            item.tensor()
        elif getattr(item, "_ag_counter", None) is not None:
            check_version(node, index)


def version_error(raw: Any, origin: str, now: int, expected: int) -> RuntimeError:
    """PyTorch's sentence for a saved tensor that was changed in place."""
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question "
        "was changed in there or anywhere later. Good luck!"
        if thread_state.anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    what = f"{type_name(FROM_NUMPY[raw.dtype])} [{', '.join(map(str, raw.shape))}]]{origin}"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{what} is at version {now}; expected version {expected} instead. Hint: {hint}"
    )


def _origin(node: Node, index: int) -> str:
    """`, which is output 0 of Mul,` for a tensor that an operation made."""
    item = node._ag_saved[index]
    if not isinstance(item, SavedResult):
        return origin(item)
    number = node._ag_item_results[index]
    return _output(node, number) if number in node._ag_differentiable else ""


def origin(tensor: Tensor) -> str:
    """The same, by the tensor's own history."""
    edge = None if marks_leaf(tensor._ag_edge) else edge_of(tensor)
    return "" if edge is None else _output(*edge)


def _output(node: Node, number: int) -> str:
    return f", which is output {number} of {short_name(node)},"


def short_name(node: Node) -> str:
    """`MulBackward0` -> `Mul`, `MaxBackward1` -> `Max1`, as PyTorch's errors say it."""
    name = node._ag_name()
    head, _, tail = name.rpartition("Backward")
    return head + tail.removeprefix("0") if head and (not tail or tail.isdigit()) else name


def unpack(node: Node, index: int) -> Any:
    """The saved tensor at `index` with its history, as a tensor of the graph."""
    if node._ag_saved is None:
        raise freed()
    item = node._ag_saved[index]
    if item is None:
        return None
    if item.__class__ is Packed:
        edge: Any = item.edge if item.edge is not OWN else (node, node._ag_item_results[index])
        return _with_history(item.tensor(), edge)
    if item._ag_counter is not None:
        check_version(node, index)
    if isinstance(item, SavedResult):
        number = node._ag_item_results[index]
        has_history = number in node._ag_differentiable
        if item.__class__ is SavedView and (history := item._seen_from()) is not None:
            node, number = history, item.number
        tensor = make(item._ag_raw, (node, number) if has_history else None)
        tensor._ag_counter = item._ag_counter
        return tensor
    position = node._ag_item_edges[index]
    if position is None or marks_leaf(item._ag_edge):
        return item
    edge = node._ag_edges[position]
    return item if edge_of(item) == edge else _with_history(item, edge)


OWN = "own"
"""The history of a packed result: the node that packed it."""


def given_back(item: Packed) -> Tensor:
    """Return what hooks took over, unpacked, with the history it had."""
    return _with_history(item.tensor(), item.edge)


def _with_history(tensor: Tensor, edge: Edge | None) -> Tensor:
    """The same memory under the history that it had when it was saved."""
    if edge is not None and edge_of(tensor) == edge:
        return tensor
    if edge is not None and edge[0].__class__ is AccumulateGrad:
        alias = make(tensor._ag_raw, LEAF)
        alias._ag_need_meta().accumulator = weakref.ref(edge[0])
    else:
        alias = make(tensor._ag_raw, edge)
    alias._ag_counter = tensor._ag_counter
    return alias


_PLAIN = frozenset((tuple, bool, int, float))


def save(node: Node, items: list[Any]) -> tuple[Any, ...]:
    """Return what `node` keeps, through the pack hooks in force; versions that are not 0 are remembered."""
    versions = {}
    for index, item in enumerate(items):
        if item is None or item.__class__ in _PLAIN:
            continue
        seen = getattr(item, "_ag_counter", None)
        if seen is INFERENCE:
            raise inference_saved()
        if seen is None:
            if getattr(item, "_ag_raw", None).__class__ is Lazy:
                item._ag_counter = [0]  # so that `opened_raw` opens it
        elif seen[0]:
            versions[index] = seen[0]
    if process_state.special and thread_state.saved_hooks:
        for index in _packing_order(node, len(items)):
            items[index] = _pack(node, items[index], index)
        return packed_items(node, items)
    if versions:
        if node._ag_extra is None:
            node._ag_extra = Versions(versions)
        else:
            node._ag_extra.versions = versions
    return tuple(items)


class PackedItems(tuple[Any, ...]):
    """Saved values of a node, some of which hooks took over."""

    __slots__ = ()


def packed_items(node: Node, items: list[Any]) -> PackedItems:
    """Return what `node` keeps after hooks took some of it over; its `Extra` tells a pass that it does not run in the
    plain way."""
    extra_of(node)
    return PackedItems(items)


@contextmanager
def opened(node: Node) -> Iterator[None]:
    """Within the block, what hooks took over of `node` is unpacked already, in the order in which PyTorch does it."""
    packed = node._ag_saved
    items = list(packed)
    for index in _packing_order(node, len(items)):
        item = items[index]
        if item.__class__ is Packed:
            items[index] = Packed(item.tensor(), _itself, item.edge, item.hooked)
    node._ag_saved = tuple(items)
    try:
        yield
    finally:
        node._ag_saved = packed


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _packing_order(node: Node, count: int) -> list[int]:
    """PyTorch shows its pack hooks the inputs by name, then the outputs; a custom Function's in the order it saved
    them."""
    names, results = node._ag_item_names, node._ag_item_results
    if len(names) != count:
        return list(range(count))
    return sorted(range(count), key=lambda i: (results[i] is not None, names[i]))


def _pack(node: Node, item: Any, index: int) -> Any:
    if isinstance(item, SavedList):
        item.shown._items = [_pack(node, t, index) for t in item.shown._items]
        return item
    edge: Any
    if isinstance(item, SavedResult):
        given, edge = make(item._ag_raw, (node, node._ag_item_results[index])), OWN
    elif isinstance(item, Tensor) and not is_wrapped_number(item):
        given, edge = item, edge_of(item)
    else:
        return item
    return taken_over(given, edge)


def taken_over(given: Tensor, edge: Any) -> Packed:
    """A tensor of this history, packed by the hooks in force."""
    pack, unpack_hook = thread_state.saved_hooks[-1]
    hooks, mode, version = thread_state.saved_hooks, thread_state.grad, given._version
    thread_state.saved_hooks, thread_state.grad = (), False
    try:
        packed = pack(given)
    finally:
        thread_state.saved_hooks, thread_state.grad = hooks, mode
    if given._version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return Packed(packed, unpack_hook, edge)


class SavedTensor:
    """One saved tensor of one node; `position` is its index in a saved list, `derived` the name of what is only worked
    out from it."""

    def __init__(self, node: Node, index: int, position: int | None = None, derived: str = "") -> None:
        self._derived = derived
        self._node = node
        self._index = index
        self._position = position

    def register_hooks(self, pack: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Replace what is saved by `pack(tensor)`, to be had back by `unpack_hook`."""
        node, index, position = self._node, self._index, self._position
        if self._derived:
            raise NotImplementedError(
                f"register_hooks: _saved_{self._derived} is not kept by autograph's engine but worked out from "
                f"_saved_{node._ag_item_names[index]}; register them there"
            )
        if node._ag_saved is None:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed.")
        item = node._ag_saved[index] if position is None else node._ag_saved[index].shown._items[position]
        if isinstance(item, Packed) and item.hooked:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        if item is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        tensor = unpack(node, index) if position is None else node._ag_saved[index].shown.tensors()[position]
        packed = Packed(pack(tensor), unpack_hook, edge_of(tensor))
        if position is not None:
            node._ag_saved[index].shown._items[position] = packed
            return
        items = list(node._ag_saved)
        items[index] = packed
        node._ag_saved = packed_items(node, items)
