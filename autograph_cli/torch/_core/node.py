"""The tape: nodes, the leaf's AccumulateGrad, and the tensors that nodes save."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels.meta import Meta
from .state import L, next_sequence_nr

if TYPE_CHECKING:
    from .tensor import Tensor

Edge = tuple["Node", int]

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def like_of(raw: Any) -> Any:
    """What a gradient of `raw` must look like: the class of a NumPy scalar, or (shape, dtype)."""
    if isinstance(raw, np.generic):
        return raw.__class__
    return (raw.shape, raw.dtype) if raw.__class__ is not Meta else MetaLike((raw.shape, raw.dtype))


class MetaLike(tuple[Any, ...]):
    """(shape, dtype) of an array without memory."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other.__class__ is MetaLike and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def shape_dtype(like: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """`like_of` as (shape, dtype)."""
    return like if isinstance(like, tuple) else ((), np.dtype(like))


class Extra:
    """What few nodes have: hooks, metadata, expected versions."""

    __slots__ = ("hooks", "metadata", "pre_hooks", "retained", "tensor_hooks", "versions")

    def __init__(self) -> None:
        self.metadata: dict[str, Any] | None = None
        self.versions: dict[int, int] | None = None
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] | None = None
        """Output number -> the hooks of that output's tensor."""
        self.retained: dict[int, weakref.ref[Tensor]] | None = None
        self.pre_hooks: dict[int, Callable[..., Any]] | None = None
        self.hooks: dict[int, Callable[..., Any]] | None = None

    @property
    def runs_something(self) -> bool:
        return bool(self.tensor_hooks or self.retained or self.pre_hooks or self.hooks)


class NodeType(type):
    """`isinstance(fn, torch.autograd.graph.Node)` asks this class."""


