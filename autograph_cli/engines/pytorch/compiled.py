"""The graph that `torch.compile` made of a part of a script: forward and backward of AOTAutograd, as one.

PyTorch writes both as Python as soon as it has them, for its log and beside what its caches hold. That is read here,
for compilers change the graphs themselves later on.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from msgspec.structs import replace

from autograph_cli.engines.pytorch.compiled_numbers import Told, observed
from autograph_cli.engines.pytorch.private_compiler import (
    compiled_number,
    dtype_names,
    observe_compilers,
    watch_compiler,
)
from autograph_cli.graph import Edge, Graph, Measured, Node, Output, Pass, Root, Source, TensorType
from autograph_cli.graph.records import Exact, Number

_TYPE = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[^\]]*)\](\[[^\]]*\])?(?P<device>.*)")
_LINE = re.compile(r"# File: (?P<file>.*):(?P<line>\d+) in (?P<function>.*?), code: (?P<text>.*)")
_UNTOLD = TensorType("untold", ())
"""The type of an output of which nothing is written, for nothing takes it."""
_texts: dict[int, dict[str, str]] = {}
"""The graphs of each compiled function as Python, by its number."""
_numbers: dict[int, dict[str, Told]] = {}
"""The numbers in these graphs, when they ran last."""
Value = Edge | str
"""The value of a name: a tensor, or the text of anything else."""


class Compiled:
    """The graphs of one compiled function; see `protocol.Inside`. They are there before any of them runs."""

    def __init__(self, node: Any, forward: str, backward: str, numbers: Mapping[str, Told]) -> None:
        self.node, self.forward, self.backward, self.numbers = node, forward, backward, numbers

    def run(self, grad: Any) -> None:
        """Nothing has to run."""

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Any]) -> None:
        """Do nothing: what a compiler computes of the graph is not the graph."""

    def graph(self) -> Graph:
        """The forward as order 0, the backward as order 1."""
        return _numbered(*_read(self.forward, self.backward), self.numbers)


def watch(*, numbers: bool = False) -> None:
    """Keep the graphs of what is compiled from now on, with their `numbers` where these are asked for."""
    watch_compiler(lambda number, kind, text: _texts.setdefault(number, {}).update({kind: text}))
    observe_compilers(_observed if numbers else None)


def _observed(compiler: Any, graph: Any, inputs: Any, number: int, kind: str) -> Any:
    return observed(compiler, graph, inputs, _numbers.setdefault(number, {}).setdefault(kind, {}).update)


def inside_of(node: Any) -> Compiled | None:
    """Return what a node was compiled from; None for any other node, and for what was compiled while nobody watched."""
    number = compiled_number(node)
    found = _texts.get(number, {})
    return Compiled(node, found["forward"], found["backward"], _numbers.get(number, {})) if len(found) == 2 else None


def read(forward: str, backward: str) -> Graph:
    """Both texts as one graph.

    Its inputs `args[0]`, `args[1]`, ... are what the function is given, `tangents_1`, ... the gradients of its results.
    """
    return _read(forward, backward)[0]


@functools.lru_cache(64)
def _read(forward: str, backward: str) -> tuple[Graph, dict[str, dict[str, Value]]]:
    """The graph, and what the names in both texts stand for."""
    nodes: list[Node] = []
    there = _Reader(nodes, forward, {})
    given = [name for name, value in there.parameters if isinstance(value, Edge)]
    for place, name in enumerate(given):
        number = there.values[name].node  # type: ignore[union-attr]
        nodes[number] = replace(nodes[number], outputs=(Output(nodes[number].outputs[0].type, (f"args[{place}]",)),))
    there.body()
    back = _Reader(nodes, backward, there.values, pass_id=0)
    back.body()
    taken = [name for name, _ in back.parameters]
    saved = sum(name in there.returned for name in taken)
    results = [there.values.get(name) for name in there.returned[: len(there.returned) - saved]]
    roots = [Root(f"results[{nr}]", x.node, x.nr) for nr, x in enumerate(results) if isinstance(x, Edge)]
    passed = Pass(0, "backward", 1, False, tuple(Edge(root.node, root.nr) for root in roots))
    places = {name: place for place, name in enumerate(given)}
    for (name, _), gradient in zip(there.parameters, back.returned, strict=False):
        grad = back.values.get(gradient)
        if isinstance(grad, Edge) and name in places:
            roots.append(Root(f"grad_args[{places[name]}]", grad.node, grad.nr))
    return Graph(tuple(nodes), tuple(roots), passes=(passed,)), {"forward": there.values, "backward": back.values}


def _numbered(graph: Graph, names: Mapping[str, Mapping[str, Value]], numbers: Mapping[str, Told]) -> Graph:
    """The graph with what is known of its numbers."""
    exact: dict[int, dict[int, Exact]] = {}
    off: dict[int, Number] = {}
    for kind, known in numbers.items():
        for name, (kept, apart) in known.items():
            edge = names[kind].get(name)
            if isinstance(edge, Edge) and edge.nr not in exact.setdefault(edge.node, {}):
                exact[edge.node][edge.nr] = kept
                if apart is not None:
                    off[edge.node] = max(apart, off.get(edge.node, apart))
    nodes = list(graph.nodes)
    for number, kept_of in exact.items():
        node = nodes[number]
        told = tuple([kept_of.get(nr) for nr in range(len(node.outputs))])
        measured = replace(node.measured or Measured(), exact=told, deviation=(off[number],) if number in off else ())
        nodes[number] = replace(node, measured=measured)
    return replace(graph, nodes=tuple(nodes))


class _Reader:
    """Reads the text of one graph; what is `known` already is no input."""

    def __init__(self, nodes: list[Node], text: str, known: dict[str, Value], pass_id: int | None = None) -> None:
        self.nodes, self.pass_id = nodes, pass_id
        self.values: dict[str, Value] = {}
        self.returned: list[str] = []
        self.sources = dict(_sources(text))
        tree = ast.parse(text.replace("class <lambda>", "class GraphModule"))
        self.function = next(x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef))
        for parameter in self.function.args.args[1:]:
            self.values[parameter.arg] = known.get(parameter.arg) or self._input(parameter.arg, parameter.annotation)
        self.parameters = list(self.values.items())

    def body(self) -> None:
        """Read what is computed, and what is returned."""
        for statement in self.function.body:
            match statement:
                case ast.AnnAssign(ast.Name(name), annotation, value) if value is not None:
                    self.values[name] = self._value(name, annotation, value)
                case ast.Assign([ast.Name(name)], ast.expr() as value) if not _is_none(value):
                    self.values[name] = self._value(name, None, value)
                case ast.Expr(ast.Call() as call):
                    self._operation(call)
                case ast.Return(ast.Tuple(items) | ast.List(items)):
                    self.returned = list(map(ast.unparse, items))
                case ast.Return(ast.expr() as value):
                    self.returned = [ast.unparse(value)]

    def _input(self, name: str, annotation: ast.expr | None) -> Value:
        type_, text = _type(annotation)
        if type_ is None:
            return text or name
        self.nodes.append(Node(len(self.nodes), "input", "Input", "", (Output(type_, (name,)),)))
        return Edge(len(self.nodes) - 1)

    def _value(self, name: str, annotation: ast.expr | None, value: ast.expr) -> Value:
        """Return what a name stands for from now on."""
        type_, text = _type(annotation)
        match value:
            case ast.Subscript(ast.Name(several), ast.Constant(int(nr))) if isinstance(self.values.get(several), Edge):
                return self._part(self.values[several].node, nr, type_ or _UNTOLD)  # type: ignore[union-attr]
            case ast.Attribute(ast.Name("self"), attribute):
                return self._input(attribute, annotation)
            case ast.Call() as call if not text:
                return self._operation(call, type_)
        return text or ast.unparse(value)

    def _part(self, number: int, nr: int, type_: TensorType) -> Edge:
        """One of the outputs of a node, which are known as they are taken."""
        node = self.nodes[number]
        outputs = [*node.outputs, *[Output(_UNTOLD)] * (nr + 1 - len(node.outputs))]
        outputs[nr] = Output(type_)
        self.nodes[number] = replace(node, outputs=tuple(outputs))
        return Edge(number, nr)

    def _operation(self, call: ast.Call, type_: TensorType | None = None) -> Edge:
        name = ast.unparse(call.func).removeprefix("torch.ops.")
        space, _, rest = name.partition(".")
        given = [*zip(_parameters(name), call.args, strict=False), *((x.arg or "", x.value) for x in call.keywords)]
        edges = [edge for _, value in given for edge in self._edges(value)]
        lines = tuple(f"{key} = {self._text(value)}" for key, value in given if not any(self._edges(value)))
        self.nodes.append(
            Node(
                len(self.nodes),
                "operation",
                name,
                rest.partition(".")[0] or space,
                (Output(type_ or _UNTOLD),),
                args=tuple(edges),
                order=0 if self.pass_id is None else 1,
                pass_id=self.pass_id,
                source=self.sources.get(call.lineno),
                measured=Measured(formula=lines) if lines else None,
            )
        )
        return Edge(len(self.nodes) - 1)

    def _edges(self, value: ast.expr) -> Iterator[Edge]:
        for part in ast.walk(value):
            known = self.values.get(part.id) if isinstance(part, ast.Name) else None
            if isinstance(known, Edge):
                yield known

    def _text(self, value: ast.expr) -> str:
        """An argument that is no tensor, with what names of sizes stand for."""
        words = re.split(r"\b([A-Za-z_]\w*)\b", ast.unparse(value))
        return "".join(str(self.values.get(word, word)) for word in words)


def _is_none(value: ast.expr) -> bool:
    """Return whether a name is only let go."""
    return isinstance(value, ast.Constant) and value.value is None


def _type(annotation: ast.expr | None) -> tuple[TensorType | None, str]:
    """The type that is written at a tensor; the text of what is none, a size."""
    text = annotation.value if isinstance(annotation, ast.Constant) else ""
    found = _TYPE.fullmatch(str(text))
    if found is None or found["dtype"] not in dtype_names():
        return None, re.sub(r"^Sym\((.*)\)$", r"\1", str(text))
    sides = [side.strip() for side in found["shape"].split(",") if side.strip()]
    shape = tuple(int(side) if side.isdigit() else -1 for side in sides)
    return TensorType(dtype_names()[found["dtype"]], shape, found["device"] or "cpu"), ""


@functools.cache
def _parameters(name: str) -> list[str]:
    """Return what the arguments of an operation are called."""
    operation: Any = torch.ops
    for part in name.split("."):
        operation = getattr(operation, part, None)
    schema = getattr(operation, "_schema", None)
    return [str(nr) for nr in range(64)] if schema is None else [each.name for each in schema.arguments]


def _sources(text: str) -> Iterator[tuple[int, Source]]:
    """The line of the script that each line stands for, where one is told."""
    source: Source | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            found = _LINE.search(line)
            source = found and Source(found["file"], int(found["line"]), found["text"], found["function"])
        elif source is not None:
            yield number, source
