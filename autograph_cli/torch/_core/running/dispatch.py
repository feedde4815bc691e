"""The way to run an operation that takes everything: every mode, every kind of argument. Where the engine was compiled,
plain calls take the compiled tape's (fast_tape.pyx), which does the same.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays import cuda, dispatched
from ..._arrays.backends import DENSE, device_of
from ..._arrays.dispatched import Dispatched
from ..._arrays.lazy import PLAIN, bits_of, flip, memory_of, resolved
from ..._arrays.meta import Meta
from ..._arrays.storages import resized, window
from ..._arrays.unusual import BY_OPERATIONS, UNUSUAL
from ..._kernels.half_precision import NARROW
from ..arguments.operands import operands
from ..base import dims, dtypes
from ..base.class_names import type_name
from ..base.dtype_checks import check_cast
from ..base.errors import refused
from ..base.memory_format import settled, strides_of
from ..base.op_namespace import table
from ..base.state import next_sequence_nr, process_state, thread_state
from ..base.user_warnings import warn
from ..tape.node import Edge, Node, View, edge_of, extra_of, output_meta
from ..tape.saved_tensors import SavedList, SavedResult, save
from ..tape.tensor import Tensor, inference_result, make, materialize
from ..tape.wrapped_numbers import is_wrapped_number
from . import autocast, device_dispatch, overlapping
from .views import bump, check_overlap, check_own_memory, make_view, write

if TYPE_CHECKING:
    from ..operations.operation import Operation


class Transforms:
    """Functions that run operations while a transform is active; interpret.py sets them. All may answer
    NotImplemented."""

    operation: Callable[..., Any]
    inplace: Callable[..., Any]
    out: Callable[..., Any]
    plain: Callable[..., Any] | None = None
    """The compiled tape's way to run an operation on plain tensors, which answers None to others; None without it."""


def run(op: Operation, args: tuple[Any, ...]) -> Any:
    """Compute `op` on its arguments (all of them, in the schema's order) and record its node."""
    args = operands(op, args)
    if op.constants:
        check_constants(op, args)
    if process_state.special:
        return _run_in_modes(op, args)
    number, edges = numbered_edges(op, args)
    kinds = classes_of(op, args)
    outputs = [make(raw) for raw in compute(op, args, kinds=kinds)]
    return _recorded(op, args, outputs, edges, number, kinds)


def _run_in_modes(op: Operation, args: tuple[Any, ...]) -> Any:
    """`run` where modes are on: autocast, transforms, those that watch or time operations."""
    if thread_state.autocast is not None:
        args = autocast.adapted(op, args)
    if thread_state.wrapping:
        result = Transforms.operation(op, args)
        if result is not NotImplemented:
            return result
    if process_state.special == process_state.transforms and Transforms.plain is not None:
        result = Transforms.plain(op, args)
        if result is not None:
            return result
    watcher = thread_state.watcher
    number, edges = numbered_edges(op, args)
    begun = None if process_state.op_hook is None else timing(args)
    kinds = classes_of(op, args)
    results = compute(op, args, kinds=kinds) if watcher is None else watcher._ag_compute(op, args)
    if thread_state.autocast is not None:
        results = autocast.lowered(op.autocast, results, args)
    took = None if begun is None else timed(*begun)
    outputs = [make(raw) for raw in results]
    if thread_state.inference and not op.view:
        outputs = [inference_result(t) for t in outputs]
    if took is not None:
        tell_computed(op, args, outputs, took)
    made = _recorded(op, args, outputs, edges, number, kinds)
    if watcher is not None:
        watcher._ag_made(op, args, outputs)
    return made


def _recorded(
    op: Operation,
    args: tuple[Any, ...],
    outputs: list[Tensor],
    edges: tuple[Edge | None, ...],
    number: int,
    kinds: set[type],
) -> Any:
    """Give the outputs their node, where one is wanted, and tell the observer."""
    node = attach(op, args, outputs, edges, number, kinds) if edges and wanted(op, args, edges) else None
    if op.view:
        for output in outputs:
            make_view(output, args[0], output._ag_edge, multiple=op.multiple, op=op if op.rereads else None)
    observer = process_state.observer
    if observer is not None and node is not None:
        observer.created(node, args, tuple(outputs))
    elif observer is not None:
        observer.untracked(op.name, op, args, tuple(outputs))
    return pack_outputs(op, outputs)


