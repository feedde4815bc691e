"""Runs a recorded graph again, on other numbers: what formulas are compared with."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.formulas.operations import FILLED, Bound, Unknown, bound
from autograph_cli.graph.records import Edge, Graph, Node, Pass, TensorType

Tensor = Any
LATTICES = 2
"""The turns, from the first, whose numbers are small integers: at them are the kinks of functions, and ties."""
_FAILED = (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError, Unknown)


class Played:
    """A graph's tensors for numbers that are drawn; what could not be computed is not there."""

    def __init__(self, graph: Graph, operations: dict[int, Bound], turn: int) -> None:
        self.graph, self.operations, self.turn = graph, operations, turn
        self.draw = np.random.default_rng(turn)
        self.values: dict[Edge, Tensor] = {}
        self.starts: dict[tuple[int, int], Tensor] = {}
        self.passed: set[int] = set()
        results = {edge: entry for entry in graph.passes for edge in entry.results if edge is not None}
        for node in graph:
            with contextlib.suppress(*_FAILED):
                self._play(node, results)
        for entry in graph.passes:
            with contextlib.suppress(*_FAILED):
                self._pass(entry)

    def number(self, edge: Edge) -> np.ndarray[Any, Any] | None:
        """The numbers of a tensor of the graph."""
        found = self.values.get(edge)
        return None if found is None else found.detach().numpy()

    def gradient(self, entry: Pass, edge: Edge) -> np.ndarray[Any, Any] | None:
        """The derivative of the roots of a pass by a tensor."""
        try:
            return self._gradients(entry, [edge])[0].detach().numpy()  # type: ignore[no-any-return]
        except _FAILED:
            return None

    # -- each node

    def _play(self, node: Node, results: dict[Edge, Pass]) -> None:
        if node.pass_id is not None:
            for edge, entry in results.items():
                if edge.node == node.id and edge not in self.values:
                    self._pass(entry)
        elif node.kind == "untracked" and node.op in FILLED:
            self.values[Edge(node.id)] = torch.full(node.outputs[0].type.shape, FILLED[node.op], dtype=torch.float64)
        elif not node.args:
            for nr, output in enumerate(node.outputs):
                made = self._drawn(output.type)
                self.values[Edge(node.id, nr)] = made.requires_grad_(node.kind == "leaf" and made.is_floating_point())
        else:
            args = [self.values[edge] for edge in node.args]
            with torch.set_grad_enabled(node.kind != "untracked"):
                found = self._run(node, args)
            for nr, (value, output) in enumerate(zip(found, node.outputs, strict=True)):
                if tuple(value.shape) == output.type.shape and _kind(value) == _kind_of(output.type):
                    self.values[Edge(node.id, nr)] = value

    def _run(self, node: Node, args: Sequence[Tensor]) -> Sequence[Tensor]:
        if node.op == "detach":
            return [args[0].detach()]
        if node.id not in self.operations:
            return [self._unreached(self._drawn(output.type), args) for output in node.outputs]
        if node.name == "CopySlices":
            return [self._changed(node, args)]
        if node.kind == "untracked":
            return self.operations[node.id](*args)
        # gradients go where the node's edges lead, also where a tensor was changed in place without a record
        args = [arg if edge in node.next else arg.detach() for arg, edge in zip(args, node.args, strict=True)]
        found = self.operations[node.id](*args)
        if node.op == "copy_":
            found = (found[0].expand(node.outputs[0].type.shape),)
        hidden = [self.values[edge] for edge in node.next if edge is not None and edge not in node.args]
        if hidden:
            return [self._unreached(each.detach(), [*hidden, *args]) for each in found]
        return found

    def _changed(self, node: Node, args: Sequence[Tensor]) -> Tensor:
        """A tensor of which a part was changed."""
        chain = views_of(self.graph, node)
        base = self.values[chain[0].args[0]].clone()
        base = base.detach() if node.next[0] is None else base
        part = base
        for view in chain:
            part = self.operations[view.id](part)[0]
        others = [arg if edge in node.next else arg.detach() for arg, edge in zip(args, node.args, strict=True)][1:]
        part.copy_(self.operations[node.id](part.clone(), *others)[0])
        return base

    def _unreached(self, made: Tensor, args: Sequence[Tensor]) -> Tensor:
        """Numbers through which no derivative is known."""
        graded = [arg for arg in args if arg.requires_grad]
        return _Unknown.apply(made, *graded) if graded and made.is_floating_point() else made

    def _drawn(self, type: TensorType) -> Tensor:
        kind = _kind_of(type)
        if kind == "b":
            return torch.from_numpy(self.draw.random(type.shape) < 0.5)
        if kind == "i":
            whole = self.draw.integers(0, (2, 3, 1)[self.turn // 3 % 3], type.shape)
            return torch.from_numpy(np.asarray(whole, dtype=type.dtype))
        if kind != "f":
            raise Unknown(type.dtype)
        if self.turn < LATTICES:
            count = math.prod(type.shape)
            made: Any = self.draw.permutation(np.arange(self.turn, count + self.turn) % 4 - 1.0).reshape(type.shape)
        elif self.turn % 3 == 0:
            made = self.draw.uniform(0.1, 0.9, type.shape)
        else:
            made = self.draw.normal(size=type.shape) * (1, 0.5)[self.turn // 3 % 2]
        return torch.from_numpy(np.asarray(made))

    # -- backward calls

    def _pass(self, entry: Pass) -> None:
        if entry.id in self.passed:
            return
        self.passed.add(entry.id)
        self._start(entry)
        found = self._gradients(entry, entry.inputs)
        for edge, value in zip(entry.results, found, strict=False):
            if edge is not None:
                self.values[edge] = value

    def _start(self, entry: Pass) -> list[Tensor]:
        for position, root in enumerate(entry.roots):
            if (entry.id, position) not in self.starts:
                type = self.graph.nodes[root.node].outputs[root.nr].type
                made = self._drawn(type) if type.shape else torch.ones((), dtype=torch.float64)
                self.starts[entry.id, position] = made
        return [self.starts[entry.id, position] for position in range(len(entry.roots))]

    def _gradients(self, entry: Pass, edges: Sequence[Edge]) -> list[Tensor]:
        roots, wanted = [[self.values[edge] for edge in row] for row in (entry.roots, edges)]
        start = self._start(entry)
        found = torch.autograd.grad(roots, wanted, start, create_graph=True, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, wanted, strict=True)]


class _Unknown(torch.autograd.Function):
    """Hands numbers on, with derivatives that are not known."""

    @staticmethod
    def forward(ctx: Any, made: Tensor, *args: Tensor) -> Tensor:
        ctx.shapes = [arg.shape for arg in args]
        return made.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, *(torch.full(shape, float("nan"), dtype=torch.float64) for shape in ctx.shapes)


def played_operations(graph: Graph) -> dict[int, Bound]:
    """The operations of a graph that can be run again, by their nodes."""
    found = {}
    for node in graph:
        if node.args and node.pass_id is None:
            with contextlib.suppress(Unknown):
                found[node.id] = bound(node)
    return found


def views_of(graph: Graph, node: Node) -> list[Node]:
    """The views through which an in-place change of a part writes, from the base on; raises `Unknown`."""
    base = node.next[0] if node.next else None
    found: list[Node] = []
    edge = node.args[0]
    while edge != base:
        view = graph.nodes[edge.node]
        if edge.nr or len(view.args) != 1 or view.pass_id is not None or len(view.outputs) > 1 or not _is_view(view):
            break
        found.insert(0, view)
        edge = view.args[0]
    if not found or (base is not None and edge != base):
        raise Unknown(node.op)
    if graph.nodes[edge.node].outputs[edge.nr].type.shape != node.outputs[0].type.shape:
        raise Unknown(node.op)
    return found


def _is_view(node: Node) -> bool:
    try:
        return bound(node).record.view
    except Unknown:
        return False


def _kind_of(type: TensorType) -> str:
    return type.dtype[0] if type.dtype[0] in "bf" and type.dtype != "bfloat16" else _WORDS.get(type.dtype, "i")


_WORDS = {"bfloat16": "f", "complex64": "c", "complex128": "c", "complex32": "c"}


def _kind(value: Tensor) -> str:
    if value.dtype == torch.bool:
        return "b"
    return "f" if value.is_floating_point() else "c" if value.is_complex() else "i"
