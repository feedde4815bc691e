"""The forward graph as an ONNX model: operations as their ONNX operators, leaves and inputs as its inputs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from autograph_cli.export.errors import ExportError
from autograph_cli.export.exchange.onnx.changes import write_change
from autograph_cli.export.exchange.onnx.model import Call, Model, Unsupported, type_at
from autograph_cli.export.exchange.onnx.operations import DRAWN, FILLED, OPERATIONS
from autograph_cli.graph import Edge, Graph, Node, TensorType
from autograph_cli.graph.derivatives import incoming_gradients
from autograph_cli.graph.extras import extra
from autograph_cli.graph.names import output_names
from autograph_cli.graph.views import is_change

OPSET = 18


def to_onnx(
    graph: Graph, title: str, values: Mapping[Edge, Any] | None = None, names: Mapping[Edge, str] | None = None
) -> bytes:
    """Write the operations of a graph; `values` are arrays that the model is to hold, by what they are of,
    `names` those of its inputs that go before the script's.

    What has none is an input of the model, by its name in the script: leaves, what was given, what was drawn at random,
    what the script made without any of these, and `gradient_of_...` that a recorded pass went on with and that has no
    graph. The outputs are the roots. Raises `ExportError` without the package
    onnx, and one that names all operations that have no ONNX operators here.
    """
    writing = _Writing(graph, values or {}, names or {})
    given = _given(graph, writing.values)
    for node in graph:
        if node.id not in given:
            writing.operation(node)
        elif given[node.id]:
            writing.given(node)
    return writing.model_named(re.sub(r"[^\w.]", "_", title) or "autograph")


class _Writing:
    """A model while the nodes of a graph are written to it."""

    def __init__(self, graph: Graph, values: Mapping[Edge, Any], names: Mapping[Edge, str]) -> None:
        self.onnx, self.values, self.names = _package(), values, names
        self.model = Model(graph, self.onnx)
        self.inputs: list[Any] = []
        self.initializers: list[Any] = []
        self.lacking: dict[str, str] = {}
        """The operations that have no ONNX operators here, and why."""
        self.wanted, self.gradients = output_names(graph), incoming_gradients(graph)

    def given(self, node: Node) -> None:
        """Write what is there before the model runs: an input, or an array that the model holds."""
        for nr, output in enumerate(node.outputs):
            edge = Edge(node.id, nr)
            own = self.gradients.get(node.id, "").removeprefix("1, ") or self.wanted[node.id][nr]
            name = self.model.names[edge] = self.model.name(self.names.get(edge, own))
            if edge in self.values:
                self.initializers.append(self.onnx.numpy_helper.from_array(self.values[edge], name))
            else:
                self.inputs.append(_value(self.model, name, output.type))

    def operation(self, node: Node) -> None:
        """Write an operation as ONNX operators, or note that it lacks them."""
        try:
            change = is_change(node)
            writer = OPERATIONS.get(node.op.removesuffix("_") if change else node.op)
            if writer is None:
                raise Unsupported("made of derivatives" if node.op.startswith("…") else "")
            if any(edge not in self.model.names for edge in node.args):
                return  # it stands on one that is lacking
            results = write_change(self.model, node, writer, OPERATIONS) if change else writer(Call(self.model, node))
            for nr, name in enumerate(results):
                self.model.names[Edge(node.id, nr)] = name
        except Unsupported as error:
            self.lacking.setdefault(node.op or node.name, str(error))
        except (LookupError, TypeError, ValueError):  # a trace may say of a call what no call is
            self.lacking.setdefault(node.op or node.name, "its arguments are not known")

    def model_named(self, name: str) -> bytes:
        """Return the whole model, checked; raise `ExportError` where an operation is lacking."""
        if self.lacking:
            told = ", ".join(f"{op} ({reason})" if reason else op for op, reason in self.lacking.items())
            raise ExportError(f"These operations cannot be written as ONNX: {told}.")
        helper, model, outputs = self.onnx.helper, self.model, _outputs(self.model)
        taken = {name for written in model.nodes for name in written.input}
        order = {name: position for position, name in enumerate(self.names.values())}
        inputs = sorted((one for one in self.inputs if one.name in taken), key=lambda one: order.get(one.name, -1))
        held = [*self.initializers, *model.constants.values()]
        whole = helper.make_model(
            helper.make_graph(model.nodes, name, inputs, outputs, held),
            producer_name="autograph",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=9,
        )
        try:
            self.onnx.checker.check_model(whole, full_check=True)
        except (self.onnx.checker.ValidationError, self.onnx.shape_inference.InferenceError) as error:
            raise ExportError(f"ONNX refuses the model: {next(iter(str(error).splitlines()), '')}") from None
        return bytes(whole.SerializeToString(deterministic=True))


def _package() -> Any:
    onnx = extra("onnx", "The format onnx", "onnx")
    for part in ("checker", "helper", "numpy_helper", "shape_inference"):
        importlib.import_module(f"onnx.{part}")
    return onnx


def _given(graph: Graph, values: Mapping[Edge, Any]) -> dict[int, bool]:
    """What is there before the model runs: leaves, inputs, and what was made of none of these; whether it is used."""
    alone: set[int] = set()
    for node in graph:
        held = not values or Edge(node.id) in values  # else it is made of what the model holds
        if node.kind == "untracked" and held and node.op not in FILLED and alone.issuperset(e.node for e in node.args):
            alone.add(node.id)
    used = {edge.node for node in graph if node.id not in alone for edge in node.args}
    used |= {root.node for root in graph.roots}
    return {
        node.id: node.id in used or node.id not in alone
        for node in graph
        if node.kind in ("leaf", "input") or node.op in DRAWN or node.id in alone
    }


def _outputs(model: Model) -> list[Any]:
    """The roots, each under a name of its own."""
    found = []
    for root in model.graph.roots:
        edge = Edge(root.node, root.nr)
        if edge not in model.names:
            continue
        name = model.name(root.name)
        model.nodes.append(model.onnx.helper.make_node("Identity", [model.names[edge]], [name], name=name))
        found.append(_value(model, name, type_at(model.graph, edge)))
    return found


def _value(model: Model, name: str, type_: TensorType) -> Any:
    """What the model takes or gives under this name."""
    try:
        return model.value(name, type_)
    except Unsupported as error:
        raise ExportError(f"{name} cannot be written as ONNX: {error}.") from None