def numbered_edges(op: Operation, args: tuple[Any, ...]) -> tuple[int, tuple[Edge | None, ...]]:
    """The edges of an operation that is to be recorded, and the number of its node.

    As in PyTorch the number is drawn before the edges: the history of a view that is worked out anew has a later one.
    """
    if (process_state.without_grad and not thread_state.grad) or (process_state.special and thread_state.inference):
        return 0, ()
    for i, parameter in op.input_positions:
        x = args[i]
        if parameter.is_list:
            followed = any(t is not None and t._ag_edge is not None for t in x)
        else:
            followed = x is not None and x._ag_edge is not None
        if followed:
            return next_sequence_nr(), edges_of(op, args)
    return 0, ()


def check_constants(op: Operation, args: tuple[Any, ...]) -> None:
    """Raise PyTorch's error for a tensor by which it does not differentiate."""
    for x, parameter in zip(args, op.schema.parameters, strict=True):
        if parameter.name in op.constants and isinstance(x, Tensor):
            refuse_gradient(op.name, parameter.name, x)


def refuse_gradient(function: str, argument: str, x: Tensor) -> None:
    """Raise PyTorch's error for an argument of a function that has no derivative by it."""
    if x.requires_grad and thread_state.grad:
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
            "have requires_grad True."
        )


def timing(args: tuple[Any, ...]) -> tuple[int, Any]:
    """The time, and a mark in the queue of the GPU that arguments are on, as an operation begins."""
    return time.perf_counter_ns(), cuda.mark(args)


def timed(begun: int, mark: Any) -> tuple[int, Callable[[], int] | None]:
    """The nanoseconds since then, and what tells those of a GPU."""
    return time.perf_counter_ns() - begun, cuda.since(mark)


def tell_computed(op: Operation, args: tuple[Any, ...], outputs: list[Tensor], took: Any) -> None:
    """Tell who sees every operation of one, and how long it took."""
    if process_state.op_hook is not None:
        nanoseconds, thread_state.queued = took
        try:
            process_state.op_hook(op, args, outputs, nanoseconds)
        finally:
            thread_state.queued = None


def pack_outputs(op: Operation, outputs: list[Tensor]) -> Any:
    """Return what the caller gets: the only output, or all as a tuple."""
    return tuple(outputs) if op.multiple else outputs[0]


def compute(op: Operation, args: tuple[Any, ...], in_place: bool = False, kinds: set[type] | None = None) -> list[Any]:
    """The kernel's raw results; `in_place`: they are written into the first argument, which a class that is asked does
    itself; `kinds`: the arguments' classes, where they are known."""
    kinds = kinds or classes_of(op, args)
    unusual = not UNUSUAL.isdisjoint(kinds)
    if Dispatched in kinds:
        found: list[Any] = dispatched.ask(op, args, in_place)
        return found
    raws = list(args)
    for i, parameter in op.positions:
        x = raws[i]
        if x.__class__ is Tensor and not unusual:
            raws[i] = x._ag_raw
        else:
            raws[i] = [_raw(t) for t in x] if parameter.is_list else _raw(x)
    if op.promotes:
        raws = promoted(op, args, raws)
    if op.floating:
        raws[0] = as_floating(raws[0])
    bits = PLAIN
    if op.view:
        raws[0] = materialize(args[0])
        bits, raws[0] = bits_of(raws[0]), memory_of(raws[0])
    try:
        result = overlapping.changed(op, raws) if in_place and overlapping.may_repeat(raws[0]) else None
        if result is None:
            result = device_dispatch.compute(op, raws) if unusual or process_state.float8 else op.kernel_function(*raws)
    except Exception:
        explain(op, args, tuple(raws))
        raise
    if bits != PLAIN and raws[0].__class__ is not Meta:
        return [flip(raw, *bits) for raw in (result if op.multiple else [result])]
    if op.multiple:
        return list(result)
    if op.elementwise and result.__class__ in DENSE and result.ndim > 1:
        operands = [raws[i] for i, _ in op.positions]
        if not op.takes_lists and not operands[0].flags.c_contiguous:
            result = settled(result, *operands)
    return [result]


def classes_of(op: Operation, args: tuple[Any, ...]) -> set[type]:
    """The classes of the arrays among the arguments of an operation."""
    kinds = set()
    for i, parameter in op.positions:
        x = args[i]
        if parameter.is_list:
            kinds.update([t._ag_raw.__class__ for t in x if t is not None])
        elif x is not None:
            kinds.add(x._ag_raw.__class__)
    return kinds


