"""Changes in place as ONNX, where tensors do not change: the whole, with what was changed put in its place."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec.structs import replace

from autograph_cli.export.exchange.onnx.model import Call, Model, Unsupported, Writer, type_at
from autograph_cli.graph import Node, Output

_VIEWS = "select slice t transpose permute view _reshape_alias unsqueeze squeeze expand split split_with_sizes unbind"
VIEWS = frozenset([*_VIEWS.split(), "alias", "detach", "diagonal", "unfold"])
"""The operations whose results share the memory of what they are given."""


def write_change(model: Model, node: Node, writer: Writer, operations: Mapping[str, Writer]) -> list[str]:
    """An operation that changed its first argument: the tensor that this is, or that it is a view of, from then on."""
    target = node.args[0]
    type_ = type_at(model.graph, target)
    (changed,) = writer(Call(model, replace(node, outputs=(Output(type_),))))[:1]
    way, base = [], target
    while (step := model.graph[base.node]).op in VIEWS and base in model.names and step.args:
        way.append(base)
        base = step.args[0]
        if step.op == "detach" and model.graph[base.node].kind in ("leaf", "operation"):
            raise Unsupported("of memory that a gradient goes to, which does not see it")
    if not way:
        return [changed]
    call = Call(model, node)
    if type_at(model.graph, base) != node.outputs[0].type:
        raise Unsupported("of a part of a tensor that is not known")
    positions = call.shaped(
        call.op("Range", *(call.const(n, "int64") for n in (0, math.prod(node.outputs[0].type.shape), 1)))
    )
    for edge in reversed(way):
        step = model.graph[edge.node]
        positions = operations[step.op](Call(model, step, [positions]))[edge.nr]
    flat = [call.op("Reshape", name, call.ints([-1])) for name in (model.names[base], positions, changed)]
    return [call.shaped(call.op("ScatterElements", *flat, axis=0))]
