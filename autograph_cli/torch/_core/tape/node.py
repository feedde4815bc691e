"""The tape: nodes, the leaf's AccumulateGrad, and what stands in a tensor's `_ag_edge`."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays.backends import device_of
from ..._arrays.lazy import resolved
from ..base.device import CPU, device
from ..base.dtypes import FROM_NUMPY
from ..base.errors import refused
from ..base.op_namespace import operations
from ..base.size import of_shape
from ..base.state import next_sequence_nr, process_state, thread_state

if TYPE_CHECKING:
    from .tensor import Tensor

Edge = tuple["Node", int]


def output_meta(raw: Any) -> Any:
    """Return what a gradient of `raw` must look like: the class of a NumPy scalar, or (shape, dtype)."""
    if raw.__class__ is np.ndarray:
        return (raw.shape, raw.dtype)
    if isinstance(raw, np.generic):
        return raw.__class__
    if (where := device_of(raw)) is CPU:
        return raw.shape, raw.dtype
    return likes_on(where)((raw.shape, raw.dtype))


class Like(tuple[Any, ...]):
    """(shape, dtype) of an array that is not on the CPU; each device has a subclass."""

    __slots__ = ()
    device: device

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


@functools.cache
def likes_on(where: device) -> type[Like]:
    """The class of `Like` of a device."""
    return type("Like", (Like,), {"__slots__": (), "device": where})


def device_of_like(like: Any) -> device:
    """The device of what looks as `like` (see `output_meta`)."""
    return like.device if isinstance(like, Like) else CPU


def shape_dtype(like: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """`output_meta` as (shape, dtype); None stands for an undefined output, which has what PyTorch shows of it."""
    return like if isinstance(like, tuple) else ((), process_state.default_dtype if like is None else np.dtype(like))


class Extra:
    """Rare attributes of a node: hooks, metadata, expected versions."""

    __slots__ = ("by_operations", "hooks", "metadata", "pre_hooks", "retained", "tensor_hooks", "versions")

    def __init__(self) -> None:
        self.metadata: dict[str, Any] | None = None
        self.versions: dict[int, int] | None = None
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] | None = None
        """Output number -> the hooks of that output's tensor."""
        self.retained: dict[int, weakref.ref[Tensor]] | None = None
        self.pre_hooks: dict[int, Callable[..., Any]] | None = None
        self.hooks: dict[int, Callable[..., Any]] | None = None
        self.by_operations = False
        """Its formulas run as operations: it was made of arrays that kernels do not know (see _arrays/unusual.py)."""

    @property
    def runs_something(self) -> bool:
        return bool(self.tensor_hooks or self.retained or self.pre_hooks or self.hooks)


class Versions(Extra):
    """The versions, other than 0, of saved tensors, for a node that has nothing else. Such a node runs as any
    other."""

    __slots__ = ()
    metadata = tensor_hooks = retained = pre_hooks = hooks = None
    by_operations = False

    def __init__(self, versions: dict[int, int]) -> None:
        self.versions = versions


class NodeType(type):
    """`isinstance(fn, torch.autograd.graph.Node)` asks this class; nodes of operations belong to no module, as in
    PyTorch."""

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>" if "._core." in cls.__module__ and cls is not Node else super().__repr__()


