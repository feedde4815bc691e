"""The gradients of an operation: which formulas run, and where each finds its arguments.

The compiled tape runs the same plans (fast_formulas.pxi).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..._arrays.lazy import Lazy
from ..base.memory_format import laid_out
from ..tape.saved_tensors import freed, opened_raw, unpack

if TYPE_CHECKING:
    from ..tape.node import Node
    from .operation import Operation

GRAD, ONLY_GRAD, SAVED_TENSOR, SAVED_LIST, SAVED_VALUE, WANTED, TOTAL = range(7)
"""Sources of an argument: the gradient, the gradient of the first of several outputs, what the node saved, which
gradients are wanted, or the sum that waits at the edge, which only the compiled tape hands over."""


class Formula(NamedTuple):
    """A derivative with the numbers of the inputs whose gradients it gives; `needs`: for each argument where it comes
    from, and its place among what the node saved."""

    function: Any
    targets: tuple[int, ...]
    joint: bool
    needs: tuple[tuple[int, int], ...]


def formulas_of(op: Operation, recorded: bool) -> tuple[Formula, ...]:
    """The formulas of an operation in the order in which they run.

    Recorded ones run in the order of their names, as in PyTorch: it tells in which order the nodes of the second
    derivative will run. A node without a derivative runs before all others there, so the formula that makes one comes
    last.
    """
    derivatives = op.derivatives
    if recorded and op.has_derivative:
        derivatives = tuple(sorted(derivatives, key=lambda d: (op.last in d.inputs, ", ".join(d.inputs))))
    position = {p.name: i for i, p in enumerate(op.inputs)}
    return tuple(
        Formula(d.formula, tuple(position[name] for name in d.inputs), d.joint, tuple(_source(op, n) for n in d.needs))
        for d in derivatives
    )


def _source(op: Operation, name: str) -> tuple[int, int]:
    if name in op.saved_names:
        lists = any(p.name == name and p.is_list for p in op.tensors)
        kind = SAVED_LIST if lists else SAVED_TENSOR if op.is_tensor(name) else SAVED_VALUE
        return kind, op.saved_names.index(name)
    if name in ("mask", "total"):
        return (WANTED if name == "mask" else TOTAL), 0
    return (ONLY_GRAD if op.multiple and name == "grad" else GRAD), 0


def run_raw(node: Node, f: Any, grad: Any, edges: Any = None) -> Any:
    """Return the gradients of the inputs as raw arrays: `Node._ag_run_raw` of an operation."""
    return _gradients(node, f, grad, edges, False)


def run_recorded(node: Node, f: Any, grad: Any, edges: Any = None) -> Any:
    """Return them as tensors, recorded: `Node._ag_run_recorded` of an operation."""
    return _gradients(node, f, grad, edges, True)


def _gradients(node: Node, f: Any, grad: Any, edges: Any, recorded: bool) -> Any:
    op = node._ag_operation
    if edges is None:
        edges = node._ag_edges
    if node._ag_saved is None and op.saved_names:
        raise freed()
    formulas: tuple[Formula, ...] = op.recorded_formulas if recorded else op.formulas
    if op.flattens:
        (formula,) = formulas
        return formula.function(f, *_arguments(formula, node, grad, edges, recorded))
    grads = [None] * len(op.inputs)
    for formula in formulas:
        targets = formula.targets
        if not formula.joint:
            (i,) = targets
            if edges[i] is not None:
                args = _arguments(formula, node, grad, edges, recorded)
                found = formula.function(f, *args)
                grads[i] = found if recorded or not op.pointwise else laid_out(found, args)
        elif any(edges[i] is not None for i in targets):
            found = formula.function(f, *_arguments(formula, node, grad, edges, recorded))
            for i, one in zip(targets, found, strict=True):
                grads[i] = one
    return tuple(grads)


def _arguments(formula: Formula, node: Node, grad: Any, edges: Any, recorded: bool) -> list[Any]:
    args: list[Any] = []
    for kind, index in formula.needs:
        if kind == GRAD:
            args.append(grad)
        elif kind == SAVED_TENSOR:
            args.append(unpack(node, index) if recorded else _opened(node, index))
        elif kind == SAVED_VALUE:
            args.append(node._ag_saved[index])
        elif kind == SAVED_LIST:
            kept = node._ag_saved[index]
            args.append(kept.tensors() if recorded else kept.raws())
        elif kind == ONLY_GRAD:
            args.append(grad[0])
        else:
            args.append(tuple([edges[i] is not None for i in formula.targets]) if kind == WANTED else None)
    return args


def _opened(node: Node, index: int) -> Any:
    """The array of a saved tensor, whose version is checked."""
    item = node._ag_saved[index]
    if item is None:
        return None
    counter = item._ag_counter
    if counter is None or (node._ag_extra is None and not counter[0] and item._ag_raw.__class__ is not Lazy):
        return item._ag_raw
    return opened_raw(node, index)
