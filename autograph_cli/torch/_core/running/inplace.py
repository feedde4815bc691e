"""In-place changes: an operation that writes its result into its first argument, and the history that this makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays.backends import DENSE
from ..._arrays.dispatched import Dispatched
from ..._arrays.storages import address
from ..._arrays.unusual import UNUSUAL
from ..arguments.operands import operands
from ..base import dtypes
from ..base.dtype_checks import check_cast
from ..base.op_namespace import operations
from ..base.state import next_sequence_nr, process_state, thread_state
from ..base.user_warnings import warn
from ..tape.node import INFERENCE, Edge, Node, edge_of, extra_of
from ..tape.saved_tensors import Packed
from ..tape.tensor import Tensor, counter, make
from . import dispatch
from .calling import fast_tape
from .views import bump, changes, check_inplace, check_mode, check_overlap, itself, rebase, repeats, write

if TYPE_CHECKING:
    from ..operations.operation import Operation


def _is_same(written: Tensor, read: Tensor) -> bool:
    """Return whether two tensors are the same window onto the same memory: there is nothing to copy."""
    a, b = written._ag_raw, read._ag_raw
    if written._ag_counter is None or a.__class__ not in DENSE or b.__class__ not in DENSE:
        return False
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype and address(a) == address(b)


def run_inplace(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Run `op` and put its result into its first argument."""
    fast = fast_tape()
    if fast is not None:
        changed: Tensor | None = fast.change(op, args)
        if changed is not None:
            return changed
    args = operands(op, args)
    if op.constants:
        dispatch.check_constants(op, args)
    raws = None if process_state.special else _plain(op, args)
    return _run_in_full(op, args) if raws is None else _run_plain(op, args, raws)


