"""The built-in engine as a recorder hears it: its observer slot, and what its tensors and nodes say of themselves."""

from __future__ import annotations

import contextlib
import importlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct

from autograph_cli.engines.builtin_derive import gradients as derive, unseen
from autograph_cli.engines.builtin_formulas import formula_of
from autograph_cli.engines.builtin_inside import Inside
from autograph_cli.engines.builtin_living import behind, fast
from autograph_cli.engines.builtin_saved import (
    as_given,
    bytes_of,
    constants,
    kept_outputs,
    leaf_bytes,
    look,
    plain_arguments,
    saved,
    saved_constants,
    storages,
    traits,
    types,
)
from autograph_cli.engines.protocol import (
    Applied,
    BackwardCall,
    CollectiveCall,
    Listener,
    ModuleCall,
    Output,
    key_of,
    of_changed,
    shown,
    uncounted,
)
from autograph_cli.torch._arrays import cuda
from autograph_cli.torch._arrays.backends import ELSEWHERE, WITHOUT_MEMORY, device_of
from autograph_cli.torch._arrays.cuda import on_host
from autograph_cli.torch._arrays.stand_in import StandIn
from autograph_cli.torch._core.dispatch import run
from autograph_cli.torch._core.flops import count
from autograph_cli.torch._core.modes import kept
from autograph_cli.torch._core.node import LEAF, AccumulateGrad, Node, View, marks_leaf, output_meta
from autograph_cli.torch._core.operation import Operation
from autograph_cli.torch._core.state import process_state, thread_state
from autograph_cli.torch._core.tensor import Tensor, Wrapped
from autograph_cli.torch._core.views import CopySlices
from autograph_cli.torch._core.wrapped_numbers import is_wrapped_number


class Change(Struct, frozen=True):
    """What the change of a view was given that is no tensor, and the class of its node."""

    cls: type[Node]
    plain: Any
    args: tuple[Any, ...]
    """The view, and what else it was changed by."""


def _read(raw: Any) -> Any:
    """An array whose elements can be read; None for one sample of a batch, which has none of its own."""
    return None if isinstance(raw, StandIn) else on_host(raw)


