"""The backward of one node as a graph: of a custom Function as it runs, of a formula by running it once more."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograph_cli.graph import Edge, Graph, Measured, Node, Output, Root, TensorType
from autograph_cli.torch._core.base.schema import REQUIRED
from autograph_cli.torch._core.base.state import thread_state
from autograph_cli.torch._core.operations.operation import operations
from autograph_cli.torch._core.running.gradients import fit_recorded, output_meta_at
from autograph_cli.torch._core.running.views import CopySlices
from autograph_cli.torch._core.tape.node import Node as EngineNode
from autograph_cli.torch._core.tape.saved_tensors import Packed, without_hooks
from autograph_cli.torch._core.tape.tensor import Tensor, make
from autograph_cli.torch._core.tape.wrapped_numbers import is_wrapped_number, number_of

_GRADIENTS = ("float", "bfloat", "complex")


class Inside:
    """Gathers the operations that are computed while a node runs; tensors are known by their arrays or themselves."""

    def __init__(self, node: EngineNode, grad: Any, summary: Callable[[Any], Any] | None) -> None:
        self.node, self.summary = node, summary
        self.nodes: list[Node] = []
        self.roots: list[Root] = []
        self._names: dict[int, str] = {}
        self._positions: dict[int, Edge] = {}
        self._held: list[Any] = []
        """The arrays, so that no other gets the id of one that is gone."""
        several = grad if isinstance(grad, (list, tuple)) else [grad]
        for nr, g in enumerate(several):
            self._name(getattr(g, "_ag_raw", g), "grad" if len(several) == 1 else f"grads[{nr}]")
        for name, item in _kept(node):
            item = without_hooks(item)
            if item.__class__ is not Packed and hasattr(item, "_ag_raw"):
                self._name(item._ag_raw, name)

    @classmethod
    def of(cls, node: EngineNode, grad: Any, summary: Callable[[Any], Any] | None = None) -> Inside | None:
        """Return what to follow a node with that is about to run; None for one whose work is not made of operations.

        With `summary`, what it says of the numbers of each tensor is noted too.
        """
        if isinstance(node, CopySlices) or (node._ag_operation is None and not hasattr(node, "_forward_cls")):
            return None
        if any(item.__class__ is Packed and item.hooked for item in node._ag_saved or ()):
            return None  # to open what a hook has packed is the script's own code
        return cls(node, grad, summary)

    def run(self, grad: Any) -> None:
        """Run the formula once more, as operations on tensors; nothing of it is seen outside."""
        several = isinstance(grad, (list, tuple))
        given = [self._given(g) for g in grad] if several else self._given(grad)
        mode = thread_state.grad
        thread_state.grad = False  # so no node is made, and no observer told
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                results = self.node._ag_run_recorded(operations, given)
                pairs = zip(self.node._ag_edges, results, strict=False)
                fitted = [
                    None if g is None or edge is None else fit_recorded(g, output_meta_at(edge)) for edge, g in pairs
                ]
        except Exception:  # the pass itself is about to raise the same
            return
        finally:
            thread_state.grad = mode
        for name, g in zip(_inputs(self.node, len(fitted)), fitted, strict=True):
            if g is not None:
                edge = self._position(g)
                self.roots.append(Root(f"grad_{name}", edge.node, edge.nr))

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        """An operation was computed on these arguments."""
        in_place = bool(outputs) and outputs[0] is args[0]
        if not in_place and all(id(output._ag_raw) in self._positions for output in outputs):
            return  # the tensor itself
        edges = [self._position(x) for x in _tensors(args) if not is_wrapped_number(x)]
        number = len(self.nodes)
        types = tuple(Output(_type(output._ag_raw)) for output in outputs)
        lines = tuple(f"{name} = {_shown(x)}" for name, x in _plain(op, args))
        name = f"{op.name}_" if in_place else op.name
        self.nodes.append(
            Node(
                number,
                "operation",
                op.identifier,
                name,
                types,
                args=tuple(edges),
                measured=self._measured([output._ag_raw for output in outputs], lines),
            )
        )
        for nr, output in enumerate(outputs):
            self._positions[id(output._ag_raw)] = self._positions[id(output)] = Edge(number, nr)
            self._held += [output, output._ag_raw]

    def graph(self) -> Graph:
        """All that was gathered; without known results, they are the real and complex numbers that nothing else
        takes."""
        if not self.roots:
            used = {edge for node in self.nodes for edge in node.args}
            ends = [
                Edge(node.id, nr)
                for node in self.nodes
                for nr in range(len(node.outputs))
                if node.kind == "operation"
                and Edge(node.id, nr) not in used
                and node.outputs[nr].type.dtype.startswith(_GRADIENTS)
            ]
            self.roots = [
                Root(f"result {position}" if len(ends) > 1 else "result", edge.node, edge.nr)
                for position, edge in enumerate(ends)
            ]
        return Graph(tuple(self.nodes), tuple(self.roots))

    def _name(self, raw: Any, name: str) -> None:
        known = self._names.get(id(raw))
        self._names[id(raw)] = name if known is None else f"{known}, {name}"
        self._held.append(raw)

    def _position(self, tensor: Tensor) -> Edge:
        """Return where a tensor stands: the operation that made it, or an input."""
        raw = tensor._ag_raw
        known = self._positions.get(id(raw)) or self._positions.get(id(tensor))
        if known is None:
            names = (self._names[id(raw)],) if id(raw) in self._names else ()
            known = self._positions[id(raw)] = self._positions[id(tensor)] = Edge(len(self.nodes))
            self._held += [tensor, raw]
            measured = self._measured([raw])
            self.nodes.append(
                Node(len(self.nodes), "input", "Input", "", (Output(_type(raw), names),), measured=measured)
            )
        return known

    def _measured(self, raws: list[Any], lines: tuple[str, ...] = ()) -> Measured | None:
        measured = Measured(tuple(map(self.summary, raws)) if self.summary is not None else (), formula=lines)
        return measured if measured != Measured() else None

    def _given(self, g: Any) -> Any:
        """A gradient as a tensor; of a single number one whose array stays the same when it is looked at."""
        if isinstance(g, np.generic):
            name, g = self._names[id(g)], np.asarray(g)
            self._name(g, name)
        return g if g is None or isinstance(g, Tensor) else make(g)


def _kept(node: EngineNode) -> Iterator[tuple[str, Any]]:
    """Yield what a node keeps, each under the name that its formula has for it."""
    items = node._ag_saved or ()
    names = node._ag_item_names or [f"saved_tensors[{position}]" for position in range(len(items))]
    for name, item in zip(names, items, strict=False):
        if hasattr(item, "_items"):
            yield from ((f"{name}[{position}]", part) for position, part in enumerate(item._items) if part is not None)
        else:
            yield name, item


def _inputs(node: EngineNode, count: int) -> list[str]:
    """Return what the gradients are gradients of; of a list, each item."""
    names = [parameter.name for parameter in node._ag_operation.inputs]
    return names if len(names) == count else [f"{names[0]}[{position}]" for position in range(count)]


def _tensors(args: Iterable[Any]) -> Iterator[Tensor]:
    for x in args:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from (item for item in x if isinstance(item, Tensor))


def _plain(op: Any, args: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The arguments that are no tensors, or numbers instead of one; defaults left out."""
    for parameter, x in zip(op.schema.parameters, args, strict=True):
        number = number_of(x)
        if number is not None:
            yield parameter.name, number
        elif not any(True for _ in _tensors([x])) and (parameter.default is REQUIRED or x != parameter.default):
            yield parameter.name, x


def _shown(x: Any) -> str:
    text = getattr(x, "name", None) if hasattr(x, "itemsize") else repr(list(x) if isinstance(x, tuple) else x)
    return str(text) if len(str(text)) <= 40 else f"{str(text)[:37]}..."


def _type(raw: Any) -> TensorType:
    return TensorType(raw.dtype.name, tuple(raw.shape))