class Node(metaclass=NodeType):
    """One step of the graph: `_edges` lead to the nodes of the inputs, `_saved` is what backward needs.

    All but PyTorch's own names begin with an underscore: the rest are the user's, who may set them on a `ctx`.
    """

    __slots__ = ("__weakref__", "_edges", "_extra", "_like", "_saved", "_seq")

    _operation: Any = None
    _multiple = False
    """Several outputs: `_like` and incoming gradients are lists."""
    _frees = True
    """Saves tensors, which backward lets go of; what saves none can run again."""
    _takes_none = False
    """Runs also when no gradient arrived."""
    _item_names: tuple[str, ...] = ()
    _item_edges: tuple[int | None, ...] = ()
    """For each saved item, the edge of the input that it is."""
    _item_results: tuple[int | None, ...] = ()
    """For each saved item, the number of the output that it is."""
    _differentiable: frozenset[int] = frozenset((0,))
    """The numbers of the outputs that have a gradient."""

    _edges: tuple[Edge | None, ...]
    _saved: Any
    _like: Any
    _seq: int
    _extra: Extra | None

    def name(self) -> str:
        """The name of the C++ class in PyTorch."""
        return self._name()

    def _name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one hands its gradients to, each with the number of the output it belongs to."""
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    @property
    def metadata(self) -> dict[str, Any]:
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self) -> int:
        return self._seq

    def _set_sequence_nr(self, number: int) -> None:
        self._seq = number

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        return tuple(map(InputMetadata, self._like if self._multiple else [self._like]))

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran; what it returns replaces the grad_inputs."""
        extra = extra_of(self)
        extra.hooks = {} if extra.hooks is None else extra.hooks
        return Handle(extra.hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node runs; what it returns replaces them."""
        extra = extra_of(self)
        extra.pre_hooks = {} if extra.pre_hooks is None else extra.pre_hooks
        return Handle(extra.pre_hooks, hook)

    def _run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """Gradients of the inputs, as raw arrays."""
        raise NotImplementedError(f"derivative for {self._name()} is not implemented")

    def _run_recorded(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """Gradients of the inputs as tensors, recorded (create_graph)."""
        raise NotImplementedError(f"derivative for {self._name()} is not implemented")

    def __call__(self, *grads: Any) -> Any:
        expected = len(self._like) if self._multiple else 1
        if len(grads) != expected:
            raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
        results = self._run_recorded(_operations(), list(grads) if self._multiple else grads[0])
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def _operations() -> Any:
    from .operation import operations

    return operations


class InputMetadata:
    """Shape, dtype and device of one output of a node's operation."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, like: Any) -> None:
        from .device import CPU, META
        from .dtypes import FROM_NUMPY
        from .size import Size

        shape, kind = shape_dtype(like)
        self.shape = Size(shape)
        self.dtype = FROM_NUMPY[kind]
        self.device = META if like.__class__ is MetaLike else CPU


def extra_of(node: Node) -> Extra:
    """The node's `Extra`, made at first need."""
    if node._extra is None:
        node._extra = Extra()
    return node._extra


class Handle:
    """Removes a hook: by `remove()`, or at the end of a `with` block."""

    __slots__ = ("hooks", "id")
    _next = 0

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.id = Handle._next
        Handle._next += 1
        self.hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


# ---------------------------------------------------------------- leaves


class AccumulateGrad(Node):
    """Adds what arrives to the `.grad` of a leaf."""

    __slots__ = ("variable",)

    variable: Tensor

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._edges = ()
        self._saved = ()
        self._like = like_of(variable._raw)
        self._seq = next_sequence_nr()
        self._extra = None

    def _name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1

    def __call__(self, *grads: Any) -> tuple[()]:
        from .gradients import accumulate

        if grads and grads[0] is not None:
            accumulate(self.variable, grads[0]._raw, held=True)
        return ()


class _Marker:
    """Stands in a tensor's `_edge` where the edge must be worked out."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what


LEAF = _Marker("leaf")


class View:
    """Stands in the `_edge` of a view: its base, and its edge as long as the version is still `version`."""

    __slots__ = ("base", "creation", "edge", "version")

    def __init__(self, base: Tensor, edge: Edge | None, version: int, creation: str) -> None:
        self.base = base
        self.edge: Any = edge
        """An edge, None, or LEAF for a view that asks for its own gradient."""
        self.version = version
        self.creation = creation
        """Why the view refuses in-place changes, if it does (see views.py)."""


def marks_leaf(edge: Any) -> bool:
    """Whether a tensor's `_edge` makes it a leaf that asks for its gradient: also a view can be one."""
    if edge.__class__ is not View:
        return edge is LEAF
    return edge.edge is LEAF and (edge.base._counter[0] == edge.version or not edge.base.requires_grad)


def edge_of(tensor: Tensor) -> Edge | None:
    """Where the gradient of `tensor` goes; None when it needs none."""
    edge = tensor._edge
    if edge is None or edge.__class__ is tuple:
        return edge
    if edge is LEAF or marks_leaf(edge):
        meta = tensor._meta
        if meta is not None and meta.accumulator is not None:
            node = meta.accumulator()
            if node is not None:
                return node, 0
        return accumulator(tensor), 0
    return _view_edge()(tensor)  # type: ignore[no-any-return]


@functools.cache
def _view_edge() -> Callable[[Tensor], Edge | None]:
    from .views import view_edge

    return view_edge


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The one living AccumulateGrad of a leaf; the leaf holds it weakly, graphs hold it strongly."""
    meta = leaf.meta()
    node: AccumulateGrad | None = meta.accumulator() if meta.accumulator is not None else None
    if node is None:
        node = AccumulateGrad(leaf)
        node._extra = meta.accumulator_extra
        meta.accumulator = weakref.ref(node)
        if L.anomaly and L.current is not None:
            node.metadata["parent_"] = L.current
    return node


# ---------------------------------------------------------------- saved tensors


INFERENCE = [0]
"""The version counter of all tensors that were made in inference mode: nobody counts."""


def inference_saved() -> RuntimeError:
    return RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`."
    )


class SavedResult:
    """An output saved by its own node: the array without the tensor, so that no cycle arises."""

    __slots__ = ("_counter", "_raw")

    def __init__(self, raw: Any, version: list[int]) -> None:
        self._raw = raw
        self._counter = version


class SavedList:
    """A saved list of tensors that have no gradient (indices), with the versions they had."""

    __slots__ = ("_items", "_versions")

    def __init__(self, items: Any) -> None:
        self._items = list(items)
        if any(t is not None and t._counter is INFERENCE for t in self._items):
            raise inference_saved()
        self._versions = [0 if t is None or t._counter is None else t._counter[0] for t in self._items]

    def tensors(self) -> list[Any]:
        """The tensors; PyTorch's error if one was changed in place since."""
        for t, expected in zip(self._items, self._versions, strict=True):
            if t is not None and t._counter is not None and t._counter[0] != expected:
                raise version_error(t._raw, "", t._counter[0], expected)
        return [t.tensor() if t.__class__ is Packed else t for t in self._items]

    def raws(self) -> list[Any]:
        """Their arrays, checked likewise."""
        return [None if t is None else t._raw for t in self.tensors()]


class Packed:
    """A saved tensor that `saved_tensors_hooks` took over."""

    __slots__ = ("_counter", "edge", "hooked", "packed", "unpack")

    def __init__(self, packed: Any, unpack: Callable[[Any], Tensor], edge: Any, hooked: bool = True) -> None:
        self.hooked = hooked
        self.packed = packed
        self.unpack = unpack
        self.edge = edge
        self._counter = None

    def tensor(self) -> Tensor:
        found = self.unpack(self.packed)
        if not hasattr(found, "_raw"):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}")
        return found

    @property
    def _raw(self) -> Any:
        return self.tensor()._raw


def freed() -> RuntimeError:
    return RuntimeError(FREED)