class Builtin:
    """A connection of one recorder to the engine; see `protocol.Engine`."""

    tensor = Tensor
    name = "autograph"
    folders: tuple[str, ...] = ()
    replaced: ClassVar[dict[str, Any]] = {}
    telling: tuple[str, ...] = ("applies", "created", "untracked", "begins", "ends")
    look = staticmethod(look)
    saved = staticmethod(saved)
    saved_constants = staticmethod(saved_constants)
    types = staticmethod(types)
    kept = staticmethod(kept)
    kept_outputs = staticmethod(kept_outputs)
    storages = staticmethod(storages)
    leaf_bytes = staticmethod(leaf_bytes)
    bytes_of = staticmethod(bytes_of)

    def __init__(self, listener: Listener) -> None:
        self.listener, self.known = listener, listener.known
        self.measured = False
        self._change: Change | None = None
        """The change in place that was told last, of a view."""

    # -- listening

    between = staticmethod(uncounted)

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

    def watch_operations(
        self, watcher: Callable[..., None] | None, changing: Callable[..., None] | None = None
    ) -> None:
        if watcher is not None:
            process_state.special += 1
        elif process_state.op_hook is not None:
            process_state.special -= 1
        process_state.op_hook, process_state.change_hook = watcher, changing

    # -- the engine's slot

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
        """A node was made: by far the most frequent event, so what is frequent is looked up here."""
        if thread_state.unobserved:
            return
        listener, known = self.listener, self.known
        with listener.lock:
            try:
                newest = listener.count
                following: list[Output | None] = []
                for edge in node._ag_edges:
                    if edge is None:
                        following.append(None)
                    else:
                        there, nr = edge
                        key = there._ag_seq
                        if key not in known:
                            key = self.number(there)
                        following.append((key, nr) if nr else key)
                cls = node.__class__
                takes_edges, forgets_plain, take, _ = traits(cls)
                op, plain = "", forgets_plain
                next: tuple[Any, ...] = tuple(following)
                if applied is not None:
                    listener.absorbed(of_changed(applied, outputs))
                    args = tuple([before for _, before, _ in applied])
                elif (
                    takes_edges
                    and not listener.changed
                    and None not in next
                    and inputs[0] is not (made := outputs[0])
                    and (edge := made._ag_edge) is not None
                    and (edge.__class__ is not tuple or edge[0] is node)
                ):  # a new tensor, with no other history than this node
                    args = next
                else:
                    args, op, wrapped = self._given(node, inputs, outputs, next)
                    plain = plain or wrapped
                listener.operation(
                    node._ag_seq,
                    weakref.ref(node),
                    cls,
                    node._ag_output_meta,
                    next,
                    args,
                    op,
                    thread_state.calls,
                    None if take is None or (kept := node._ag_saved).__class__ is not tuple else constants(take(kept)),
                    self._plain(cls, inputs) if plain else None,
                )
                if len(outputs) > 1:
                    for nr, output in enumerate(outputs):
                        if output._ag_edge is None:
                            listener.also(output, node._ag_seq, nr)
                if self.measured:
                    listener.made(node._ag_seq, node, outputs, newest)
            except Exception as error:
                listener.failed(error)

    def _given(
        self, node: Node, inputs: Sequence[Any], outputs: tuple[Tensor, ...], following: tuple[Output | None, ...]
    ) -> tuple[tuple[Any, ...], str, bool]:
        """What an operation was computed from, its name if it changed a tensor in place, and whether a number was
        wrapped."""
        known, first = self.known, outputs[0] if outputs else None
        args: list[Any] = []
        op, plain = "", False
        for x in inputs:
            if isinstance(x, Tensor):
                edge = x._ag_edge
                if (
                    edge.__class__ is View
                    and edge.edge.__class__ is tuple
                    and (x is first or edge.edge in node._ag_edges)
                ):
                    edge = edge.edge  # what the view was before this change of its memory
                if self.listener.changed and x is not first:
                    if edge is x._ag_edge:
                        plain |= self._take(x, args)
                    else:
                        args.append(self._earlier(x, edge))
                elif edge.__class__ is tuple and (key := edge[0]._ag_seq) in known:
                    args.append((key, edge[1]) if edge[1] else key)
                elif edge is None and (held := self.listener.held(x)) is not None:
                    args.append(held)
                else:
                    plain |= self._take(x, args)
                if x is first:
                    op = self._in_place(node)
            elif x.__class__ is tuple or isinstance(x, list):
                for item in getattr(x, "given", x):
                    if isinstance(item, Tensor):
                        self._take(item, args)
        if first is not None:
            edge = first._ag_edge
            if op:  # the tensor may have its new history already
                again = node._ag_seq in map(key_of, args)
            elif edge.__class__ is tuple:
                again = edge[0] is not node
            else:
                again = edge is None and 0 in node._ag_differentiable and not _is_undefined(node)
            if again:
                op = op or self._in_place(node)
                whole = [output for output in following if output is not None]
                args = list(self._change.args) if isinstance(node, CopySlices) and self._change else whole
        return tuple(args), op, plain

    def untracked(self, name: str, op: Operation | None, inputs: Sequence[Any], outputs: Sequence[Tensor]) -> None:
        """An operation ran that left no node; what a backward pass computes on its way is not told."""
        if thread_state.walk is not None:
            return
        with self.listener.lock:
            try:
                if outputs[0].requires_grad and name.endswith("_") and not self.listener.minds(outputs[0]):
                    return
                if not inputs:
                    self.listener.drawn[id(outputs[0])] = weakref.ref(outputs[0]), name
                    return
                args: list[Output] = []
                cut: list[Output] = []
                plain = False
                for x in inputs:
                    if isinstance(x, Tensor):
                        edge, before = x._ag_edge, len(args)
                        if x is inputs[0] and edge.__class__ is View and edge.edge.__class__ is tuple:
                            args.append(self._earlier(x, edge.edge))  # a view has its new history already
                        else:
                            plain |= self._take(x, args)
                        cut += args[before:] if edge is not None else ()
                    elif x.__class__ is tuple or isinstance(x, list):
                        for item in getattr(x, "given", x):
                            plain |= item is None
                            if isinstance(item, Tensor):
                                self._take(item, args)
                                cut += args[-1:] if item._ag_edge is not None else ()
                    elif x is not None:
                        plain = True
                given = plain_arguments(inputs) if plain else None
                self.listener.untracked(name, op, outputs, tuple(args), given, cut)
                if name == "detach":
                    self.listener.shares(outputs[0], inputs[0])
            except Exception as error:
                self.listener.failed(error)

    def collective(self, call: Any, tensors: Sequence[Any]) -> None:
        group = call.group
        peer = group.ranks[call.peer] if call.between_two and call.peer is not None else None
        told = CollectiveCall(call.name, group.group_name, group.ranks, call.number, tensors, call.bytes, peer)
        self._tell(self.listener.collective, told)

    def begins(self, call: BackwardCall) -> None:
        self._tell(self.listener.begins, call)

    def ends(self, call: BackwardCall) -> None:
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
        """What an operation was given that is no tensor; of a change of a view, what the change was given."""
        return self._change if cls is CopySlices else plain_arguments(inputs)

    def _in_place(self, node: Node) -> str:
        """What changed a tensor in place; a change of a view is one with the node that it gives to the base."""
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

    # -- tensors

    def output(self, tensor: Tensor) -> Output | None:
        edge = tensor._ag_edge
        if edge.__class__ is View:
            fresh = edge.edge is not None and tensor._ag_counter is not None and tensor._ag_counter[0] == edge.version
            edge = edge.edge if fresh else None
        if edge.__class__ is not tuple:
            held = self.listener.tensors.get(id(tensor))
            if held is not None and held[0]() is not tensor:
                held = None
            if edge is LEAF and (held is None or held[1] < 0):
                meta = tensor._ag_meta
                accumulator = None if meta is None or meta.accumulator is None else meta.accumulator()
                if accumulator is not None:
                    return self.number(accumulator)
            return None if held is None else self.listener.held(tensor)
        key = edge[0]._ag_seq
        if key not in self.known:
            key = self.number(edge[0])
        return (key, edge[1]) if edge[1] else key

    def recomputing(self) -> bool:
        return thread_state.recomputing

    def told(self, tensor: Tensor) -> Output | None:
        edge = tensor._ag_edge
        return None if edge.__class__ is tuple and edge[0]._ag_seq not in self.known else self.output(tensor)

    def root(self, root: Any) -> Output | None:
        if isinstance(root, Tensor):
            return self.output(root)
        key = self.number(root.node)
        return (key, root.output_nr) if root.output_nr else key

    def is_leaf(self, tensor: Tensor) -> bool:
        return marks_leaf(tensor._ag_edge)

    def is_tracked(self, tensor: Tensor) -> bool:
        return tensor.requires_grad

    def inner(self, value: Any) -> Any:
        while issubclass(type(value), Wrapped):  # `isinstance` would ask the value, by code of the script's own
            value = value._ag_inner
        return value

    def base(self, tensor: Tensor) -> Tensor | None:
        return tensor._base

    def free_base(self, tensor: Tensor) -> Tensor | None:
        """What a tensor is a view of, if that has no gradient."""
        base = tensor._base
        return base if base is not None and base._ag_edge is None else None

    def like(self, tensor: Tensor) -> Any:
        return output_meta(tensor._ag_raw)

    def refresh(self, tensor: Tensor) -> None:
        with contextlib.suppress(RuntimeError):
            tensor.grad_fn  # noqa: B018  a view whose base was changed gets its new history only when asked

    def hooks(self, tensor: Tensor) -> list[tuple[str, Any]]:
        """The hooks of a tensor; of a result its node has them."""
        meta, node = tensor._ag_meta, tensor.grad_fn
        extra = None if node is None else node._ag_extra
        own = None if meta is None else meta.hooks
        own = (extra.tensor_hooks or {}).get(tensor.output_nr) if extra is not None else own
        post = None if meta is None else meta.post_hooks
        return [
            *(("register_hook", hook) for hook in (own or {}).values()),
            *(("register_post_accumulate_grad_hook", hook) for hook in (post or {}).values()),
        ]

    def array(self, x: Any) -> Any:
        return _read(getattr(x, "_ag_raw", x))

    @staticmethod
    def is_transforming() -> bool:
        return bool(thread_state.levels)

    def calls(self) -> Sequence[ModuleCall]:
        return thread_state.calls

    def optimizers(self) -> type | None:
        module = sys.modules.get("autograph_cli.torch.optim.optimizer")
        return None if module is None else module.Optimizer

    # -- nodes

    def numbers(self, nodes: Iterable[Node]) -> list[int]:
        known, number = self.known, self.number
        return [key if (key := node._ag_seq) in known else number(node) for node in nodes]

    def number(self, node: Node) -> int:
        if node.__class__ is AccumulateGrad:
            variable = node.variable
            held = self.listener.tensors.get(id(variable))
            if held is not None and held[1] >= 0 and held[0]() is variable:
                return held[1]
            return self.listener.leaf(node._ag_seq, variable, node.__class__, node._ag_output_meta)
        if node._ag_seq not in self.known:
            self._meet(node)
        return node._ag_seq

    def parent(self) -> int | None:
        current = thread_state.current
        return None if current is None else current._ag_seq

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

    def _tell_earlier(self, met: list[Node]) -> None:
        known, earlier, ref = self.known, self.listener.earlier, weakref.ref
        for there in met:
            cls = there.__class__
            if cls is AccumulateGrad:
                self.number(there)
                continue
            outputs: list[Output | None] = []
            for edge in there._ag_edges:
                if edge is None:
                    outputs.append(None)
                else:
                    before, nr = edge
                    key = before._ag_seq
                    if key not in known:
                        key = self.number(before)
                    outputs.append((key, nr) if nr else key)
            following: Any = tuple(outputs)
            args = tuple([output for output in outputs if output is not None]) if None in outputs else following
            earlier(there._ag_seq, ref(there), cls, there._ag_output_meta, following, args)

    def names(self, cls: type[Node]) -> tuple[str, str]:
        name, operation = cls.__name__, cls._ag_operation
        if operation is not None:
            return name, operation.name
        function = getattr(cls, "_forward_cls", None)  # an operator of torch.library says what it is called
        return name, getattr(function, "_op_name", "") or name.removesuffix("Backward")

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

    def formula(self, cls: type[Node]) -> tuple[str, ...]:
        return formula_of(cls)

    # -- measures

    def queued(self) -> Callable[[], int] | None:
        return thread_state.queued

    mark, since = staticmethod(cuda.mark), staticmethod(cuda.since)

    @property
    def namespace(self) -> Any:
        return importlib.import_module("autograph_cli.torch")

    def call(self, operation: Operation, *args: Any) -> Any:
        return run(operation, args)

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        hook, process_state.op_hook = process_state.op_hook, None
        try:
            with unseen(None, ()):
                yield
        finally:
            process_state.op_hook = hook

    def operation_of(self, node: Node | Operation | None) -> Any:
        """The operation that leaves such nodes; None for a custom Function."""
        return node if node is None or isinstance(node, Operation) else node._ag_operation

    def flops(self, operation: Operation, args: Sequence[Any], outputs: Any) -> int:
        """The floating-point operations that an operation took."""
        return count(operation, args, outputs)

    def memory(self, x: Any) -> tuple[Any, int] | None:
        """The array that owns the memory of a tensor; of a single number there is none."""
        raw = getattr(x, "_ag_raw", x)
        while isinstance(raw, np.ndarray) and isinstance(raw.base, np.ndarray):
            raw = raw.base
        elsewhere = ELSEWHERE.get(raw.__class__)
        if elsewhere is not None and elsewhere is not WITHOUT_MEMORY:
            raw = elsewhere.owner(raw)
        elif not isinstance(raw, np.ndarray):
            return None
        return raw, raw.nbytes

    def device(self, tensor: Any) -> str:
        """The name of the device of a tensor or a gradient."""
        return str(device_of(getattr(tensor, "_ag_raw", tensor)))

    def tensors_in(self, values: Iterable[Any]) -> Iterator[Tensor]:
        """The tensors among arguments or results."""
        for x in values:
            if isinstance(x, Tensor):
                yield x
            elif isinstance(x, (tuple, list)):
                yield from self.tensors_in(x)

    def runs(self) -> Node | None:
        """The node whose backward is running."""
        return thread_state.current

    def adds_up(self, node: Node) -> bool:
        """Whether the node adds up the gradient of a leaf."""
        return node.__class__ is AccumulateGrad

    def arrays_made(self, node: Node, outputs: Iterable[Tensor]) -> Iterator[Any]:
        """The arrays of what an operation made."""
        for nr, output in enumerate(outputs):
            raw = output._ag_raw
            if nr == 0 and output._base is not None and _shape(raw) != _shape_of(node) == _shape(output._base._ag_raw):
                raw = output._base._ag_raw  # a change of a view is one of its base
            yield _read(raw)

    def gradients(self, roots: Sequence[Tensor], *, custom: bool) -> tuple[list[Tensor], Sequence[Tensor | None]]:
        return derive(self, roots, custom=custom)

    def prepare_inside(self) -> None:
        """It is there when it is asked for."""

    def inside(self, node: Node, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """What gathers the operations that the backward of a node runs; None where it is not made of such."""
        return Inside.of(node, grad, summary)


def _shape(raw: Any) -> tuple[int, ...]:
    return tuple(raw.shape)


def _shape_of(node: Node) -> tuple[int, ...] | None:
    return node._ag_output_meta[0] if isinstance(node._ag_output_meta, tuple) else () if not node._ag_multiple else None


def _is_undefined(node: Node) -> bool:
    """Whether the first output of an operation is one that was not asked for."""
    return isinstance(node._ag_output_meta, list) and node._ag_output_meta[0] is None