def _checked(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """The tensor that is about to be changed; raises PyTorch's error where that is not allowed."""
    target: Tensor = args[0]
    if op.derivatives:
        check_inplace(*args)
    else:
        check_mode(target)
    return target


_PLAIN: set[type] = {np.ndarray}


def _plain(op: Operation, args: tuple[Any, ...]) -> list[Any] | None:
    """The raw arguments where all arrays are NumPy's, none needs a cast, and the first is row by row."""
    have = args[0]._ag_raw
    if have.__class__ is not np.ndarray or op.multiple or op.view or not have.flags.c_contiguous:
        return None
    kind, raws = have.dtype, list(args)
    if kind.kind == "c" or (op.floating and dtypes.CATEGORY[kind] < dtypes.FLOATING):
        return None
    for i, _ in op.positions:
        raws[i] = raw = getattr(args[i], "_ag_raw", None)
        if raw is None or (raw.__class__ is not np.ndarray and raw.__class__ in UNUSUAL):
            return None
        if op.promotes and raw.dtype is not kind:
            return None
    return raws


def _run_plain(op: Operation, args: tuple[Any, ...], raws: list[Any]) -> Tensor:
    """`run_inplace` where no mode is on, with such arguments."""
    target: Tensor = args[0]
    have = raws[0]
    edges: tuple[Edge | None, ...] = ()
    number, wants = 0, False
    if [i for i, _ in op.positions if args[i]._ag_edge is not None] or target._ag_counter is INFERENCE:
        _checked(op, args)
        number = next_sequence_nr()
        edges = dispatch.edges_of(op, args) if not process_state.without_grad or thread_state.grad else ()
        wants = dispatch.wanted(op, args, edges) and dtypes.CATEGORY[have.dtype] >= dtypes.FLOATING
    if op.overlap != "any" and len(args) > 1:
        _check_apart(op, args)
    try:
        result = op.kernel_function(*raws)
        if result.shape != have.shape or result.dtype is not have.dtype:
            result = result_for(target, result)
    except Exception:
        dispatch.explain(op, args, tuple(raws))
        raise
    before = operations.clone(target) if wants and _saves_first(op, edges) else None
    have[...] = result
    bump(target)
    if wants:
        _record(op, args if before is None else (before, *args[1:]), edges, number, _PLAIN, target, before)
    elif process_state.observer is not None:
        dispatch.tell_change(op, args, target)
    return target


def _record(
    op: Operation,
    args: tuple[Any, ...],
    edges: tuple[Edge | None, ...],
    number: int,
    kinds: set[type],
    target: Tensor,
    before: Tensor | None,
    node: Node | None = None,
) -> None:
    """Make the node of a change, if there is none yet, the history of what was changed."""
    if node is None:
        out = make(target._ag_raw)
        out._ag_counter = counter(target)
        node = dispatch.attach(op, args, [out], edges, number, kinds)
    if node._ag_saved:
        _date_back(node, target, before)
    if process_state.observer is not None:
        process_state.observer.created(node, (target, *args[1:]), (target,))
    rebase(target, node)


def _run_in_full(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """`run_inplace` in every mode, with every kind of argument."""
    if thread_state.levels:
        found: Tensor = dispatch.Transforms.inplace(op, args)
        if found is not NotImplemented:
            return found
    target = _checked(op, args)
    number = next_sequence_nr()
    edges = dispatch.edges_of(op, args) if thread_state.records else ()
    begun = None if process_state.op_hook is None else _begun(op, args)
    wants = dispatch.wanted(op, args, edges) and dtypes.CATEGORY[target._ag_raw.dtype] >= dtypes.FLOATING
    if not op.complex_inplace and target._ag_raw.dtype.kind == "c":
        raise RuntimeError(f"In-place {op.name} is not supported for complex tensors.")
    if op.overlap != "any":
        _check_apart(op, args)
    kinds = dispatch.classes_of(op, args)
    if op.internal_overlap.__class__ is str and repeats(target._ag_raw):
        warn(
            f"Use of {op.name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            f"operation. This also applies to advanced indexing e.g. {op.internal_overlap}"
        )
    results = (
        dispatch.compute(op, args, True, kinds)
        if thread_state.watcher is None
        else thread_state.watcher._ag_changed(op, args)
    )
    done = Dispatched in kinds
    result = target._ag_raw if done else result_for(target, results[0])
    before = operations.clone(target) if wants and _saves_first(op, edges) else None
    if before is not None:
        args = (before, *args[1:])
    node = dispatch.attach(op, args, [make(result)], edges, number) if wants and thread_state.saved_hooks else None
    if done:
        changes(target)
        bump(target)
    else:
        write(target, result, apart=not (op.internal_overlap or (op.overwrites and _is_same(*args))))
    if begun is not None:
        dispatch.tell_computed(op, (target, *args[1:]), [target], dispatch.timed(*begun))
    if wants:
        _record(op, args, edges, number, kinds, target, before, node)
    elif process_state.observer is not None:
        dispatch.tell_change(op, args, target)
    return target


def _begun(op: Operation, args: tuple[Any, ...]) -> tuple[int, Any]:
    """Show what is about to be changed; when it begins."""
    if process_state.change_hook is not None:
        process_state.change_hook(op, args)
    return dispatch.timing(args)


def _saves_first(op: Operation, edges: tuple[Edge | None, ...]) -> bool:
    if "self" not in op.saved_names:
        return False
    guard = op.required_edges["self"]
    return guard is None or edges[guard] is not None


def _check_apart(op: Operation, args: tuple[Any, ...]) -> None:
    target = args[0]
    for x in args[1:]:
        if isinstance(x, Tensor) and (x is target or x._ag_counter is not None):
            check_overlap(target._ag_raw, x._ag_raw, op.overlap == "none")


def _date_back(node: Node, target: Tensor, before: Tensor | None) -> None:
    """Date what the node saved to before the change."""
    items = list(node._ag_saved)
    for i, item in enumerate(items):
        if before is not None and item is before:
            items[i] = Packed(item, itself, edge_of(item), hooked=False)
        elif isinstance(item, Tensor) and item._ag_counter is target._ag_counter:
            versions = extra_of(node).versions
            assert versions is not None
            versions[i] -= 1
    node._ag_saved = tuple(items)


def result_for(target: Tensor, raw: Any) -> Any:
    """The result checked and cast to what fits into `target`."""
    have = target._ag_raw
    if raw.shape != have.shape:
        raise RuntimeError(f"output with shape {list(have.shape)} doesn't match the broadcast shape {list(raw.shape)}")
    if raw.dtype != have.dtype:
        check_cast(raw.dtype, have.dtype)
        raw = raw.astype(have.dtype)
    return raw