def explain(op: Operation, args: tuple[Any, ...], raws: tuple[Any, ...]) -> None:
    """While a kernel's error is handled, raise PyTorch's; its nodes are made before, so views have their histories by
    then."""
    if thread_state.records:
        edges_of(op, args)
    error = sys.exc_info()[1]
    if isinstance(error, ValueError):
        check_broadcast(*raws)
    if op.promotes and isinstance(error, (NotImplementedError, TypeError)):
        dims.broadcast(*[raw.shape for raw in raws if hasattr(raw, "shape")])
    if isinstance(error, TypeError):
        check_dtypes(op, *raws)


def check_broadcast(*raws: Any) -> None:
    """While NumPy's error about shapes that do not broadcast is handled, raise PyTorch's."""
    if "broadcast" in str(sys.exc_info()[1]):
        dims.broadcast(*(raw.shape for raw in raws if hasattr(raw, "shape")))


def check_dtypes(op: Operation, *raws: Any) -> None:
    """While the backend's error about dtypes that it cannot compute with is handled, raise PyTorch's."""
    text = str(sys.exc_info()[1])
    if "ufunc" in text or "unsupported operand type" in text or "numpy boolean" in text:
        kinds = [raw.dtype for raw in raws if isinstance(raw, (np.ndarray, np.generic))]
        name = dtypes.cpp_name(functools.reduce(dtypes.promote, kinds))
        kernel = op.name.removeprefix("special").lstrip("_")
        raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for '{name}'") from None


def _raw(x: Any) -> Any:
    return None if x is None else resolved(x._ag_raw)


def as_floating(raw: Any) -> Any:
    """Integers and booleans as the default dtype."""
    return raw.astype(process_state.default_dtype) if raw.dtype.kind in "biu" else raw


_SCALARS = frozenset((np.float32, np.float64, np.int64, np.bool_))


def promoted(op: Operation, args: tuple[Any, ...], raws: list[Any]) -> list[Any]:
    """Raw tensor arguments cast to their common dtype."""
    first = raws[op.positions[0][0]]
    kind = first.__class__ if first.__class__ in _SCALARS else None  # two of one class have one dtype
    for i, _ in op.positions:
        raw = raws[i]
        if raw is None or (raw.__class__ is not kind and raw.dtype is not first.dtype):
            break
    else:
        return raws
    positions = [i for i, p in op.positions if p.is_tensor and raws[i] is not None]
    if op.check is not None:
        op.check(*(raws[i] for i in positions))
    exact = first.dtype.itemsize == 2 and op.opmath == "exact numbers" and first.dtype in NARROW
    number = exact and raws[1].dtype == np.float32 and is_wrapped_number(args[1])
    common = first.dtype if number else dtypes.result_dtype(*(raws[i] for i in positions))
    for i in positions:
        if raws[i].dtype != common:
            whole = exact and i and not raws[i].ndim and common == first.dtype and first.__class__ is not Meta
            raws[i] = cast(raws[i], np.float32 if whole else common)
    return raws


def cast(raw: Any, dtype: Any) -> Any:
    """An operand in another dtype; what is expanded stays so, as the order of a result's memory follows from it."""
    if raw.__class__ is np.ndarray and 0 in raw.strides and raw.size:
        once = raw[tuple([slice(None, 1) if step == 0 else slice(None) for step in raw.strides])]
        return np.broadcast_to(once.astype(dtype), raw.shape)
    return raw.astype(dtype)


def write_out(op: Operation, args: tuple[Any, ...], out: Any) -> Any:
    """Run `op` for `out=`: results go into given tensors, outside the graph."""
    args = operands(op, args)
    if thread_state.levels:
        result = Transforms.out(op, args, out)
        if result is not NotImplemented:
            return result
    if not op.multiple and not isinstance(out, Tensor):
        raise refused(TypeError, f"{op.name}(): argument 'out' must be Tensor, not {type_name(out)}")
    targets = [out] if isinstance(out, Tensor) else list(out)
    given = [t for x in args for t in (x if isinstance(x, (tuple, list)) else [x]) if isinstance(t, Tensor)]
    if thread_state.grad and any(t.requires_grad for t in [*given, *targets]):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if by_elements(op):
        check_out_apart(targets, given)
    for target, raw in zip(targets, compute(op, args), strict=True):
        resizes = op.elementwise and raw.shape != target._ag_raw.shape
        made = make(raw)
        if process_state.observer is not None:
            process_state.observer.untracked(op.name, op, args, (made,))
        put(target, made)
        if resizes and raw.__class__ in DENSE and raw.size and not raw.flags.c_contiguous:
            target._ag_raw = window(target._ag_raw, raw.shape, strides_of(raw), 0)
            target._ag_raw[...] = raw
    return out


