"""Views and in-place changes: shared memory, shared versions, and histories that are worked out anew."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels.lazy import bits_of, flip, memory_of
from .._kernels.meta import Meta
from . import dtypes
from .dispatched import Dispatched
from .memory_format import strides_of
from .node import LEAF, Edge, Node, View, edge_of, extra_of, like_of
from .saved_tensors import INFERENCE, Packed, SavedResult, SavedView, freed, short_name
from .sparse_arrays import Sparse
from .state import next_sequence_nr, process_state, thread_state
from .storages import address, offset_in, owner, window
from .tensor import Tensor, Wrapped, make

if TYPE_CHECKING:
    from .operation import Operation


def materialize(tensor: Tensor) -> Any:
    """The tensor's memory as an array that others may share."""
    if isinstance(tensor._raw, np.generic):
        tensor._raw = np.array(tensor._raw)
    return tensor._raw


def counter(tensor: Tensor) -> list[int]:
    """The tensor's version counter, made at first need."""
    if tensor._counter is None:
        tensor._counter = [0]
    counter: list[int] = tensor._counter
    return counter


def make_view(
    out: Tensor, source: Tensor, edge: Edge | None, multiple: bool = False, op: Operation | None = None
) -> Tensor:
    """Make `out`, which shares the memory of `source`, a differentiable view with the given edge; `op` if it reads it
    otherwise."""
    seen = source._edge
    base = seen.base if seen.__class__ is View else source
    out._counter = counter(base)
    if out._counter is INFERENCE:
        return out
    creation = INFERENCE_MODE if thread_state.inference else "" if thread_state.grad else NO_GRAD
    if multiple and not creation:
        creation = MULTIPLE if edge is not None else NO_GRAD
    if seen.__class__ is View and not creation:
        creation = seen.creation
    path = seen.path if seen.__class__ is View else None
    if op is not None:
        start = path or ((geometry(source._raw, base._raw),) if seen.__class__ is View else ())
        path = (*start, op)
    elif path is not None:
        path = (*path, geometry(out._raw, base._raw))
    out._edge = View(base, edge, out._counter[0], creation, path)
    return out


def along(path: tuple[Any, ...], base: Tensor) -> Tensor:
    """A view of `base`, or of memory that lies like it, by the operations and windows by which another one was made."""
    f, found, start = _operations(), base, address(base._raw)
    for step in path:
        if isinstance(step, tuple):
            shape, strides, offset = step
            apart = (address(found._raw) - start) // found._raw.itemsize
            found = f.as_strided(found, shape, strides, offset - apart)
        else:
            found = step.function(found)
    return found


MULTIPLE, NO_GRAD, INFERENCE_MODE, CUSTOM = "multiple", "no_grad", "inference", "custom"


def share(tensor: Tensor, counts: bool) -> Tensor:
    """The same memory outside the graph (`detach`); `counts` tells whether versions are shared (`.data`: no)."""
    if isinstance(tensor, Wrapped):
        alias = tensor._shared(counts)
    else:
        raw = materialize(tensor)
        alias = make(raw if raw.__class__ is not Dispatched else raw.detached(tensor))
        if counts:
            alias._counter = counter(tensor)
        if tensor.is_inference():
            alias._counter = INFERENCE
    if thread_state.levels:
        alias._born = getattr(tensor, "_born", None)
    return alias


# ---------------------------------------------------------------- histories


