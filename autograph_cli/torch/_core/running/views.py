"""Views and in-place changes: shared memory, shared versions, and histories that are worked out anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays import Array
from ..._arrays.backends import DENSE
from ..._arrays.lazy import bits_of, flip, memory_of
from ..._arrays.sparse import Sparse
from ..._arrays.storages import address, as_strided_raw, empty_strided, offset_in, owner
from ..._arrays.unusual import BY_OPERATIONS
from ..base.memory_format import strides_of
from ..base.op_namespace import operations, table
from ..base.state import next_sequence_nr, process_state, thread_state
from ..tape.node import INFERENCE, LEAF, Edge, Node, View, edge_of, extra_of, output_meta
from ..tape.saved_tensors import SavedResult, SavedView, check_versions, freed, short_name
from ..tape.tensor import Tensor, Wrapped, counter, make

if TYPE_CHECKING:
    from ..operations.operation import Operation


def make_view(
    out: Tensor, source: Tensor, edge: Edge | None, multiple: bool = False, op: Operation | None = None
) -> Tensor:
    """Make `out`, which shares the memory of `source`, a differentiable view with the given edge; `op` if it reads it
    otherwise."""
    seen = source._ag_edge
    viewed = seen.__class__ is View
    base = seen.base if viewed else source
    versions = base._ag_counter
    if versions is None:
        versions = base._ag_counter = [0]
    out._ag_counter = versions
    if versions is INFERENCE:
        return out
    creation = ""
    if process_state.special or process_state.without_grad:
        creation = INFERENCE_MODE if thread_state.inference else "" if thread_state.grad else NO_GRAD
    if multiple and not creation:
        creation = MULTIPLE if edge is not None else NO_GRAD
    path = None
    if viewed:
        creation, path = creation or seen.creation, seen.path
    if op is not None:
        start = path or ((geometry(source._ag_raw, base._ag_raw),) if viewed else ())
        path = (*start, op)
    elif path is not None:
        path = (*path, geometry(out._ag_raw, base._ag_raw))
    out._ag_edge = made = _new(View)
    made.base, made.edge, made.version, made.creation, made.path = base, edge, versions[0], creation, path
    return out


_new = object.__new__


def along(path: tuple[Any, ...], base: Tensor) -> Tensor:
    """A view of `base`, or of memory that is like it, by the operations and windows by which another one was made."""
    f, result, start = operations, base, address(base._ag_raw)
    for step in path:
        if isinstance(step, tuple):
            shape, strides, offset = step
            apart = (address(result._ag_raw) - start) // result._ag_raw.itemsize
            result = f.as_strided(result, shape, strides, offset - apart)
        else:
            result = step.function(result)
    return result


MULTIPLE, NO_GRAD, INFERENCE_MODE, CUSTOM = "multiple", "no_grad", "inference", "custom"


# ---------------------------------------------------------------- histories


def geometry(view: Any, base: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and offset of a raw view, in elements of its raw base."""
    apart: int = address(view) - address(base)
    if not 0 <= apart < base.nbytes and owner(view) is not owner(base):
        # `set_` gave the view other memory: its position there is taken for one in the base's, as PyTorch does.
        return view.shape, strides_of(view), offset_in(view) - offset_in(base)
    return view.shape, strides_of(view), apart // view.itemsize


