"""The built-in engine as a recorder hears it: its observer slot, and what its tensors and nodes say of themselves."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autograph_cli.engines.builtin_derive import gradients as derive
from autograph_cli.engines.builtin_formulas import formula_of
from autograph_cli.engines.builtin_inside import Inside
from autograph_cli.engines.builtin_saved import (
    bytes_of,
    constants,
    forgets_plain,
    kept_outputs,
    leaf_bytes,
    look,
    plain_arguments,
    saved,
    saved_constants,
    saved_type,
    storages,
    types,
)
from autograph_cli.engines.protocol import BackwardCall, Listener, ModuleCall, Output, key_of, shown
from autograph_cli.torch._core.modes import kept
from autograph_cli.torch._core.node import LEAF, AccumulateGrad, Node, View, output_meta
from autograph_cli.torch._core.operation import Operation
from autograph_cli.torch._core.state import process_state, thread_state
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch._core.views import CopySlices
from autograph_cli.torch._core.wrapped_numbers import is_wrapped_number
from autograph_cli.torch.optim.optimizer import Optimizer


class Builtin:
    """A connection of one recorder to the engine; see `protocol.Engine`."""

    tensor = Tensor
    name = "autograph"
    folders: tuple[str, ...] = ()
    look = staticmethod(look)
    saved = staticmethod(saved)
    saved_constants = staticmethod(saved_constants)
    saved_type = staticmethod(saved_type)
    types = staticmethod(types)
    kept = staticmethod(kept)
    kept_outputs = staticmethod(kept_outputs)
    storages = staticmethod(storages)
    leaf_bytes = staticmethod(leaf_bytes)
    bytes_of = staticmethod(bytes_of)

    def __init__(self, listener: Listener) -> None:
        self.listener, self.known = listener, listener.known
        self.measured = False
        self._before: list[Any] = []

    # -- listening

    def start(self) -> None:
        process_state.observer = self

    def stop(self) -> None:
        if process_state.observer is self:
            process_state.observer = None

    def follow(self, on: bool) -> None:
        """All is told: what hangs on a step that is not followed may be kept later."""

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before, process_state.observer = process_state.observer, self
        try:
            yield
        finally:
            process_state.observer = before

    def watch_operations(self, watcher: Callable[..., None] | None) -> None:
        if watcher is not None:
            process_state.special += 1
        elif process_state.op_hook is not None:
            process_state.special -= 1
        process_state.op_hook = watcher

    # -- the engine's slot

    def created(self, node: Node, inputs: Iterable[Any], outputs: tuple[Tensor, ...]) -> None:
        """A node was made: by far the most frequent event."""
        if thread_state.unobserved:
            return
        listener, known, lock = self.listener, self.known, self.listener.lock
        lock.acquire()
        try:
            newest, tensors = listener.count, listener.tensors
            following: list[Output | None] = []
            for edge in node._edges:
                if edge is None:
                    following.append(None)
                    continue
                there, nr = edge
                key = there._seq
                if key not in known:
                    if there.__class__ is AccumulateGrad and (held := tensors.get(id(there.variable))) is not None:
                        key = held[1] if held[1] >= 0 and held[0]() is there.variable else self.number(there)
                    else:
                        key = self.number(there)
                following.append((key, nr) if nr else key)
            args: list[Output] = []
            op, first = "", outputs[0] if outputs else None
            plain = False
            for x in inputs:
                if isinstance(x, Tensor):
                    edge = x._edge
                    if edge.__class__ is tuple and edge[0]._seq in known:  # what `_take` would find, sooner
                        args.append((edge[0]._seq, edge[1]) if edge[1] else edge[0]._seq)
                    elif (
                        (edge is LEAF or edge is None)
                        and (held := tensors.get(id(x))) is not None
                        and held[0]() is x
                        and (edge is None or held[1] >= 0)
                    ):
                        args.append((held[1], held[2]) if held[2] else held[1])
                    else:
                        plain |= self._take(x, args)
                    if x is first:
                        op = self._in_place(node)
                elif x.__class__ is tuple or x.__class__ is list:
                    for item in x:
                        if isinstance(item, Tensor):
                            self._take(item, args)
            if first is not None:
                edge = first._edge
                if op:  # the tensor may have its new history already
                    again = node._seq in map(key_of, args)
                else:
                    again = (
                        edge[0] is not node if edge.__class__ is tuple else edge is None and 0 in node._differentiable
                    )
                    op = self._in_place(node) if again else op
                if again:
                    args = [output for output in following if output is not None]
            current = thread_state.current
            listener.operation(
                node._seq,
                weakref.ref(node),
                node.__class__,
                node._output_meta,
                tuple(following),
                tuple(args),
                op,
                None if current is None else current._seq,
                thread_state.calls,
                constants(node),
                plain_arguments(inputs) if plain or forgets_plain(node.__class__) else None,
            )
            if self.measured:
                listener.made(node._seq, node, outputs, newest)
        except Exception as error:
            listener.failed(error)
        finally:
            lock.release()

    def untracked(self, name: str, op: Operation | None, inputs: Sequence[Any], outputs: Sequence[Tensor]) -> None:
        """An operation ran that left no node; what a backward pass computes on its way is not told."""
        if thread_state.walk is not None:
            return
        with self.listener.lock:
            try:
                if not inputs:
                    self.listener.drawn[id(outputs[0])] = weakref.ref(outputs[0]), name
                    return
                args: list[Output] = []
                plain = False
                for x in inputs:
                    if isinstance(x, Tensor):
                        plain |= self._take(x, args)
                    elif x.__class__ is tuple or x.__class__ is list:
                        for item in x:
                            if isinstance(item, Tensor):
                                self._take(item, args)
                    elif x is not None:
                        plain = True
                given = plain_arguments(inputs) if plain else None
                self.listener.untracked(name, op, outputs, tuple(args), thread_state.calls, given)
            except Exception as error:
                self.listener.failed(error)

    def begins(self, call: BackwardCall) -> None:
        self._tell(self.listener.begins, call)

    def ends(self, call: BackwardCall) -> None:
        self._tell(self.listener.ends, call)

    def _tell(self, event: Callable[[BackwardCall], None], call: BackwardCall) -> None:
        if thread_state.unobserved:
            return
        with self.listener.lock:
            try:
                event(call)
            except Exception as error:
                self.listener.failed(error)

    def _in_place(self, node: Node) -> str:
        """What changed a tensor in place; a change of a view is one with the node that it gives to the base."""
        if isinstance(node, CopySlices):
            node = node.function()
            self.listener.withdrawn(node._seq)
        return "" if node._operation is None else f"{node._operation.name.rstrip('_')}_"

    def _take(self, tensor: Tensor, args: list[Output]) -> bool:
        """Add the output that `tensor` is to `args`; true for a number that the engine wrapped."""
        output = self.output(tensor)
        if output is None:
            if is_wrapped_number(tensor):
                return True
            output = self.listener.input(tensor)
        args.append(output)
        return False

    # -- tensors

    def output(self, tensor: Tensor) -> Output | None:
        edge = tensor._edge
        if edge.__class__ is View:
            fresh = edge.edge is not None and tensor._counter is not None and tensor._counter[0] == edge.version
            edge = edge.edge if fresh else None
        if edge is LEAF:
            meta = tensor._meta
            accumulator = None if meta is None or meta.accumulator is None else meta.accumulator()
            edge = None if accumulator is None else (accumulator, 0)
        if edge is None:
            held = self.listener.tensors.get(id(tensor))
            if held is None or held[0]() is not tensor:
                return None
            return (held[1], held[2]) if held[2] else held[1]
        key = self.number(edge[0])
        return (key, edge[1]) if edge[1] else key

    def root(self, root: Any) -> Output | None:
        if isinstance(root, Tensor):
            return self.output(root)
        key = self.number(root.node)
        return (key, root.output_nr) if root.output_nr else key

    def is_leaf(self, tensor: Tensor) -> bool:
        return tensor._edge is LEAF

    def base(self, tensor: Tensor) -> Tensor | None:
        return tensor._base

    def free_base(self, tensor: Tensor) -> Tensor | None:
        """What a tensor is a view of, if that has no gradient."""
        base = tensor._base
        return base if base is not None and base._edge is None else None

    def like(self, tensor: Tensor) -> Any:
        return output_meta(tensor._raw)

    def refresh(self, tensor: Tensor) -> None:
        with contextlib.suppress(RuntimeError):
            tensor.grad_fn  # noqa: B018  a view whose base was changed gets its new history only when asked

    def array(self, x: Any) -> Any:
        return getattr(x, "_raw", x)

    def calls(self) -> Sequence[ModuleCall]:
        return thread_state.calls

    def optimizers(self) -> type:
        return Optimizer

    # -- nodes

    def numbers(self, nodes: Iterable[Node]) -> list[int]:
        known, tensors, found = self.known, self.listener.tensors, []
        for node in nodes:
            key = node._seq
            if key not in known:  # what `number` would find, sooner
                held = tensors.get(id(node.variable)) if isinstance(node, AccumulateGrad) else None
                same = held is not None and held[1] >= 0 and held[0]() is node.variable  # type: ignore[attr-defined]
                key = held[1] if held is not None and same else self.number(node)
            found.append(key)
        return found

    def number(self, node: Node) -> int:
        if node.__class__ is AccumulateGrad:
            current = thread_state.current
            parent = None if current is None else current._seq
            return self.listener.leaf(node._seq, node.variable, node.__class__, node._output_meta, parent)
        if node._seq not in self.known:
            self._meet(node)
        return node._seq

    def _meet(self, node: Node) -> None:
        """Tell of a node that was made before there was a listener, and of all behind it."""
        unseen, stack = {node._seq: node}, [node]
        while stack:
            for edge in stack.pop()._edges:
                if edge is not None and edge[0]._seq not in self.known and edge[0]._seq not in unseen:
                    unseen[edge[0]._seq] = edge[0]
                    stack.append(edge[0])
        for number in sorted(unseen):
            there = unseen[number]
            if isinstance(there, AccumulateGrad):
                self.number(there)
                continue
            positions = [None if edge is None else (self.number(edge[0]), edge[1]) for edge in there._edges]
            following = tuple([position if position is None or position[1] else position[0] for position in positions])
            args = tuple([output for output in following if output is not None])
            self.listener.earlier(number, weakref.ref(there), type(there), there._output_meta, following, args)

    def names(self, cls: type[Node]) -> tuple[str, str]:
        name, operation = cls.__name__, cls._operation
        if operation is not None:
            return name, operation.name
        function = getattr(cls, "_forward_cls", None)  # an operator of torch.library says what it is called
        return name, getattr(function, "_op_name", "") or name.removesuffix("Backward")

    def arguments(self, cls: Any, plain: Sequence[Any]) -> list[tuple[str, str]]:
        operation = cls if cls is None or isinstance(cls, Operation) else cls._operation
        if operation is None:
            return []
        named = zip(operation.schema.parameters, plain, strict=False)
        return [
            (each.name, shown(x)) for each, x in named if x is not None and not (x is each.default or x == each.default)
        ]

    def formula(self, cls: type[Node]) -> tuple[str, ...]:
        return formula_of(cls)

    # -- measures

    def operation_of(self, node: Node) -> Any:
        """The operation that leaves such nodes; None for a custom Function."""
        return node._operation

    def runs(self) -> Node | None:
        """The node whose backward is running."""
        return thread_state.current

    def adds_up(self, node: Node) -> bool:
        """Whether the node adds up the gradient of a leaf."""
        return node.__class__ is AccumulateGrad

    def arrays_made(self, node: Node, outputs: Iterable[Tensor]) -> Iterator[Any]:
        """The arrays of what an operation made."""
        for nr, output in enumerate(outputs):
            raw = output._raw
            if nr == 0 and output._base is not None and _shape(raw) != _shape_of(node) == _shape(output._base._raw):
                raw = output._base._raw  # a change of a view is one of its base
            yield raw

    def gradients(self, roots: Sequence[Tensor], *, custom: bool) -> tuple[list[Tensor], Sequence[Tensor | None]]:
        return derive(self, roots, custom=custom)

    def inside(self, node: Node, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """What gathers the operations that the backward of a node runs; None where it is not made of such."""
        return Inside.of(node, grad, summary)


def _shape(raw: Any) -> tuple[int, ...]:
    return tuple(raw.shape)


def _shape_of(node: Node) -> tuple[int, ...] | None:
    return node._output_meta[0] if isinstance(node._output_meta, tuple) else () if not node._multiple else None