def tell_change(op: Operation, args: tuple[Any, ...], target: Tensor) -> None:
    """Tell the observer of a change that left no node: of a view, as one of what it is a view of."""
    observer, edge = process_state.observer, target._ag_edge
    whole = edge.base if edge.__class__ is View else target
    if observer is not None:
        observer.untracked(f"{op.name.rstrip('_')}_", op, args, (whole,))


def by_elements(op: Operation) -> bool:
    """Return whether each element of the result is of the elements at one position, so that PyTorch writes while it
    reads."""
    return bool(op.pointwise or op.promotes)


def check_out_apart(targets: Iterable[Tensor], given: Iterable[Tensor], apart: bool = False) -> None:
    """Raise PyTorch's error where an `out=` shares a part of an argument's memory; `apart`: or all of it."""
    for x in given:
        for target in targets:
            check_overlap(target._ag_raw, x._ag_raw, apart)


def put(target: Tensor, made: Tensor) -> None:
    """Write a result into an `out=` tensor, which is resized if its shape differs."""
    raw = made._ag_raw
    device_dispatch.check_out(raw, target._ag_raw)
    check_own_memory(target._ag_raw)
    if raw.dtype != target._ag_raw.dtype:
        check_cast(raw.dtype, target._ag_raw.dtype)
        raw = raw.astype(target._ag_raw.dtype)
    if raw.shape != target._ag_raw.shape:
        if target._ag_raw.__class__ is Meta:
            target._ag_raw = device_dispatch.copied(raw, target._ag_raw)
            bump(target)
            return
        if target._ag_raw.size:
            warn(
                f"An output with one or more elements was resized since it had shape "
                f"{list(target._ag_raw.shape)}, which "
                f"does not match the required output shape {list(raw.shape)}. This behavior is deprecated, and in a "
                "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
                "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
            )
        target._ag_raw = resized(materialize(target), raw.shape)
    write(target, raw)
    tell_change(table["copy"], (target, made), target)


# ---------------------------------------------------------------- the node


def edges_of(op: Operation, args: tuple[Any, ...]) -> tuple[Edge | None, ...]:
    """One edge for each input that has a derivative; lists are laid out flat."""
    edges: list[Edge | None] = []
    for i, parameter in op.input_positions:
        x = args[i]
        if parameter.is_list:
            edges += [edge_of(t) for t in x]
        else:
            edge = None if x is None else x._ag_edge
            edges.append(edge if edge is None or edge.__class__ is tuple else edge_of(x))
    return tuple(edges)


def attach(
    op: Operation,
    args: tuple[Any, ...],
    outputs: list[Tensor],
    edges: tuple[Edge | None, ...],
    number: int,
    kinds: set[type] | None = None,
) -> Node:
    """Make the node of an operation and hang the outputs on it; `number` was drawn before its edges were asked for,
    `kinds` are the arguments' classes, where they are known."""
    if op.multiple or dtypes.CATEGORY[outputs[0]._ag_raw.dtype] != dtypes.FLOATING:
        _check_results(op, outputs)
    node: Node = _new(op.node)
    # PyTorch's node for a derivative that does not exist has only the edges that need one.
    node._ag_edges = edges if op.has_derivative else tuple(filter(None, edges))
    node._ag_extra = None
    node._ag_seq = number
    if process_state.anomaly:
        annotate(node)
    if not BY_OPERATIONS.isdisjoint(classes_of(op, args) if kinds is None else kinds):
        extra_of(node).by_operations = True
    likes = []
    for i, output in enumerate(outputs):
        raw = output._ag_raw
        if raw.__class__ in BY_OPERATIONS:
            extra_of(node).by_operations = True
        likes.append(output_meta(raw) if op.output_mask is None or defined(op, args, i, output) else None)
    node._ag_output_meta = likes if op.multiple else likes[0]
    node._ag_saved = save(node, saved_items(op, args, outputs, edges)) if op.saved_names else ()
    for i, output in enumerate(outputs):
        output._ag_edge = (node, i) if likes[i] is not None and differentiable(op, i, output) else None
    return node