class Node(metaclass=NodeType):
    """One step of the graph: `_ag_edges` lead to the nodes of the inputs, `_ag_saved` is what backward needs.

    All but PyTorch's own names begin with `_ag_`: the rest are the user's, who may set them on a `ctx`.
    """

    __slots__ = ("__weakref__", "_ag_edges", "_ag_extra", "_ag_output_meta", "_ag_saved", "_ag_seq")

    _ag_operation: Any = None
    _ag_multiple = False
    """Several outputs: `_ag_output_meta` and incoming gradients are lists."""
    _ag_frees: bool | Callable[[Any], Any] = True
    """Saves tensors, which backward lets go of (what saves none can run again); a function: what stays readable, for
    the slot `_ag_kept` of its class."""
    _ag_unseen = False
    """Stands for a step that PyTorch's graph does not have."""
    _ag_takes_none = False
    """Runs also when no gradient arrived."""
    _ag_item_names: tuple[str, ...] = ()
    _ag_item_edges: tuple[int | None, ...] = ()
    """For each saved item, the edge of the input that it is."""
    _ag_item_results: tuple[int | None, ...] = ()
    """For each saved item, the number of the output that it is."""
    _ag_differentiable: frozenset[int] = frozenset((0,))
    """The numbers of the outputs that have a gradient."""

    _ag_edges: tuple[Edge | None, ...]
    _ag_saved: Any
    _ag_kept: Any
    _ag_output_meta: Any
    _ag_seq: int
    _ag_extra: Extra | None

    def name(self) -> str:
        """The name of the C++ class in PyTorch."""
        return self._ag_name()

    def _ag_name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one hands its gradients to, each with the number of the output it belongs to."""
        return tuple((None, 0) if edge is None else shown(edge) for edge in self._ag_edges)

    @property
    def requires_grad(self) -> bool:
        """Return whether the node leads to something that a gradient is wanted of."""
        return True

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for whatever the user wants to keep with this node."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self) -> int:
        return self._ag_seq

    def _set_sequence_nr(self, number: int) -> None:
        process_state.disordered = max(process_state.disordered, number, self._ag_seq)
        self._ag_seq = number

    def _ag_shown(self) -> list[int]:
        """The outputs that PyTorch's node has: without those of its operation that have no derivative."""
        every = range(len(self._ag_output_meta) if self._ag_multiple else 1)
        some = self._ag_operation is not None and self._ag_operation.nondifferentiable
        return [i for i in every if not some or i in self._ag_differentiable]

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        meta = self._ag_output_meta
        return tuple([InputMetadata(meta[i] if self._ag_multiple else meta) for i in self._ag_shown()])

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran; what it returns replaces the grad_inputs."""
        extra = extra_of(self)
        extra.hooks = OrderedDict() if extra.hooks is None else extra.hooks
        return add_hook(extra.hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node runs; what it returns replaces them."""
        extra = extra_of(self)
        extra.pre_hooks = OrderedDict() if extra.pre_hooks is None else extra.pre_hooks
        return add_hook(extra.pre_hooks, hook)

    def _ag_run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """Gradients of the inputs, as raw arrays."""
        raise NotImplementedError(f"derivative for {self._ag_name()} is not implemented")

    def _ag_run_recorded(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """Gradients of the inputs as tensors, recorded (create_graph)."""
        raise NotImplementedError(f"derivative for {self._ag_name()} is not implemented")

    def __call__(self, *grads: Any) -> Any:
        expected = len(self._ag_output_meta) if self._ag_multiple else 1
        if len(grads) != expected:
            raise refused(TypeError, f"expected {expected} arguments, got {len(grads)} instead")
        results = self._ag_run_recorded(operations, list(grads) if self._ag_multiple else grads[0])
        return results[0] if len(results) == 1 else tuple(results)

    def __dir__(self) -> list[str]:
        own = getattr(self, "__dict__", ())
        names = (*super().__dir__(), *type(self).__dict__)
        return sorted({n for n in names if not n.startswith("_") or n.startswith(_SHOWN) or n in own})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


_SHOWN = ("__", "_saved_", "_raw_saved_", "_input_metadata", "_sequence_nr", "_set_sequence_nr")
"""The beginnings of PyTorch's names of nodes that begin with an underscore."""


class InputMetadata:
    """Shape, dtype and device of one output of a node's operation."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, like: Any) -> None:
        shape, kind = shape_dtype(like)
        self.shape = of_shape(shape)
        self.dtype = FROM_NUMPY[kind]
        self.device = device_of_like(like)


def shown(edge: Edge) -> Edge:
    """An edge as the graph shows it: past nodes that PyTorch does not have."""
    while edge[0]._ag_unseen:
        edge = edge[0]._ag_edges[0]  # type: ignore[assignment]
    return edge


def extra_of(node: Node) -> Extra:
    """The node's `Extra`, made at first need."""
    extra = node._ag_extra
    if extra is None or extra.__class__ is Versions:
        node._ag_extra = result = Extra()
        result.versions = None if extra is None else extra.versions
        return result
    return extra


class Handle:
    """Takes a hook out of the dict that holds it under the handle's `id`: by `remove()`, or at the end of a `with`
    block.

    `extra_dict`: other dicts, one or several, that hold something under the same id.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = Handle.next_id
        Handle.next_id += 1
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self._extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for held in (self.hooks_dict_ref(), *self._extra):
            if held is not None:
                held.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], hook: Any) -> Handle:
    """Add a hook to those of a dict; its handle."""
    handle = Handle(hooks)
    hooks[handle.id] = hook
    return handle


Handle.__module__, Handle.__qualname__, Handle.__name__ = "torch.utils.hooks", "RemovableHandle", "RemovableHandle"

# ---------------------------------------------------------------- leaves


class AccumulateGrad(Node):
    """Adds what arrives to the `.grad` of a leaf."""

    __slots__ = ("variable",)

    variable: Tensor

    def _ag_name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1

    def __call__(self, *grads: Any) -> tuple[()]:
        if grads and grads[0] is not None:
            operations.accumulate_grad(self.variable, resolved(grads[0]._ag_raw), held=True)
        return ()


INFERENCE = [0]
"""The version counter of all tensors that were made in inference mode: nobody counts."""


class _Marker:
    """Stands in a tensor's `_ag_edge` where the edge must be worked out."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what


LEAF = _Marker("leaf")


class View:
    """Stands in the `_ag_edge` of a view: its base, and its edge as long as the version is still `version`."""

    __slots__ = ("base", "creation", "edge", "path", "position", "version")

    position: Any
    """The position of the view in its base, with the arrays for which it was computed (see views.py); unset until
    then."""

    def __init__(self, base: Tensor, edge: Edge | None, version: int, creation: str, path: Any = None) -> None:
        self.base = base
        self.path: tuple[Any, ...] | None = path
        """The way from the base to the view, where one window onto its memory does not tell it (see views.py)."""
        self.edge: Any = edge
        """An edge, None, or LEAF for a view that asks for its own gradient."""
        self.version = version
        self.creation = creation
        """The reason why the view refuses in-place changes, if it does (see views.py)."""


def marks_leaf(edge: Any) -> bool:
    """Return whether a tensor's `_ag_edge` makes it a leaf that asks for its gradient: also a view can be one."""
    if edge.__class__ is not View:
        return edge is LEAF
    return edge.edge is LEAF and (edge.base._ag_counter[0] == edge.version or not edge.base.requires_grad)


def has_no_history(tensor: Tensor) -> bool:
    """`is_leaf` as PyTorch's own functions tell it: they do not ask for the new history of a view whose base was
    changed."""
    edge = tensor._ag_edge
    return edge is None or edge is LEAF or (edge.__class__ is View and (edge.edge is None or edge.edge is LEAF))


def edge_of(tensor: Tensor) -> Edge | None:
    """Return where the gradient of `tensor` goes; None when it needs none."""
    edge = tensor._ag_edge
    if edge is None or edge.__class__ is tuple:
        return edge
    if edge is LEAF:
        return accumulator(tensor), 0
    if edge.edge.__class__ is tuple and edge.version == tensor._ag_counter[0]:
        return edge.edge
    if marks_leaf(edge):
        return accumulator(tensor), 0
    return operations.view_edge(tensor)  # type: ignore[return-value]


_new, _reference = object.__new__, weakref.ref


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The one living AccumulateGrad of a leaf; the leaf holds it weakly, graphs hold it strongly."""
    meta = leaf._ag_meta or leaf._ag_need_meta()
    reference = meta.accumulator
    if reference is not None:
        result: AccumulateGrad | None = reference()
        if result is not None:
            return result
    node: AccumulateGrad = _new(AccumulateGrad)
    raw = leaf._ag_raw
    node.variable, node._ag_edges, node._ag_saved = leaf, (), ()
    node._ag_output_meta = (raw.shape, raw.dtype) if raw.__class__ is np.ndarray else output_meta(raw)
    node._ag_seq = next_sequence_nr()
    node._ag_extra = meta.accumulator_extra
    meta.accumulator = _reference(node)
    if process_state.anomaly and thread_state.current is not None:
        node.metadata["parent_"] = thread_state.current
    return node
