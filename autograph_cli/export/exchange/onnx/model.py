"""The nodes and constants of an ONNX model while it is written, and the arguments of one operation."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograph_cli.graph import Edge, Graph, Node, TensorType

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

    def __init__(self, model: Model, node: Node, args: Sequence[str] | None = None) -> None:
        self._model, self._node = model, node
        self.args: list[str] = [model.names[edge] for edge in node.args] if args is None else [*args]
        """The names of the tensors that it was given, in order."""
        self.given: list[TensorType] = [type_at(model.graph, edge) for edge in node.args]
        self.made: list[TensorType] = [output.type for output in node.outputs]
        self.saved = {saved.name.removeprefix("_saved_") for saved in node.saved if saved.type is not None}
        """The names of the tensors that it keeps."""
        self._plain = dict(node.plain)

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
        dims = self.plain(name)
        rank = len(self.given[0].shape)
        dims = range(rank) if dims in (None, ()) else (dims,) if isinstance(dims, int) else dims
        return [dim % rank if rank else 0 for dim in dims]

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
        """Return the tensor arguments, all in this dtype, or in that of the result."""
        return [self.cast(name, type_, dtype) for name, type_ in zip(self.args, self.given, strict=True)]

    def shaped(self, name: str, nr: int = 0) -> str:
        """The tensor in the shape of the result."""
        return self.op("Reshape", name, self.ints(self.made[nr].shape))


Writer = Callable[[Call], list[str]]
"""Writes an operation, and returns the names of its results."""


class Model:
    """The nodes that are written so far."""

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
        shape = [None if side < 0 else side for side in type_.shape]
        return self.onnx.helper.make_tensor_value_info(name, self.element(type_.dtype), shape)

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
        written = self.onnx.helper.make_node(kind, list(inputs), outputs, name=outputs[0], **attributes)
        if node.source is not None:
            written.doc_string = f"{node.source.file}:{node.source.line}  {node.source.text.strip()}"
        entries = {"module": node.module, "autograd": node.name, "operation": node.op}
        self.onnx.helper.set_model_props(written, {key: value for key, value in entries.items() if value})
        self.nodes.append(written)
        return outputs


def type_at(graph: Graph, edge: Edge) -> TensorType:
    """The type of one output of one node."""
    return graph[edge.node].outputs[edge.nr].type