def defined(op: Operation, args: tuple[Any, ...], index: int, output: Tensor) -> bool:
    """Return whether this output is one in PyTorch, where those that `output_mask` leaves out are undefined tensors."""
    return op.output_mask is None or bool(args[op.output_mask][index] or output._ag_raw.size)


def wanted(op: Operation, args: tuple[Any, ...], edges: tuple[Edge | None, ...]) -> bool:
    """Return whether an operation leaves a node: for a view made without recording also one without edges, as in
    PyTorch."""
    for edge in edges:
        if edge is not None:
            return True
    for i, parameter in op.input_positions if edges else ():
        for t in args[i] if parameter.is_list else (args[i],):
            if t is not None and t._ag_edge.__class__ is View and t.requires_grad:
                return True
    return False


def _check_results(op: Operation, outputs: Any) -> None:
    """Raise PyTorch's error where a result has a dtype that the operation does not differentiate."""
    if not op.multiple:
        check_differentiable(outputs[0]._ag_raw.dtype)
    if not op.complex_gradient and any(dtypes.CATEGORY[t._ag_raw.dtype] == dtypes.COMPLEX for t in outputs):
        raise RuntimeError(f"{op.name} does not support automatic differentiation for outputs with complex dtype.")


def check_differentiable(dtype: Any) -> None:
    """Raise PyTorch's error where a result that would be recorded has a dtype without gradients."""
    if dtypes.CATEGORY[dtype] < dtypes.FLOATING:
        raise RuntimeError(f"Autograd not support dtype: {dtypes.cpp_name(dtype)}")


def differentiable(op: Operation, index: int, output: Tensor) -> bool:
    """Return whether this output can have a gradient, by its name and its dtype."""
    if op.nondifferentiable:
        names = op.schema.outputs
        if (names[index] if index < len(names) else names[0]) in op.nondifferentiable:
            return False
    return output._ag_raw.dtype.kind not in "biu"


_new = object.__new__


def saved_items(
    op: Operation, args: tuple[Any, ...], outputs: list[Tensor], edges: tuple[Any, ...] | None
) -> list[Any]:
    """Return what the formulas of the wanted gradients need, in the order of `op.saved_names`; without `edges` of all,
    with the outputs as they are."""
    items: list[Any] = []
    for guard, output, position, tail in op.saving:
        if edges is not None and guard is not None and edges[guard] is None:
            items.append(() if tail else None)
        elif output is not None and edges is None:
            items.append(outputs[output])
        elif output is not None:
            made = outputs[output]
            if made._ag_counter is None:
                made._ag_counter = [0]
            items.append(SavedResult(made._ag_raw, made._ag_counter))
        elif tail or position is None:
            items.append(property_of(outputs[0] if position is None else args[position], tail))
        else:
            x = args[position]
            items.append(SavedList(x) if op.takes_lists and op.schema.parameters[position].is_list else x)
    return items


def property_of(x: Any, kind: str) -> Any:
    """A plain property (`sizes`, `dtype`) of a tensor, or of each in a list."""
    if x is None:
        return None
    get = _PROPERTIES[kind]
    return tuple(get(t._ag_raw) for t in x) if isinstance(x, (tuple, list)) else get(x._ag_raw)


_PROPERTIES: dict[str, Any] = {
    "sizes": lambda raw: raw.shape,
    "dtype": lambda raw: raw.dtype,
    "strides": strides_of,
    "device": device_of,
}


_ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_PACKAGE = os.path.dirname(_ENGINE) + os.sep
"""Whose lines are not shown in a traceback of the script."""


def annotate(node: Node) -> None:
    """Under anomaly detection, remember where the node was made and by which node's backward."""
    if thread_state.anomaly:
        extra_of(node)
        traceback = importlib.import_module("traceback")  # which nothing else needs
        frames = traceback.extract_stack()
        # What is below the command that runs the script is not the script's either.
        below = [
            i for i, f in enumerate(frames) if f.filename.startswith(_PACKAGE) and not f.filename.startswith(_ENGINE)
        ]
        above = frames[below[-1] + 1 if below else 0 :]
        own = [f for f in above if not f.filename.startswith(_PACKAGE)]
        if own and own[0].filename == "<frozen importlib._bootstrap>":  # as what executes the script is called
            del own[0]
        node.metadata["traceback_"] = traceback.StackSummary.from_list(own).format()
        if thread_state.current is not None:
            node.metadata["parent_"] = thread_state.current
