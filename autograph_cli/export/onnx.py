"""The forward graph as an ONNX model: operations as their ONNX operators, leaves and inputs as its inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograph_cli.export.errors import ExportError
from autograph_cli.graph import Edge, Graph, Node, TensorType
from autograph_cli.graph.names import output_names

OPSET = 18
_ELEMENT = {
    **{name: name.upper() for name in ("uint8", "int8", "uint16", "int16", "int32", "int64", "bool")},
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "complex64": "COMPLEX64",
    "complex128": "COMPLEX128",
    "uint32": "UINT32",
    "uint64": "UINT64",
}


class Unsupported(Exception):
    """An operation has no ONNX operators here, for this reason."""


class Call:
    """One operation of the graph while its ONNX nodes are written."""

    def __init__(self, model: _Model, node: Node) -> None:
        self._model, self._node = model, node
        self.args: list[str] = [model.names[edge] for edge in node.args]
        """The names of the tensors that it was given, in order."""
        self.given: list[TensorType] = [_type_at(model.graph, edge) for edge in node.args]
        self.made: list[TensorType] = [output.type for output in node.outputs]
        self.saved = {saved.name.removeprefix("_saved_") for saved in node.saved if saved.type is not None}
        """The names of the tensors that it keeps."""
        plain = {saved.name.removeprefix("_saved_"): saved.value for saved in node.saved if saved.type is None}
        self._plain = plain | dict(node.constants)

    def plain(self, name: str, default: Any = None) -> Any:
        """An argument that is no tensor."""
        text = self._plain.get(name)
        if text is None:
            return default
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return {"inf": float("inf"), "-inf": float("-inf")}.get(text, text)

    def dims(self, name: str = "dim") -> list[int]:
        """The dimensions that it goes over, from 0; all of them where none is named."""
        found = self.plain(name)
        rank = len(self.given[0].shape)
        found = range(rank) if found in (None, ()) else (found,) if isinstance(found, int) else found
        return [dim % rank if rank else 0 for dim in found]

    def op(self, kind: str, *inputs: str, results: int = 1, **attributes: Any) -> str:
        """Write a node of ONNX; its first output."""
        return self.ops(kind, *inputs, results=results, **attributes)[0]

    def ops(self, kind: str, *inputs: str, results: int = 1, **attributes: Any) -> list[str]:
        """Write a node of ONNX; its outputs."""
        return self._model.write(self._node, kind, inputs, results, attributes)

    def const(self, value: Any, dtype: str | None = None) -> str:
        """Write a number, or numbers; of the dtype of the result unless told."""
        return self._model.const(value, dtype or self.made[0].dtype)

    def ints(self, values: Sequence[int]) -> str:
        """Write sizes or positions."""
        return self.const(list(values), "int64")

    def cast(self, name: str, type_: TensorType, dtype: str | None = None) -> str:
        """The tensor in this dtype, or in that of the result."""
        wanted = dtype or self.made[0].dtype
        return name if type_.dtype == wanted else self.op("Cast", name, to=self._model.element(wanted))

    def same(self, dtype: str | None = None) -> list[str]:
        """What it was given, all in this dtype, or in that of the result."""
        return [self.cast(name, type_, dtype) for name, type_ in zip(self.args, self.given, strict=True)]

    def shaped(self, name: str, nr: int = 0) -> str:
        """The tensor in the shape of the result."""
        return self.op("Reshape", name, self.ints(self.made[nr].shape))


Writer = Callable[[Call], list[str]]
"""Writes an operation, and returns the names of its results."""


class _Model:
    """What is written so far."""

    def __init__(self, graph: Graph, onnx: Any) -> None:
        self.graph, self.onnx = graph, onnx
        self.names: dict[Edge, str] = {}
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._used: set[str] = set()

    def name(self, wanted: str) -> str:
        """A name of its own for a tensor."""
        plain = re.sub(r"[^\w.]", "_", wanted.lstrip("%")) or "t"
        name, number = plain, 1
        while name in self._used:
            number += 1
            name = f"{plain}_{number}"
        self._used.add(name)
        return name

    def element(self, dtype: str) -> int:
        if dtype not in _ELEMENT:
            raise Unsupported(f"ONNX has no {dtype}")
        return int(getattr(self.onnx.TensorProto, _ELEMENT[dtype]))

    def value(self, name: str, type_: TensorType) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self.element(type_.dtype), type_.shape)

    def const(self, value: Any, dtype: str) -> str:
        shape = [len(value)] if isinstance(value, list) else []
        key = f"{dtype} {value!r}"
        if key not in self.constants:
            flat = value if isinstance(value, list) else [value]
            flat = [int(one) if "int" in dtype else one for one in flat]
            self.constants[key] = self.onnx.helper.make_tensor(self.name("constant"), self.element(dtype), shape, flat)
        return str(self.constants[key].name)

    def write(
        self, node: Node, kind: str, inputs: Sequence[str], results: int, attributes: Mapping[str, Any]
    ) -> list[str]:
        outputs = [self.name(f"{node.op}_{node.id}") for _ in range(results)]
        made = self.onnx.helper.make_node(kind, list(inputs), outputs, name=outputs[0], **attributes)
        if node.source is not None:
            made.doc_string = f"{node.source.file}:{node.source.line}  {node.source.text.strip()}"
        entries = {"module": node.module, "autograd": node.name, "operation": node.op}
        self.onnx.helper.set_model_props(made, {key: value for key, value in entries.items() if value})
        self.nodes.append(made)
        return outputs


def to_onnx(graph: Graph, title: str, values: Mapping[int, Any] | None = None) -> bytes:
    """Write the operations of order 0; `values` are arrays that the model is to hold, by the numbers of their nodes.

    What has none is an input of the model, by its name in the script: leaves, what was given, and what the script made
    without any of these. The outputs are the roots. Raises `ExportError` without the package onnx, and one that names
    all operations that have no ONNX operators here.
    """
    onnx = _package()
    from autograph_cli.export.onnx_operations import OPERATIONS

    model = _Model(graph, onnx)
    inputs, initializers, wanted = [], [], output_names(graph)
    given = _given(graph)
    lacking: dict[str, str] = {}
    for node in graph:
        if node.order or (node.id in given and not given[node.id]):
            continue
        if node.id in given:
            for nr, output in enumerate(node.outputs):
                name = model.names[Edge(node.id, nr)] = model.name(wanted[node.id][nr])
                if values is not None and node.id in values:
                    initializers.append(onnx.numpy_helper.from_array(values[node.id], name))
                else:
                    inputs.append(model.value(name, output.type))
            continue
        try:
            tracked = node.kind == "operation"  # what changes it in place, and its views, has nodes of its own
            writer = OPERATIONS.get(node.op.removesuffix("_") if tracked else node.op)
            if writer is None:
                raise Unsupported("made of derivatives" if node.op.startswith("…") else "")
            if any(edge not in model.names for edge in node.args):
                continue  # it stands on one that is lacking
            for nr, name in enumerate(writer(Call(model, node))):
                model.names[Edge(node.id, nr)] = name
        except Unsupported as error:
            lacking.setdefault(node.op or node.name, str(error))
    if lacking:
        told = ", ".join(f"{op} ({reason})" if reason else op for op, reason in lacking.items())
        raise ExportError(f"These operations cannot be written as ONNX: {told}.")
    outputs = _outputs(model)
    taken = {name for written in model.nodes for name in written.input}
    inputs = [one for one in inputs if one.name in taken]
    made = onnx.helper.make_graph(
        model.nodes,
        re.sub(r"[^\w.]", "_", title) or "autograph",
        inputs,
        outputs,
        [*initializers, *model.constants.values()],
    )
    whole = onnx.helper.make_model(
        made, producer_name="autograph", opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=9
    )
    onnx.checker.check_model(whole, full_check=True)
    return bytes(whole.SerializeToString(deterministic=True))


def _package() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ExportError("The format onnx needs the package onnx: pip install onnx") from None
    return onnx


def _given(graph: Graph) -> dict[int, bool]:
    """What is there before the model runs: leaves, inputs, and what was made of none of these; whether it is used."""
    alone: set[int] = set()
    for node in graph:
        if node.kind == "untracked" and all(edge.node in alone for edge in node.args):
            alone.add(node.id)
    used = {edge.node for node in graph if node.id not in alone for edge in node.args}
    used |= {root.node for root in graph.roots}
    return {
        node.id: node.id in used or node.id not in alone
        for node in graph
        if node.kind in ("leaf", "input") or node.id in alone
    }


def _outputs(model: _Model) -> list[Any]:
    """The roots, each under a name of its own."""
    found = []
    for root in model.graph.roots:
        edge = Edge(root.node, root.nr)
        if edge not in model.names or model.graph[root.node].order:
            continue
        name = model.name(root.name)
        model.nodes.append(model.onnx.helper.make_node("Identity", [model.names[edge]], [name], name=name))
        found.append(model.value(name, _type_at(model.graph, edge)))
    return found


def _type_at(graph: Graph, edge: Edge) -> TensorType:
    return graph[edge.node].outputs[edge.nr].type
