"""Writes the Python code of a node's backward: which saved things are opened, and which formula gives which
gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .operation import Derivative, Operation


def backward_source(op: Operation, mode: str) -> str:
    """The two modes differ only in how saved tensors are opened."""
    lines = ["def run(node, f, grad, edges=None):", "    if edges is None:", "        edges = node._ag_edges"]
    if op.saved_names:
        lines += ["    saved = node._ag_saved", "    if saved is None:", "        raise freed()"]
    lines += [f"    g{i} = None" for i in range(len(op.inputs))] if not op.flattens else []
    shared = [
        n
        for n in op.saved_names
        if sum(n in d.needs for d in op.derivatives) > 1 and op.is_tensor(n) and not _is_list(op, n)
    ]
    derivatives = recorded_order(op) if mode == "recorded" else op.derivatives
    for name in shared:
        before, expression = _open(op, mode, name)
        position = op.saved_names.index(name)
        lines += [f"    opened{position} = None", f"    if saved[{position}] is not None:"]
        lines += [f"        {line}" for line in (*before, f"opened{position} = {expression}")]
    for derivative in derivatives:
        lines += _formula(op, mode, op.derivatives.index(derivative), derivative, shared)
    if op.flattens:
        lines.append("    return g0")
    else:
        lines.append(f"    return ({''.join(f'g{i}, ' for i in range(len(op.inputs)))})")
    return "\n".join(lines) + "\n"


def recorded_order(op: Operation) -> Sequence[Derivative]:
    """The derivatives in the order of their names, as in PyTorch: it tells in which order the nodes of the second
    derivative will run. A node without a derivative runs before all others there, so the formula that makes one comes
    last."""
    if not op.has_derivative:
        return op.derivatives
    return sorted(op.derivatives, key=lambda d: (op.last in d.inputs, ", ".join(d.inputs)))


def _is_list(op: Operation, name: str) -> bool:
    return any(p.name == name and p.is_list for p in op.tensors)


def _formula(op: Operation, mode: str, number: int, derivative: Derivative, shared: list[str]) -> list[str]:
    position = {p.name: i for i, p in enumerate(op.inputs)}
    positions = [position[name] for name in derivative.inputs]
    body, arguments = [], ["f"]
    for name in derivative.needs:
        if name == "mask" and "mask" not in op.saved_names:
            arguments.append(f"({''.join(f'edges[{i}] is not None, ' for i in positions)})")
        elif name == "total" and "total" not in op.saved_names:
            arguments.append("None")
        elif name in ("grad", "grads"):
            arguments.append("grad[0]" if op.multiple and name == "grad" else "grad")
        elif name in shared:
            arguments.append(f"opened{op.saved_names.index(name)}")
        else:
            before, expression = _open(op, mode, name)
            body += before
            arguments.append(expression)
    call = f"formula{number}({', '.join(arguments)})"
    targets = ", ".join(f"g{i}" for i in positions) + ("," if derivative.joint and len(positions) == 1 else "")
    if op.flattens:
        return [*(f"    {line}" for line in body), f"    g0 = {call}"]
    test = " or ".join(f"edges[{i}] is not None" for i in positions)
    return [f"    if {test}:", *(f"        {line}" for line in body), f"        {targets} = {call}"]


def _open(op: Operation, mode: str, name: str) -> tuple[list[str], str]:
    """Lines that check the saved thing `name`, and the expression for it."""
    index = op.saved_names.index(name)
    if not op.is_tensor(name):
        return [], f"saved[{index}]"
    if _is_list(op, name):
        return [], f"saved[{index}].{'raws' if mode == 'raw' else 'tensors'}()"
    if mode == "recorded":
        return [], f"unpack(node, {index})"
    optional = any(p.name == name and p.type == "Tensor?" for p in op.tensors)
    absent = f"None if saved[{index}] is None else " if optional else ""
    one = f"saved[{index}]"
    unchanged = f"node._ag_extra is None and not {one}._ag_counter[0] and {one}._ag_raw.__class__ is not Lazy"
    return [], f"({absent}{one}._ag_raw if {one}._ag_counter is None or {unchanged} else opened_raw(node, {index}))"