def position(view: View, raw: Any, base: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The `geometry` of a view in its base, which is asked anew only where one of them got other memory."""
    known = getattr(view, "position", None)
    if known is None or known[0] is not raw or known[1] is not base:
        known = view.position = (raw, base, geometry(raw, base))
    return known[2]


def view_edge(tensor: Tensor, position: Any = None) -> Edge | None:
    """The edge of a view; when its memory changed since, an AsStridedBackward0 on its base's new history.

    `position` is its `geometry` in its base, if that is known.
    """
    view: View = tensor._ag_edge
    version: int = tensor._ag_counter[0]
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
        if edge is not None:
            process_state.disordered = max(process_state.disordered, edge[0]._ag_seq)
        move_retained(tensor, before)
        return edge
    node: Node = object.__new__(table["as_strided"].node)
    shape, strides, offset = position or geometry(tensor._ag_raw, view.base._ag_raw)
    node._ag_edges = (base_edge,)
    node._ag_saved = (shape, strides, offset, view.base._ag_raw.shape, strides_of(view.base._ag_raw))
    node._ag_output_meta = output_meta(tensor._ag_raw)
    node._ag_seq = next_sequence_nr()
    node._ag_extra = None
    process_state.disordered = max(process_state.disordered, node._ag_seq)
    edge = (node, 0)
    view.edge, view.version = edge, version
    if process_state.observer is not None:
        process_state.observer.created(node, (view.base,), (tensor,))
    move_retained(tensor, before)
    return edge


operations.view_edge = view_edge


class CopySlices(Node):
    """Backward of an in-place change of a view: the gradient of the base, with the changed part replaced."""

    __slots__ = ("base", "bits", "dtype", "path", "view")

    def __init__(self, function: Node, base: Tensor, changed: Tensor) -> None:
        view = changed._ag_raw
        self.base = (base._ag_raw.shape, strides_of(base._ag_raw))
        self.view = position(changed._ag_edge, view, base._ag_raw)
        self.dtype = view.dtype
        self.path = changed._ag_edge.path
        now, before = bits_of(view), bits_of(base._ag_raw)
        self.bits = (now[0] is not before[0], now[1] is not before[1])
        self._ag_edges = (edge_of(base), *function._ag_edges[1:])
        self._ag_saved = (function,)
        self._ag_output_meta = output_meta(base._ag_raw)
        self._ag_seq = next_sequence_nr()
        self._ag_extra = None
        if view.__class__ in BY_OPERATIONS:
            extra_of(self).by_operations = True

    def _ag_name(self) -> str:
        return "torch::autograd::CopySlices"

    def function(self) -> Node:
        """The node of the change itself, which sees the changed part only."""
        if self._ag_saved is None:
            raise freed()
        result: Node = self._ag_saved[0]
        return result

    def _change(self, f: Any, part: Any, edges: Any, recorded: bool) -> tuple[Any, ...]:
        """The gradients of what the change was computed from, out of that of the changed part; with `edges`, only those
        that these lead to."""
        function = self.function()
        run: Any = function._ag_run_recorded if recorded else function._ag_run_raw
        if edges is None or function._ag_operation is None:
            result: tuple[Any, ...] = run(f, part)
            return result
        check_versions(function)
        result = run(f, part, edges)
        return result

    def _ag_run_raw(self, f: Any, grad: Any, edges: Any = None) -> tuple[Any, ...]:
        result = empty_strided(*self.base, grad.dtype, grad)
        result[...] = grad
        part = flip(as_strided_raw(result, *self.view, self.dtype), *self.bits)
        grads = self._change(f, part.copy("K"), edges, recorded=False)
        if grads[0] is None or (edges or self._ag_edges)[0] is None:
            return (None, *grads[1:])
        check_own_memory(part)
        part[...] = grads[0]
        return (result, *grads[1:])

    def _ag_run_recorded(self, f: Any, grad: Any, edges: Any = None) -> tuple[Any, ...]:
        if isinstance(grad, Wrapped):
            return self._run_wrapped(f, grad)
        result = make(empty_strided(*self.base, grad._ag_raw.dtype, grad._ag_raw))
        result.copy_(grad)
        part = f.as_strided(result, *self.view) if self.path is None else along(self.path, result)
        grads = self._change(f, f.clone(part), edges, recorded=True)
        if grads[0] is None or (edges or self._ag_edges)[0] is None:
            return (None, *grads[1:])
        part.copy_(grads[0])
        return (result, *grads[1:])

    def _run_wrapped(self, f: Any, grad: Any) -> tuple[Any, ...]:
        """The same without a change in place, by the positions of the view's elements in the base."""
        if grad._ag_raw.dtype != self.dtype:
            raise NotImplementedError(
                "a change in place through view_as_real or view_as_complex under a transform of functions"
            )
        shape = self.base[0]
        positions = empty_strided(*self.base, np.dtype(np.int64))
        positions[...] = np.arange(positions.size).reshape(shape)
        changed = make(np.ascontiguousarray(as_strided_raw(positions, *self.view)).reshape(-1))
        flat = f.reshape(grad, (positions.size,))
        part = self._read(f, f.reshape(f.index_select(flat, 0, changed), self.view[0]))
        grads = self.function()._ag_run_recorded(f, part)
        if grads[0] is None:
            flat = f.index_fill_int_Scalar(flat, 0, changed, 0)
        else:
            new = self._read(f, f.expand(grads[0], self.view[0]))
            flat = f.index_copy(flat, 0, changed, f.reshape(new, (changed._ag_raw.size,)))
        return (f.reshape(flat, shape), *grads[1:])

    def _read(self, f: Any, part: Any) -> Any:
        """Return what is in the changed part as the view reads it, and the other way round."""
        conj, neg = self.bits
        part = f.conj(part) if conj else part
        return f.neg(part) if neg else part


# ---------------------------------------------------------------- in-place


def check_inplace(tensor: Tensor, *others: Any) -> None:
    """Raise PyTorch's error where an in-place change of `tensor`, by a function of it and `others`, is not allowed."""
    check_mode(tensor)
    edge = tensor._ag_edge
    if edge.__class__ is tuple or not thread_state.records:
        return
    if edge is LEAF:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if edge.__class__ is View:
        if edge.edge.__class__ is tuple and edge.base._ag_edge.__class__ is tuple and not edge.creation:
            return
        asked = tensor.requires_grad
        if edge.creation and (asked or any(isinstance(x, Tensor) and x.requires_grad for x in others)):
            _refuse(edge.edge, edge.creation, "is being")
        if asked and (edge.base.is_leaf or edge.edge is LEAF):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if asked and edge.edge is None:
            # PyTorch does not ask for the view's new history here.
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def check_mode(tensor: Tensor) -> None:
    if tensor._ag_counter is INFERENCE and not thread_state.inference:
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
    (tensor._ag_counter or counter(tensor))[0] += 1


def repeats(raw: Array) -> bool:
    """Return whether one position in memory stands for several elements."""
    if not raw.size or 0 not in raw.strides:
        return False
    return any(s == 0 and n > 1 for s, n in zip(raw.strides, raw.shape, strict=True))


def check_own_memory(raw: Array) -> None:
    """Raise PyTorch's error where one position in memory stands for several elements to be written."""
    if isinstance(raw, Sparse):
        return
    if repeats(raw):
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
    if not (written.__class__ in DENSE and read.__class__ in DENSE and written.size and read.size):
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


def is_dense(raw: Array) -> bool:
    """Return whether the elements fill a stretch of memory, in whatever order."""
    if raw.flags.c_contiguous:
        return True
    step = raw.itemsize
    for stride, n in sorted((s, n) for s, n in zip(raw.strides, raw.shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def write(tensor: Tensor, raw: Array, apart: bool = True) -> None:
    """Put new values into the tensor's memory and count the change; with `apart`, each element must have its own
    position."""
    if isinstance(tensor._ag_raw, Sparse):
        tensor._ag_raw = raw
        bump(tensor)
        return
    if apart:
        check_own_memory(tensor._ag_raw)
    changes(tensor)
    if isinstance(tensor._ag_raw, np.generic):
        tensor._ag_raw = raw[()] if isinstance(raw, np.ndarray) else raw
        if tensor._ag_raw.__class__ is not np.generic and not isinstance(tensor._ag_raw, np.generic):
            tensor._ag_raw = np.array(raw)
    elif not apart and 0 in tensor._ag_raw.strides:
        changed = np.asarray(raw != tensor._ag_raw)
        tensor._ag_raw[changed] = raw[changed]
    else:
        tensor._ag_raw[...] = raw
    bump(tensor)


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node` the history of a tensor that was changed in place."""
    view = tensor._ag_edge
    if view.__class__ is not View:
        tensor._ag_edge = (node, 0)
        move_retained(tensor, view)
        return
    before = edge_of(view.base)
    copy = CopySlices(node, view.base, tensor)
    view.base._ag_edge = (copy, 0)
    move_retained(view.base, before)
    if process_state.observer is not None:
        process_state.observer.created(copy, (view.base,), (view.base,))
    view.version = -1
    edge = view_edge(tensor, copy.view)
    if edge is not None and any(item.__class__ is SavedResult for item in node._ag_saved):
        node._ag_saved = tuple([SavedView(x, edge[0]) if x.__class__ is SavedResult else x for x in node._ag_saved])


def move_retained(tensor: Tensor, before: Edge | None) -> None:
    """A tensor that retains its gradient does so at its new position in the graph."""
    if tensor._ag_meta is None or not tensor._ag_meta.retains or before is None:
        return
    old, new = before[0]._ag_extra, edge_of(tensor)
    if old is not None and old.retained is not None and new is not None:
        extra = extra_of(new[0])
        extra.retained = {} if extra.retained is None else extra.retained
        extra.retained[new[1]] = old.retained.pop(before[1])


def itself(tensor: Tensor) -> Tensor:
    """Return how a tensor is opened that was kept as it is."""
    return tensor