def geometry(view: Any, base: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and offset of a raw view, in elements of its raw base."""
    apart: int = address(view) - address(base)
    if not 0 <= apart < base.nbytes and owner(view) is not owner(base):
        # `set_` gave the view other memory: its place there is taken for one in the base's, as PyTorch does.
        return view.shape, strides_of(view), offset_in(view) - offset_in(base)
    return view.shape, strides_of(view), apart // view.itemsize


NEVER_SET = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5)
"""Whether NumPy warns where the shape of an array is set, which takes half as long as `reshape`."""


def in_shape(raw: Any, size: tuple[int, ...]) -> Any:
    """The array in another shape, in the same memory; AttributeError or ValueError where it would need a copy."""
    if NEVER_SET:
        return raw.reshape(size, copy=False)
    window = raw.view()
    window.shape = size
    return window


def as_strided_raw(raw: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None) -> Any:
    """A writable window into the memory of `raw`, `offset` elements after its first one, read as another dtype if
    given."""
    return window(raw, shape, strides, offset, dtype)


def spanned(shape: Any, strides: Any, offset: int = 0) -> int:
    """How many elements of memory, from its beginning, a window needs."""
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def empty_strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, on_meta: bool = False) -> Any:
    """New memory with the given strides (in elements)."""
    if on_meta:
        return Meta(shape, dtype, [s * np.dtype(dtype).itemsize for s in strides])
    if not all(shape):
        return np.empty(shape, dtype)
    flat = np.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)), dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides])


def view_edge(tensor: Tensor, place: Any = None) -> Edge | None:
    """The edge of a view; when its memory changed since, an AsStridedBackward0 on its base's new history.

    `place` is its `geometry` in its base, if that is known.
    """
    view: View = tensor._edge
    version: int = tensor._counter[0]
    edge: Edge | None = view.edge
    if view.version == version:
        return edge
    base_edge = edge_of(view.base)
    if base_edge is None and edge is None and not view.base.requires_grad:
        return None
    if view.creation:
        _refuse(edge, view.creation, "its base or another view of its base has been")
    before = edge if edge.__class__ is tuple else None
    if view.path is not None:
        edge = edge_of(along(view.path, view.base))
        view.edge, view.version = edge, version
        move_retained(tensor, before)
        return edge
    node: Node = object.__new__(_as_strided_node())
    shape, strides, offset = place or geometry(tensor._raw, view.base._raw)
    node._edges = (base_edge,)
    node._saved = (shape, strides, offset, view.base._raw.shape, strides_of(view.base._raw))
    node._like = like_of(tensor._raw)
    node._seq = next_sequence_nr()
    node._extra = None
    edge = (node, 0)
    view.edge, view.version = edge, version
    if process_state.observer is not None:
        process_state.observer.created(node, (view.base,), (tensor,))
    move_retained(tensor, before)
    return edge


@functools.cache
def _as_strided_node() -> type[Node]:
    from .operation import table

    return table["as_strided"].node


class CopySlices(Node):
    """Backward of an in-place change of a view: the gradient of the base, with the changed part replaced."""

    __slots__ = ("base", "bits", "dtype", "path", "view")

    def __init__(self, function: Node, base: Tensor, changed: Tensor) -> None:
        view = changed._raw
        self.base = (base._raw.shape, strides_of(base._raw))
        self.view = geometry(view, base._raw)
        self.dtype = view.dtype
        self.path = changed._edge.path
        now, before = bits_of(view), bits_of(base._raw)
        self.bits = (now[0] is not before[0], now[1] is not before[1])
        self._edges = (edge_of(base), *function._edges[1:])
        self._saved = (function,)
        self._like = like_of(base._raw)
        self._seq = next_sequence_nr()
        self._extra = None

    def _name(self) -> str:
        return "torch::autograd::CopySlices"

    def function(self) -> Node:
        """The node of the change itself, which sees the changed part only."""
        if self._saved is None:
            raise freed()
        found: Node = self._saved[0]
        return found

    def _run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        result = empty_strided(*self.base, grad.dtype, grad.__class__ is Meta)
        result[...] = grad
        part = flip(as_strided_raw(result, *self.view, self.dtype), *self.bits)
        grads = self.function()._run_raw(f, part.copy("K"))
        part[...] = 0 if grads[0] is None else grads[0]
        return (result, *grads[1:])

    def _run_recorded(self, f: Any, grad: Any) -> tuple[Any, ...]:
        if isinstance(grad, Wrapped):
            return self._run_wrapped(f, grad)
        result = make(empty_strided(*self.base, grad._raw.dtype, grad._raw.__class__ is Meta))
        result.copy_(grad)
        part = f.as_strided(result, *self.view) if self.path is None else along(self.path, result)
        grads = self.function()._run_recorded(f, f.clone(part))
        if grads[0] is None:
            part.zero_()
        else:
            part.copy_(grads[0])
        return (result, *grads[1:])

    def _run_wrapped(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """The same without a change in place, by the places of the view's elements in the base."""
        if grad._raw.dtype != self.dtype:
            raise NotImplementedError(
                "a change in place through view_as_real or view_as_complex under a transform of functions"
            )
        shape = self.base[0]
        places = empty_strided(*self.base, np.dtype(np.int64))
        places[...] = np.arange(places.size).reshape(shape)
        changed = make(np.ascontiguousarray(as_strided_raw(places, *self.view)).reshape(-1))
        flat = f.reshape(grad, (places.size,))
        part = self._read(f, f.reshape(f.index_select(flat, 0, changed), self.view[0]))
        grads = self.function()._run_recorded(f, part)
        if grads[0] is None:
            flat = f.index_fill_int_Scalar(flat, 0, changed, 0)
        else:
            new = self._read(f, f.expand(grads[0], self.view[0]))
            flat = f.index_copy(flat, 0, changed, f.reshape(new, (changed._raw.size,)))
        return (f.reshape(flat, shape), *grads[1:])

    def _read(self, f: Any, part: Any) -> Any:
        """What lies in the changed part as the view reads it, and the other way round."""
        conj, neg = self.bits
        part = f.conj(part) if conj else part
        return f.neg(part) if neg else part


# ---------------------------------------------------------------- in-place


def check_inplace(tensor: Tensor, *others: Any) -> None:
    """Raise PyTorch's error where an in-place change of `tensor`, by a function of it and `others`, is not allowed."""
    _check_mode(tensor)
    edge = tensor._edge
    if edge.__class__ is tuple or not thread_state.records:
        return
    if edge is LEAF:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if edge.__class__ is View:
        asked = tensor.requires_grad
        if edge.creation and (asked or any(isinstance(x, Tensor) and x.requires_grad for x in others)):
            _refuse(edge.edge, edge.creation, "is being")
        if asked and (edge.base.is_leaf or edge.edge is LEAF):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if asked and edge.edge is None:
            # PyTorch does not ask for the view's new history here.
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _check_mode(tensor: Tensor) -> None:
    if tensor._counter is INFERENCE and not thread_state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def _refuse(edge: Any, creation: str, what: str) -> None:
    edge = None if edge is LEAF else edge
    if creation in _MODES:
        how, mode, name = _MODES[creation]
        which = (
            "A view was" if edge is None else f"Output {edge[1]} of {short_name(edge[0])} is a view of a view which was"
        )
        raise RuntimeError(
            f"{which} created in {how} and {what} modified inplace {mode}. Given that this use case is ambiguous and "
            "error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
            f"both inside the {name} block (if you don't want the inplace to be tracked) or both outside (if you want "
            "the inplace to be tracked)."
        )
    if edge is not None:
        view = f"Output {edge[1]} of {short_name(edge[0])}"
        raise RuntimeError(f"{view} is a view and {what} modified inplace. {_REFUSALS[creation]}")


_MODES = {
    NO_GRAD: ("no_grad mode", "with grad mode enabled", "no_grad"),
    INFERENCE_MODE: ("inference mode", "in normal mode", "inference_mode"),
}
_REFUSALS = {
    MULTIPLE: "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output "
    "views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    CUSTOM: "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
    "logic to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
}


def changes(tensor: Tensor) -> None:
    """To be called before a tensor's memory is changed: what was saved of it may have to be copied."""
    if thread_state.before_change is not None:
        thread_state.before_change(tensor)


def bump(tensor: Tensor) -> None:
    """Count one in-place change."""
    counter(tensor)[0] += 1


def check_own_memory(raw: Any) -> None:
    """Raise PyTorch's error where one place in memory stands for several elements to be written."""
    if isinstance(raw, Sparse):
        return
    if raw.size and 0 in raw.strides and any(s == 0 and n > 1 for s, n in zip(raw.strides, raw.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def check_overlap(written: Any, read: Any, apart: bool = False) -> None:
    """Raise PyTorch's error where two dense arrays share a part of their memory; `apart`: also where they are one and
    the same.

    What is read with a bit of conjugation or negation is read from a copy.
    """
    if any(bits_of(read)):
        return
    written, read = memory_of(written), memory_of(read)
    if written is read and apart:
        raise _overlap()
    if not (isinstance(written, np.ndarray) and isinstance(read, np.ndarray) and written.size and read.size):
        return
    begin, start = address(written), address(read)
    end, stop = begin + written.nbytes, start + read.nbytes
    if begin >= stop or start >= end:
        return
    same = begin == start and end == stop and strides_of(written) == strides_of(read)
    if (apart or not same) and is_dense(written) and is_dense(read):
        raise _overlap()


def _overlap() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def is_dense(raw: Any) -> bool:
    """Whether the elements fill a stretch of memory, in whatever order."""
    if raw.flags.c_contiguous:
        return True
    step = raw.itemsize
    for stride, n in sorted((s, n) for s, n in zip(raw.strides, raw.shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def _is_same(written: Tensor, read: Tensor) -> bool:
    """Whether two tensors are the same window onto the same memory: there is nothing to copy."""
    a, b = written._raw, read._raw
    if written._counter is None or not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype and address(a) == address(b)


_APART = frozenset(("index_put", "index_add", "index_copy", "scatter", "scatter_add"))
"""What must not read a part of the memory that it writes, not even the same place."""
_MAY_OVERLAP = frozenset(("masked_scatter", "fill", "masked_fill", "index_fill"))
_SAME_EVERYWHERE = frozenset(
    (
        "fill_Scalar",
        "zero",
        "masked_fill_Scalar",
        "masked_fill_Tensor",
        "index_fill_int_Scalar",
        "index_fill_int_Tensor",
        "index_put",
    )
)
"""What writes one value may write it several times to one place."""


def write(tensor: Tensor, raw: Any, apart: bool = True) -> None:
    """Put new values into the tensor's memory and count the change; with `apart`, each element must have its own
    place."""
    if isinstance(tensor._raw, Sparse):
        tensor._raw = raw
        bump(tensor)
        return
    if apart:
        check_own_memory(tensor._raw)
    changes(tensor)
    if isinstance(tensor._raw, np.generic):
        tensor._raw = raw[()] if isinstance(raw, np.ndarray) else raw
        if tensor._raw.__class__ is not np.generic and not isinstance(tensor._raw, np.generic):
            tensor._raw = np.array(raw)
    elif not apart and 0 in tensor._raw.strides:
        changed = np.asarray(raw != tensor._raw)
        tensor._raw[changed] = raw[changed]
    else:
        tensor._raw[...] = raw
    bump(tensor)


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node` the history of a tensor that was changed in place."""
    view = tensor._edge
    if view.__class__ is not View:
        tensor._edge = (node, 0)
        move_retained(tensor, view)
        return
    before = edge_of(view.base)
    copy = CopySlices(node, view.base, tensor)
    view.base._edge = (copy, 0)
    move_retained(view.base, before)
    if process_state.observer is not None:
        process_state.observer.created(copy, (view.base,), (view.base,))
    view.version = -1
    edge = view_edge(tensor, copy.view)
    if edge is not None and any(item.__class__ is SavedResult for item in node._saved):
        node._saved = tuple([SavedView(x, edge[0]) if x.__class__ is SavedResult else x for x in node._saved])


def move_retained(tensor: Tensor, before: Edge | None) -> None:
    """A tensor that retains its gradient does so at its new place in the graph."""
    if tensor._meta is None or not tensor._meta.retains or before is None:
        return
    old, new = before[0]._extra, edge_of(tensor)
    if old is not None and old.retained is not None and new is not None:
        extra = extra_of(new[0])
        extra.retained = {} if extra.retained is None else extra.retained
        extra.retained[new[1]] = old.retained.pop(before[1])


def run_inplace(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Run `op` and put its result into its first argument."""
    general = _general()
    args = general.operands(op, args)
    if thread_state.levels:
        found: Tensor = general.Transforms.inplace(op, args)
        if found is not NotImplemented:
            return found
    target: Tensor = args[0]
    if op.derivatives:
        check_inplace(*args)
    else:
        _check_mode(target)
    number = next_sequence_nr()
    edges = general.edges_of(op, args) if thread_state.records else ()
    begun = 0 if process_state.witness is None else time.perf_counter_ns()
    wants = general.wanted(op, args, edges) and dtypes.CATEGORY[target._raw.dtype] >= dtypes.FLOATING
    if op.name == "abs" and target._raw.dtype.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    _check_apart(op, args)
    found = (
        general.compute(op, args, in_place=True)
        if thread_state.watcher is None
        else thread_state.watcher.changed(op, args)
    )
    done = bool(process_state.dispatched) and any(
        isinstance(x, Tensor) and x._raw.__class__ is Dispatched for x in args
    )
    result = target._raw if done else _result_for(target, found[0])
    before = _operations().clone(target) if wants and _saves_first(op, edges) else None
    if before is not None:
        args = (before, *args[1:])
    node = general.attach(op, args, [make(result)], edges, number) if wants and thread_state.saved_hooks else None
    if done:
        changes(target)
        bump(target)
    else:
        write(
            target, result, apart=op.identifier not in _SAME_EVERYWHERE and not (op.name == "copy" and _is_same(*args))
        )
    if process_state.witness is not None:
        process_state.witness(op, (target, *args[1:]), [target], time.perf_counter_ns() - begun)
    if wants:
        if node is None:
            out = make(target._raw)
            out._counter = counter(target)
            node = general.attach(op, args, [out], edges, number)
        _date_back(node, target, before)
        if process_state.observer is not None:
            process_state.observer.created(node, args, (target,))
        rebase(target, node)
    return target


def _saves_first(op: Operation, edges: tuple[Edge | None, ...]) -> bool:
    if "self" not in op.saved_names:
        return False
    guard = op.guards["self"]
    return guard is None or edges[guard] is not None


def _check_apart(op: Operation, args: tuple[Any, ...]) -> None:
    target = args[0]
    for x in args[1:]:
        if isinstance(x, Tensor) and (x is target or x._counter is not None) and op.name not in _MAY_OVERLAP:
            check_overlap(target._raw, x._raw, op.name in _APART)


@functools.cache
def _operations() -> Any:
    from .operation import operations as found

    return found


@functools.cache
def _general() -> Any:
    from . import dispatch

    return dispatch


def _date_back(node: Node, target: Tensor, before: Tensor | None) -> None:
    """What the node saved was meant as it was before the change."""
    items = list(node._saved)
    for i, item in enumerate(items):
        if before is not None and item is before:
            items[i] = Packed(item, itself, edge_of(item), hooked=False)
        elif isinstance(item, Tensor) and item._counter is target._counter:
            versions = extra_of(node).versions
            assert versions is not None
            versions[i] -= 1
    node._saved = tuple(items)


def itself(tensor: Tensor) -> Tensor:
    """How a tensor is opened that was kept as it is."""
    return tensor


def _result_for(target: Tensor, raw: Any) -> Any:
    """The result checked and cast to what fits into `target`."""
    have = target._raw
    if raw.shape != have.shape:
        raise RuntimeError(f"output with shape {list(have.shape)} doesn't match the broadcast shape {list(raw.shape)}")
    if raw.dtype != have.dtype:
        source, goal = dtypes.FROM_NUMPY[raw.dtype], dtypes.FROM_NUMPY[have.dtype]
        if not dtypes.can_cast(source, goal):
            raise RuntimeError(
                f"result type {dtypes.cpp_name(raw.dtype)} can't be cast to the desired output type "
                f"{dtypes.cpp_name(have.dtype)}"
            )
        raw = raw.astype(have.dtype)
    return raw