def check_version(node: Node, index: int) -> None:
    """Raise PyTorch's error if the tensor saved at `index` was changed in place since."""
    item = node._saved[index]
    if item._counter is None:
        return
    versions = node._extra.versions if node._extra is not None else None
    expected = versions.get(index, 0) if versions else 0
    now = item._counter[0]
    if now == expected:
        return
    raise version_error(item._raw, _origin(node, index), now, expected)


def check_versions(node: Node, opens: bool = False) -> None:
    """`check_version` for everything that the node saved: PyTorch opens also what the wanted gradients do not need.

    `opens`: the node will not run, so what hooks took over is unpacked here.
    """
    for index, item in enumerate(node._saved or ()):
        if isinstance(item, SavedList):
            item.tensors()
        elif opens and item.__class__ is Packed:
            item.tensor()
        elif getattr(item, "_counter", None) is not None:
            check_version(node, index)


def version_error(raw: Any, origin: str, now: int, expected: int) -> RuntimeError:
    """PyTorch's sentence for a saved tensor that was changed in place."""
    from .dtypes import FROM_NUMPY, type_name

    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
        "changed in there or anywhere later. Good luck!"
        if L.anomaly
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
    item = node._saved[index]
    if isinstance(item, SavedResult):
        number = node._item_results[index]
        edge: Any = (node, number) if number in node._differentiable else None
    else:
        edge = None if marks_leaf(item._edge) else edge_of(item)
    return "" if edge is None else f", which is output {edge[1]} of {short_name(edge[0])},"


def short_name(node: Node) -> str:
    """`MulBackward0` -> `Mul`, as PyTorch's errors say it."""
    name = node._name()
    head, _, tail = name.rpartition("Backward")
    return head if head and (not tail or tail.isdigit()) else name


def unpack(node: Node, index: int) -> Any:
    """The saved tensor at `index` with its history, as a tensor of the graph."""
    from .tensor import make

    if node._saved is None:
        raise freed()
    item = node._saved[index]
    if item is None:
        return None
    if item.__class__ is Packed:
        return _with_history(item.tensor(), item.edge if item.edge is not OWN else (node, node._item_results[index]))
    check_version(node, index)
    if item.__class__ is SavedResult:
        number = node._item_results[index]
        tensor = make(item._raw, (node, number) if number in node._differentiable else None)
        tensor._counter = item._counter
        return tensor
    position = node._item_edges[index]
    if position is None or marks_leaf(item._edge):
        return item
    edge = node._edges[position]
    return item if edge_of(item) == edge else _with_history(item, edge)


OWN = "own"
"""The history of a packed result: the node that packed it."""


def _with_history(tensor: Tensor, edge: Edge | None) -> Tensor:
    """The same memory under the history that it had when it was saved."""
    from .tensor import make

    if edge is not None and edge_of(tensor) == edge:
        return tensor
    if edge is not None and edge[0].__class__ is AccumulateGrad:
        alias = make(tensor._raw, LEAF)
        alias.meta().accumulator = weakref.ref(edge[0])
    else:
        alias = make(tensor._raw, edge)
    alias._counter = tensor._counter
    return alias


def save(node: Node, items: list[Any]) -> tuple[Any, ...]:
    """What `node` keeps, through the pack hooks in force; versions that are not 0 are remembered."""
    for item in items:
        if getattr(item, "_counter", None) is INFERENCE:
            raise inference_saved()
    if L.saved_hooks:
        for index in _packing_order(node, len(items)):
            items[index] = _pack(node, items[index], index)
        return tuple(items)
    versions = {
        i: item._counter[0]
        for i, item in enumerate(items)
        if getattr(item, "_counter", None) is not None and item._counter[0]
    }
    if versions:
        extra_of(node).versions = versions
    return tuple(items)


def _packing_order(node: Node, count: int) -> list[int]:
    """PyTorch shows its pack hooks the inputs by name, then the outputs; a custom Function's in the order it saved them."""
    names, results = node._item_names, node._item_results
    if len(names) != count:
        return list(range(count))
    return sorted(range(count), key=lambda i: (results[i] is not None, names[i]))


def _pack(node: Node, item: Any, index: int) -> Any:
    from .general import is_wrapped_number
    from .tensor import Tensor, make

    if isinstance(item, SavedList):
        item._items = [_pack(node, t, index) for t in item._items]
        return item
    if isinstance(item, SavedResult):
        given, edge = make(item._raw, (node, node._item_results[index])), OWN
    elif isinstance(item, Tensor) and not is_wrapped_number(item):
        given, edge = item, edge_of(item)
    else:
        return item
    pack, unpack_hook = L.saved_hooks[-1]
    hooks, mode = L.saved_hooks, L.grad
    L.saved_hooks, L.grad = (), False
    version = given._version
    try:
        packed = pack(given)
    finally:
        L.saved_hooks, L.grad = hooks, mode
    if given._version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
            "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
            "in-place operations on the input to a pack hook."
        )
    return Packed(packed, unpack_hook, edge)
