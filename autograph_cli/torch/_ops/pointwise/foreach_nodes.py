"""The nodes of `torch._foreach_*`: one for all tensors of a list, which holds the node of each."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core.arguments.operands import operands
from ..._core.base.op_namespace import table
from ..._core.base.state import next_sequence_nr, process_state
from ..._core.operations.operation import Operation
from ..._core.running.dispatch import (
    attach,
    check_differentiable,
    compute,
    edges_of,
    tell_computed,
    timed,
    timing,
    wanted,
)
from ..._core.tape.node import Edge, Node, extra_of, output_meta
from ..._core.tape.saved_tensors import SavedResult, SavedView, freed
from ..._core.tape.tensor import Tensor, make

_WITH_NUMBERS = {
    **{name: f"{name}_Scalar" for name in ("add", "sub", "mul", "div", "lerp")},
    "pow": "pow_Tensor_Scalar",
    "norm": "linalg_vector_norm",
}
"""The operation on one tensor where that has another name than the function of a list."""
_WITH_TENSORS = {"lerp": "lerp_Tensor", "clamp_max": "clamp_max_Tensor", "clamp_min": "clamp_min_Tensor"}
_NAMED = {
    "div.List": "DivBackward0",
    "pow.List": "PowBackward0",
    "pow.ScalarList": "PowBackward1",
    "pow.ScalarAndTensor": "PowBackward2",
    "maximum.Scalar": "MaximumBackward0",
    "maximum.ScalarList": "MaximumBackward1",
    "minimum.Scalar": "MinimumBackward0",
    "minimum.ScalarList": "MinimumBackward1",
    "norm": "NormBackward0",
}
"""Overloads that PyTorch derives by formulas of their own, and their nodes; others have the node of one tensor."""


class Overload(NamedTuple):
    """One function of lists: the operation on one tensor, what PyTorch calls the node, and how many lists of tensors it
    takes."""

    op: Operation
    node: str
    lists: int
    shared: bool
    """One tensor stands beside all of a list, which has an edge, too."""


@functools.cache
def overload_of(name: str, kind: str, lists: int) -> Overload:
    """Return the overload of `torch._foreach_<name>` that takes numbers, lists or tensors (`kind`) at the end."""
    if kind == "ScalarAndTensor":
        op = table["pow_Scalar"]
    else:
        others = _WITH_TENSORS if kind in ("List", "Tensor") else _WITH_NUMBERS
        op = table[others.get(name, name)]
    node = _NAMED.get(f"{name}.{kind}" if kind else name, f"{op.node_name}{kind}")
    return Overload(op, f"Foreach{node}", lists, kind == "Tensor")


class ForeachNode(Node):
    """Holds a node for each tensor of the list that asks for a gradient; None for the others."""

    __slots__ = ()
    _ag_multiple = True
    _ag_op_name = ""
    _ag_lists = 1
    """The lists of tensors whose edges stand one after the other."""

    _ag_saved: tuple[Node | None, ...] | None

    def _ag_run_raw(self, f: Any, grad: Any, edges: Any = None) -> tuple[Any, ...]:
        return self._gradients(f, grad, "_ag_run_raw")

    def _ag_run_recorded(self, f: Any, grad: Any, edges: Any = None) -> tuple[Any, ...]:
        return self._gradients(f, grad, "_ag_run_recorded")

    def _gradients(self, f: Any, grads: Sequence[Any], run: str) -> tuple[Any, ...]:
        if self._ag_saved is None:
            raise freed()
        found = [None] * len(self._ag_edges)
        for k, (node, grad) in enumerate(zip(self._ag_saved, grads, strict=True)):
            if node is not None and grad is not None:
                each = getattr(node, run)(f, [grad] if node._ag_multiple else grad)
                found[k : self._ag_lists * len(grads) : len(grads)] = each[: self._ag_lists]
        return tuple(found)


@functools.cache
def _class_of(name: str, overload: Overload) -> type[ForeachNode]:
    op = overload.op
    plain = {p.name for p in op.schema.parameters if not p.is_tensor}
    members = {
        "__slots__": (),
        "__doc__": f"Backward of _foreach_{name}.",
        "_ag_op_name": f"_foreach_{name}",
        "_ag_lists": overload.lists,
        "_ag_frees": not plain.issuperset(op.saved_names),
    }
    return type(overload.node, (ForeachNode,), members)


def recorded(name: str, overload: Overload, calls: Sequence[tuple[Any, ...]], given: tuple[Any, ...]) -> list[Tensor]:
    """Run the operation on one tensor for each of these `calls` (all its arguments), and leave one node; `given` is
    what the function of lists was given."""
    op, number = overload.op, next_sequence_nr()
    began = None if process_state.op_hook is None else timing(calls[0])
    made: list[Tensor] = []
    nodes: list[Node | None] = []
    edges: list[list[Edge | None]] = [[None] * len(calls) for _ in range(overload.lists)]
    for k, call in enumerate(calls):
        args = operands(op, call)
        each = edges_of(op, args)
        outputs = [make(raw) for raw in compute(op, args)]
        nodes.append(attach(op, args, outputs, each, number) if wanted(op, args, each) else None)
        for column, edge in zip(edges, each, strict=False):
            column[k] = edge
        made.append(outputs[0])
    took = None if began is None else timed(*began)
    cls = _class_of(name, overload)
    node: ForeachNode = object.__new__(cls)
    node._ag_edges = (*[edge for column in edges for edge in column], *([None] * overload.shared))
    node._ag_extra, node._ag_seq = None, number
    node._ag_saved, node._ag_output_meta = tuple(nodes), [output_meta(output._ag_raw) for output in made]
    _hang(node, made, op)
    if took is not None:
        tell_computed(op, calls[0], made, took)
    if process_state.observer is not None:
        process_state.observer.created(node, given, tuple(made))
    return made


def _hang(node: ForeachNode, made: Sequence[Tensor], op: Operation) -> None:
    """Make outputs those of the node for all, also where the node of one saved its own."""
    for k, (output, each) in enumerate(zip(made, node._ag_saved or (), strict=True)):
        check_differentiable(output._ag_raw.dtype)
        output._ag_edge = (node, k)
        if each is None:
            continue
        if each._ag_extra is not None and each._ag_extra.by_operations:
            extra_of(node).by_operations = True
        if each._ag_saved.__class__ is tuple:
            each._ag_saved = tuple([SavedView(x, node, k) if x.__class__ is SavedResult else x for x in each._ag_saved])
