"""The built-in engine as a recorder hears it: its observer slot."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from autograph_cli.engines.builtin.derive import gradients as derive
from autograph_cli.engines.builtin.measuring import Measuring
from autograph_cli.engines.builtin.nodes import Change
from autograph_cli.engines.builtin.saved import constants, plain_arguments, traits
from autograph_cli.engines.builtin.tensors import Tensors
from autograph_cli.engines.protocol import (
    Applied,
    BackwardCall,
    CollectiveCall,
    Listener,
    ModuleCall,
    Output,
    key_of,
    of_changed,
    uncounted,
)
from autograph_cli.engines.values import shown
from autograph_cli.graph import Source
from autograph_cli.torch._core.base.state import process_state, thread_state
from autograph_cli.torch._core.operations.operation import Operation
from autograph_cli.torch._core.running.modes import kept
from autograph_cli.torch._core.running.views import CopySlices
from autograph_cli.torch._core.tape.node import Node, View
from autograph_cli.torch._core.tape.tensor import Tensor
from autograph_cli.torch._core.tape.wrapped_numbers import is_wrapped_number


class Builtin(Tensors, Measuring):
    """A connection of one recorder to the engine; see `protocol.Engine`."""

    name = "autograph"
    version = ""
    cost = 6e-5
    folders: tuple[str, ...] = ()
    telling: tuple[str, ...] = ("applies", "created", "untracked", "begins", "ends")
    replaced: ClassVar[dict[str, Any]] = {}
    kept = staticmethod(kept)
    between = staticmethod(uncounted)

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self.measured = False
        self._change: Change | None = None
        """The change in place that was told last, of a view."""

    def start(self) -> None:
        process_state.observer, process_state.passed = self, self._passed

    def stop(self) -> None:
        if process_state.passed == self._passed:
            process_state.passed = None
        if process_state.observer is self:
            process_state.observer = None

    @staticmethod
    def breaks() -> Sequence[tuple[str, Source]]:
        """Return none: nothing is compiled."""
        return ()

    def follow(self, on: bool) -> None:
        """Turn telling on or off; what is not told costs next to nothing."""
        if process_state.passed == self._passed and process_state.observer is (None if on else self):
            process_state.observer = self if on else None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before, process_state.observer = process_state.observer, self
        try:
            yield
        finally:
            process_state.observer = before

    def _passed(self, kept: bool) -> None:
        """A backward pass has run that was not told."""
        if not thread_state.unobserved:
            with self.listener.lock:
                try:
                    self.listener.passed(kept)
                except Exception as error:
                    self.listener.failed(error)

    def applies(self, inputs: Sequence[Any]) -> Applied | None:
        """A custom Function is about to run, which may change its inputs: what they are before."""
        found: Applied | None = self._tell(self._applies, inputs)
        return found

    def _applies(self, inputs: Sequence[Any]) -> Applied:
        found: Applied = []
        for x in self.tensors_in(inputs):
            taken: list[Output] = []
            self._take(x, taken)
            found += [(x, output, None if x._base is None else self.told(x._base)) for output in taken]
        return found

    def created(
        self, node: Node, inputs: Sequence[Any], outputs: tuple[Tensor, ...], applied: Applied | None = None
    ) -> None:
        """A node was made: by far the most frequent event, so it does not go through `_tell`."""
        if thread_state.unobserved:
            return
        with self.listener.lock:
            try:
                self._created(node, inputs, outputs, applied)
            except Exception as error:
                self.listener.failed(error)

    def _created(self, node: Node, inputs: Sequence[Any], outputs: tuple[Tensor, ...], applied: Applied | None) -> None:
        listener, cls = self.listener, node.__class__
        newest = listener.count
        next = self._following(node)
        takes_edges, forgets_plain, take, _ = traits(cls)
        op, wrapped = "", False
        if applied is not None:
            listener.absorbed(of_changed(applied, outputs))
            args = tuple([before for _, before, _ in applied])
        elif takes_edges and not listener.changed and None not in next and _is_new(outputs[0], inputs[0], node):
            args = next
        else:
            args, op, wrapped = self._given(node, inputs, outputs, next)
        listener.operation(
            node._ag_seq,
            weakref.ref(node),
            cls,
            node._ag_output_meta,
            next,
            args,
            op,
            thread_state.calls,
            None if take is None or (saved := node._ag_saved).__class__ is not tuple else constants(take(saved)),
            self._plain(cls, inputs) if forgets_plain or wrapped else None,
        )
        if len(outputs) > 1:
            for nr, output in enumerate(outputs):
                if output._ag_edge is None:
                    listener.also(output, node._ag_seq, nr)
        if self.measured:
            listener.made(node._ag_seq, node, outputs, newest)

    def _given(
        self, node: Node, inputs: Sequence[Any], outputs: tuple[Tensor, ...], following: tuple[Output | None, ...]
    ) -> tuple[tuple[Any, ...], str, bool]:
        """Return what an operation was computed from, its name if it changed a tensor in place, and whether a number
        was wrapped."""
        first = outputs[0] if outputs else None
        args: list[Any] = []
        op, wrapped = "", False
        for x in inputs:
            if isinstance(x, Tensor):
                wrapped |= self._take_before(x, node, x is first, args)
                if x is first:
                    op = self._in_place(node)
            elif x.__class__ is tuple or isinstance(x, list):
                for item in getattr(x, "given", x):
                    if isinstance(item, Tensor):
                        self._take(item, args)
        if first is not None and _is_changed(first, node, op, args):
            op = op or self._in_place(node)
            whole = [output for output in following if output is not None]
            args = list(self._change.args) if isinstance(node, CopySlices) and self._change else whole
        return tuple(args), op, wrapped

    def _take_before(self, tensor: Tensor, node: Node, changed: bool, args: list[Any]) -> bool:
        """Add the output that an input was before the operation that made `node`, which may have `changed` it; true for
        a number that the engine wrapped."""
        edge = tensor._ag_edge
        if edge.__class__ is View and edge.edge.__class__ is tuple and (changed or edge.edge in node._ag_edges):
            edge = edge.edge  # what the view was before this change of its memory
        if self.listener.changed and not changed:
            if edge is tensor._ag_edge:
                return self._take(tensor, args)
            args.append(self._earlier(tensor, edge))
        elif edge.__class__ is tuple and (key := edge[0]._ag_seq) in self.known:
            args.append((key, edge[1]) if edge[1] else key)
        elif edge is None and (held := self.listener.held(tensor)) is not None:
            args.append(held)
        else:
            return self._take(tensor, args)
        return False

    def untracked(
        self,
        name: str,
        op: Operation | None,
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
        drawn: tuple[tuple[str, Any], ...] | None = None,
    ) -> None:
        """An operation ran that left no node; what a backward pass computes on its way is not told.

        Random numbers are `drawn` by these arguments."""
        if thread_state.walk is not None:
            return
        with self.listener.lock:
            try:
                if inputs:
                    self._untracked(name, op, inputs, outputs)
                elif self.listener.noting or not outputs[0].requires_grad:
                    by = None if drawn is None else tuple([(key, shown(value)) for key, value in drawn])
                    self.listener.drew(outputs[0], name, by)
            except Exception as error:
                self.listener.failed(error)

    def _untracked(self, name: str, op: Operation | None, inputs: Sequence[Any], outputs: Sequence[Tensor]) -> None:
        first = outputs[0]
        whole = self.listener.owner(first) if name.endswith("_") else first
        if name.endswith("_") and whole.requires_grad and not self.listener.minds(whole):
            if self.listener.noting and op is not None:
                given = self.arguments(op, plain_arguments(inputs))
                source = inputs[1] if op.overwrites else None
                self.listener.filled(whole, name, given, part=first, random=op.random, source=source)
            return
        args: list[Output] = []
        cut: list[Output] = []
        plain = False
        for x in inputs:
            if isinstance(x, Tensor):
                edge = x._ag_edge
                if x is inputs[0] and edge.__class__ is View and edge.edge.__class__ is tuple:
                    args.append(self._earlier(x, edge.edge))  # a view has its new history already
                elif self._take(x, args):
                    plain = True
                    continue
                if edge is not None and _is_graded(edge):
                    cut.append(args[-1])
            elif x.__class__ is tuple or isinstance(x, list):
                plain |= self._take_list(getattr(x, "given", x), args, cut)
            elif x is not None:
                plain = True
        self.listener.untracked(name, op, outputs, tuple(args), plain_arguments(inputs) if plain else None, cut)
        if name == "detach":
            self.listener.shares(first, inputs[0])

    def _take_list(self, items: Sequence[Any], args: list[Output], cut: list[Output]) -> bool:
        """Add the outputs that the tensors of a list are to `args`, and to `cut` those with a gradient; true if there
        is something else among them."""
        for item in items:
            if isinstance(item, Tensor):
                self._take(item, args)
                cut += args[-1:] if _is_graded(item._ag_edge) else ()
        return not all(isinstance(item, Tensor) for item in items)

    def becomes(self, made: Tensor, tensor: Tensor) -> None:
        if self.listener.noting:
            self._tell(self.listener.becomes, made, tensor)

    def collective(self, call: Any, tensors: Sequence[Any], changed: Sequence[Any]) -> Callable[[], None] | None:
        group = call.group
        peer = group.ranks[call.peer] if call.between_two and call.peer is not None else None
        told = CollectiveCall(call.name, group.group_name, group.ranks, call.number, tensors, call.bytes, peer, changed)
        done = self._tell(self.listener.collective, told)
        return None if done is None else partial(self._tell, done)

    def begins(self, call: BackwardCall) -> None:
        with self.untouched():
            self._tell(self.listener.begins, call)

    def ends(self, call: BackwardCall) -> None:
        with self.untouched():
            self._tell(self.listener.ends, call)

    def _tell(self, event: Callable[..., Any], *about: Any) -> Any:
        if thread_state.unobserved:
            return None
        with self.listener.lock:
            try:
                return event(*about)
            except Exception as error:
                self.listener.failed(error)
        return None

    def _plain(self, cls: type[Node], inputs: Sequence[Any]) -> Any:
        """Return what an operation was given that is no tensor; of a change of a view, what the change was given."""
        return self._change if cls is CopySlices else plain_arguments(inputs)

    def _in_place(self, node: Node) -> str:
        """Return what changed a tensor in place; a change of a view is one with the node that it gives to the base."""
        if isinstance(node, CopySlices):
            node = node.function()
            self._change = Change(type(node), *self.listener.withdrawn(node._ag_seq))
            if node._ag_operation is None:
                return self.names(type(node))[1]
        return "" if node._ag_operation is None else f"{node._ag_operation.name.rstrip('_')}_"

    def _earlier(self, view: Tensor, edge: tuple[Node, int]) -> Output:
        """The output that a view was before it got a new history."""
        number = edge[0]._ag_seq if edge[0]._ag_seq in self.known else self.number(edge[0])
        output = (number, edge[1]) if edge[1] else number
        return self.listener.now(view, output) if self.listener.changed else output

    def _take(self, tensor: Tensor, args: list[Output]) -> bool:
        """Add the output that `tensor` is to `args`; true for a number that the engine wrapped."""
        output = self.output(tensor)
        if output is None:
            if is_wrapped_number(tensor):
                return True
            output = self.listener.input(tensor)
        args.append(self.listener.now(tensor, output) if self.listener.changed else output)
        return False

    def recomputing(self) -> bool:
        return thread_state.recomputing

    def calls(self) -> Sequence[ModuleCall]:
        return thread_state.calls

    def parent(self) -> int | None:
        current = thread_state.current
        return None if current is None else current._ag_seq

    def gradients(self, roots: Sequence[Tensor], *, custom: bool) -> tuple[list[Tensor], Sequence[Tensor | None]]:
        return derive(self, roots, custom=custom)


def _is_new(output: Tensor, given: Any, node: Node) -> bool:
    """Return whether a tensor was made, not changed, and has no other history than this node."""
    edge = output._ag_edge
    return given is not output and edge is not None and (edge.__class__ is not tuple or edge[0] is node)


def _is_changed(first: Tensor, node: Node, op: str, args: Sequence[Output]) -> bool:
    """Return whether the first output of a node got its history by a change in place of which `args` do not tell."""
    edge = first._ag_edge
    if op:  # the tensor may have its new history already
        return node._ag_seq in map(key_of, args)
    if edge.__class__ is tuple:
        return edge[0] is not node
    return edge is None and 0 in node._ag_differentiable and not _is_undefined(node)


def _is_undefined(node: Node) -> bool:
    """Return whether the first output of an operation is one that was not asked for."""
    return isinstance(node._ag_output_meta, list) and node._ag_output_meta[0] is None


def _is_graded(edge: Any) -> bool:
    """Return whether a tensor that has this edge requires a gradient."""
    return edge is not None and (edge.__class__ is not View or edge.edge is not None)
