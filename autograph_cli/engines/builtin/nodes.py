"""Facts of the nodes of the built-in engine; a node that the recorder was not told of is told of now."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from msgspec import Struct

from autograph_cli.engines.builtin.formulas import formula_of
from autograph_cli.engines.builtin.living import behind, fast
from autograph_cli.engines.builtin.saved import as_given, kept_outputs, look, saved, saved_constants, types
from autograph_cli.engines.protocol import Listener, Output
from autograph_cli.engines.values import shown
from autograph_cli.torch._core.operations.operation import Operation
from autograph_cli.torch._core.tape.node import AccumulateGrad, Node


class Change(Struct, frozen=True):
    """The arguments of a change of a view that are no tensors, and the class of its node."""

    cls: type[Node]
    plain: Any
    args: tuple[Any, ...]
    """The view, and what else it was changed by."""


class Nodes:
    """See `protocol.NodeFacts`."""

    look = staticmethod(look)
    saved = staticmethod(saved)
    saved_constants = staticmethod(saved_constants)
    alike = None
    types = staticmethod(types)
    kept_outputs = staticmethod(kept_outputs)

    def __init__(self, listener: Listener) -> None:
        self.listener, self.known = listener, listener.known

    def names(self, cls: type[Node]) -> tuple[str, str]:
        name, operation = cls.__name__, cls._ag_operation
        if operation is not None:
            return name, operation.name
        function = getattr(cls, "_forward_cls", None)  # an operator of torch.library says what it is called
        called = getattr(function, "_op_name", "") or getattr(cls, "_ag_op_name", "")
        return name, called or name.removesuffix("Backward")

    def arguments(self, cls: Any, plain: Any) -> list[tuple[str, str]]:
        if isinstance(plain, Change):
            return [] if plain.plain is None else self.arguments(plain.cls, plain.plain)
        operation = cls if cls is None or isinstance(cls, Operation) else cls._ag_operation
        if operation is None:
            return []
        named = zip(operation.schema.parameters, map(as_given, plain), strict=False)
        return [
            (each.name, shown(x)) for each, x in named if x is not None and not (x is each.default or x == each.default)
        ]

    def is_random(self, cls: Operation | None) -> bool:
        return cls is not None and cls.random

    def formula(self, cls: type[Node]) -> tuple[str, ...]:
        return formula_of(cls)

    def operation_of(self, node: Node | Operation | None) -> Any:
        """The operation that leaves such nodes; None for a custom Function."""
        return node if node is None or isinstance(node, Operation) else node._ag_operation

    def adds_up(self, node: Node) -> bool:
        """Return whether the node adds up the gradient of a leaf."""
        return node.__class__ is AccumulateGrad

    def numbers(self, nodes: Iterable[Node]) -> list[int]:
        known, number = self.known, self.number
        return [key if (key := node._ag_seq) in known else number(node) for node in nodes]

    def told_number(self, node: Node) -> int | None:
        number = getattr(node, "_ag_seq", None)  # PyTorch may be in the process as well, with nodes of its own
        return number if number in self.known else None

    def number(self, node: Node) -> int:
        if node.__class__ is AccumulateGrad:
            variable = node.variable
            held = self.listener.tensors.of(variable)
            if held is not None and held.number >= 0:
                return held.number
            return self.listener.leaf(node._ag_seq, variable, node.__class__, node._ag_output_meta)
        if node._ag_seq not in self.known:
            self._meet(node)
        return node._ag_seq

    def _meet(self, node: Node) -> None:
        """Tell of a node that was made before there was a listener, and of all behind it."""
        met, late = behind(node, self.known)
        met.sort(key=attrgetter("_ag_seq"))
        if self.listener.living:
            self._know(met, late)
        else:
            self._tell_earlier(met)

    def _know(self, nodes: list[Node], late: bool) -> None:
        """Have these nodes known as they are; `late` if one was made after a node that leads to it."""
        if fast is not None and not late:
            fast.know(nodes, self.known, self.number)
            return
        for node in nodes:
            if node.__class__ is AccumulateGrad:
                self.number(node)
                continue
            for edge in node._ag_edges if late else ():
                if edge is not None:
                    self.number(edge[0])
            self.known[node._ag_seq] = node

    def _following(self, node: Node) -> tuple[Any, ...]:
        """The outputs that the gradients of a node go to; None where they go nowhere."""
        known = self.known
        found: list[Output | None] = []
        for edge in node._ag_edges:
            if edge is None:
                found.append(None)
            else:
                there, nr = edge
                key = there._ag_seq
                if key not in known:
                    key = self.number(there)
                found.append((key, nr) if nr else key)
        return tuple(found)

    def _tell_earlier(self, met: list[Node]) -> None:
        earlier, ref = self.listener.earlier, weakref.ref
        for there in met:
            cls = there.__class__
            if cls is AccumulateGrad:
                self.number(there)
                continue
            following = self._following(there)
            args = tuple([output for output in following if output is not None]) if None in following else following
            earlier(there._ag_seq, ref(there), cls, there._ag_output_meta, following, args)
