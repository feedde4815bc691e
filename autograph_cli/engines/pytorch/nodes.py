"""The numbers of PyTorch's nodes, and the outputs that its tensors are; what was not told of is told of now."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from autograph_cli.engines.protocol import Listener, Output
from autograph_cli.engines.pytorch.hooks import calls
from autograph_cli.engines.pytorch.node_types import (
    Like,
    NodeType,
    arguments,
    draws,
    formula_of,
    like_of,
    names_of,
    types,
)
from autograph_cli.engines.pytorch.notes import Note, asked, is_unasked, make_note, note_of
from autograph_cli.engines.pytorch.order import is_leaf
from autograph_cli.engines.pytorch.private import (
    LEAF,
    batch_of,
    current_node,
    history,
    is_within_transform,
    untouched,
)
from autograph_cli.engines.pytorch.saved import alike, constants, kept_outputs, look, saved, saved_constants
from autograph_cli.engines.pytorch.tensors import Tensors

next_number = itertools.count(1).__next__
Given = Sequence[tuple[Any, Any]]
"""The tensors that something was computed from, each with the history that it had before it was changed, if it was."""


class _Thread(threading.local):
    """The sequence number from which on the nodes of this thread were told of as they were made."""

    since = 0
    begun = False


class Nodes(Tensors):
    """See `protocol.NodeFacts`."""

    types = staticmethod(types)
    names = staticmethod(names_of)
    formula = staticmethod(formula_of)
    saved = staticmethod(saved)
    saved_constants = staticmethod(saved_constants)
    alike = staticmethod(alike)
    arguments = staticmethod(arguments)
    is_random = staticmethod(draws)
    kept_outputs = staticmethod(kept_outputs)

    def __init__(self, listener: Listener) -> None:
        self.listener, self.known = listener, listener.known
        self._thread = _Thread()

    def adds_up(self, node: Any) -> bool:
        return is_leaf(node)

    def numbers(self, nodes: Iterable[Any]) -> list[int]:
        return list(map(self.number, nodes))

    def number(self, node: Any) -> int:
        if node.__class__ is LEAF:
            variable = node.variable
            known = self._held(variable)
            return known if known.__class__ is int and known >= 0 else self._leaf(variable)
        note = note_of(node)
        if note is None or note.number not in self.known:
            self._meet(node)
            note = note_of(node)
            assert note is not None
        return note.number

    def told_number(self, node: Any) -> int | None:
        note = note_of(node)
        return note.number if note is not None and note.number in self.known else None

    def parent(self) -> int | None:
        current = current_node()
        return None if current is None else self.number(current)

    def output(self, tensor: Any) -> Output | None:
        with untouched():
            return self._output(tensor)

    def _output(self, tensor: Any) -> Output | None:
        tensor = batch_of(tensor)
        node = asked(tensor)
        if node is None:
            return self._held(tensor)
        note = note_of(node)
        if (note is None or note.number not in self.known) and node._sequence_nr() < self._thread.since:
            return None  # made while nobody listened, and so of an older step
        number = self.number(node)
        return (number, tensor.output_nr) if tensor.output_nr else number

    def told(self, tensor: Any) -> Output | None:
        with untouched():
            node = history(tensor)
            if node is None:
                return self._held(tensor)
            note = note_of(node)
            if note is None or note.number not in self.known:
                return None
            return (note.number, tensor.output_nr) if tensor.output_nr else note.number

    def root(self, root: Any) -> Output | None:
        if isinstance(root, torch.Tensor):
            return self._take(root) if root.requires_grad else None
        number = self.number(root.node)
        return (number, root.output_nr) if root.output_nr else number

    def _before(self, given: Given, read: Callable[[Any], Any] = history) -> tuple[Output, ...]:
        """Return what an operation was given, which may have changed it."""
        return tuple([self._take(tensor, before, read) for tensor, before in given])

    def _take(self, tensor: Any, before: Any = None, read: Callable[[Any], Any] = history) -> Output:
        """The output that a tensor is, or was with the history `before`; a leaf or an input that is new is told of.

        What autograd does not record has `asked` as `read`: it makes no leaf.
        """
        node, nr = (read(tensor), tensor.output_nr) if before is None else before
        if node is not None:
            number = self.number(node)
            output: Output | None = (number, nr) if nr else number
        else:
            output = self._held(tensor)
        if output is None:
            is_leaf = read is history and tensor.requires_grad and before is None
            output = self._leaf(tensor) if is_leaf else self.listener.input(tensor)
        return self.listener.now(tensor, output) if self.listener.changed else output

    def _held(self, tensor: Any) -> Output | None:
        held = self.listener.tensors.of(tensor)
        if held is None:
            return None
        if not tensor.requires_grad and held.number >= 0 and not self.known[held.number].is_operation:
            return None
        return self.listener.known_as(tensor, held)

    def _leaf(self, tensor: Any) -> int:
        return self.listener.leaf(next_number(), tensor, NodeType("AccumulateGrad"), self.like(tensor))  # type: ignore[arg-type]

    def _meet(self, node: Any) -> None:
        """Tell of a node that nobody has told of, and of all behind it."""
        unseen, stack = {node: None}, [node]
        while stack:
            for following, _ in stack.pop().next_functions:
                if following is not None and following not in unseen and not self._is_known(following):
                    unseen[following] = None
                    stack.append(following)
        for there in sorted(unseen, key=lambda it: it._sequence_nr()):
            newest = self._thread.begun and there._sequence_nr() >= self._thread.since
            if newest or is_unasked(there):  # made by no operation, as a view's new history is
                self._tell_node(there, self._following(there), (), NodeType.of(there))
                continue
            following = self._following(there)
            note = note_of(there) or self._note(there, NodeType.of(there))
            args = tuple([place for place in following if place is not None])
            node_type: Any = note.node_type
            self.listener.earlier(note.number, note, node_type, note.like, following, args)

    def _is_known(self, node: Any) -> bool:
        if is_leaf(node):
            return True
        note = note_of(node)
        return note is not None and note.number in self.known

    def _tell_node(
        self,
        node: Any,
        following: tuple[Output | None, ...],
        args: tuple[Output, ...],
        node_type: NodeType,
        like: Like | None = None,
        plain: Any = None,
    ) -> None:
        note = self._note(node, node_type, like)
        self.listener.operation(
            note.number,
            note,
            node_type,  # type: ignore[arg-type]
            note.like,
            following,
            args or tuple([output for output in following if output is not None]),
            "",
            calls(),
            constants(note.looked),
            plain,
        )

    def _note(self, node: Any, node_type: NodeType, like: Like | None = None) -> Note:
        note = make_note(node, next_number())
        note.node_type, note.like = node_type, like or like_of(node)
        note.looked = look(node, lambda tensor: self._kept_output(node, note.number, tensor))
        return note

    def _kept_output(self, node: Any, number: int, tensor: Any) -> Output | None:
        """The output that a kept tensor is: of the node itself, which is not known yet, or of another."""
        made = history(tensor)
        if made is node:
            return (number, tensor.output_nr) if tensor.output_nr else number
        return self._held(tensor) if made is None and not is_within_transform() else self._output(tensor)

    def _following(self, node: Any) -> tuple[Output | None, ...]:
        found: list[Output | None] = []
        for following, nr in node.next_functions:
            number = None if following is None else self.number(following)
            found.append((number, nr) if nr and number is not None else number)
        return tuple(found)

    def look(self, nodes: Iterable[Any]) -> list[Any]:
        return [None if note is None else note.looked for note in nodes]
