"""PyTorch as a recorder hears it: operations as they are dispatched, nodes as plain data."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from autograph_cli.engines import pytorch_hooks as hooks, pytorch_marks as marks, pytorch_passes as passes
from autograph_cli.engines.protocol import Applied, Inside, Listener, ModuleCall, Output, of_changed
from autograph_cli.engines.pytorch_compiled import inside_of, watch
from autograph_cli.engines.pytorch_derive import derive, unseen
from autograph_cli.engines.pytorch_node_types import (
    COPY_SLICES,
    Like,
    NodeType,
    arguments,
    changes_argument,
    dispatched,
    flops,
    formula_of,
    hides_changes,
    is_factory,
    is_random,
    like_all,
    like_applied,
    like_of,
    names_of,
    types,
    writes_out,
)
from autograph_cli.engines.pytorch_order import is_leaf, nodes_run
from autograph_cli.engines.pytorch_private import (
    MARK,
    UNASKED,
    asked,
    batch_of,
    current_node,
    history,
    is_readable,
    is_recomputing,
    is_transforming,
    own_methods,
    sequence_number,
    uncounted,
    untouched,
)
from autograph_cli.engines.pytorch_saved import (
    Looked,
    bytes_of,
    constants,
    kept_outputs,
    leaf_bytes,
    look,
    saved,
    saved_constants,
    shape_of,
    storages,
)

_numbers = itertools.count(1)
Given = Sequence[tuple[Any, Any]]
"""The tensors that something was computed from, each with the history that it had before it was changed, if it was."""


class Note:
    """What is noted of a node. It lives in the node's metadata, so it dies with the node."""

    __slots__ = ("__weakref__", "like", "looked", "node_type", "number")

    def __init__(self, number: int, node_type: NodeType, like: Like) -> None:
        self.number, self.node_type, self.like = number, node_type, like
        self.looked: Looked | None = None

    def __repr__(self) -> str:
        return "noted"


class _Thread(threading.local):
    """Of this thread: from which sequence number on its nodes were told of as they were made."""

    since = 0
    begun = False


class PyTorch:
    """A connection of one recorder to the installed PyTorch; see `protocol.Engine`."""

    tensor = torch.Tensor
    name = "pytorch"
    folders = (os.path.join(os.path.dirname(torch.__file__), ""),)
    telling: tuple[str, ...] = ("tell",)
    flops = staticmethod(flops)
    tensors_in = staticmethod(hooks.tensors_in)
    types = staticmethod(types)
    names = staticmethod(names_of)
    formula = staticmethod(formula_of)
    saved = staticmethod(saved)
    saved_constants = staticmethod(saved_constants)
    arguments = staticmethod(arguments)
    kept_outputs = staticmethod(kept_outputs)
    storages = staticmethod(storages)
    leaf_bytes = staticmethod(leaf_bytes)
    bytes_of = staticmethod(bytes_of)

    def __init__(self, listener: Listener) -> None:
        self.listener, self.known = listener, listener.known
        self.measured = False
        self.watcher: Callable[..., None] | None = None
        self.changing: Callable[..., None] | None = None
        self._thread = _Thread()
        self._operation: Any = None
        """The operation that is being told."""

    @staticmethod
    def kept() -> contextlib.AbstractContextManager[None]:
        """Whatever the block changes of PyTorch's settings stays: the process is the script's."""
        return contextlib.nullcontext()

    # -- listening

    between = staticmethod(uncounted)
    replaced = own_methods

    def start(self) -> None:
        passes.attach(self)

    def stop(self) -> None:
        passes.detach(self)

    def follow(self, on: bool) -> None:
        """Whether what comes now is told; what is not costs next to nothing."""
        hooks.follow(self, on)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before = passes.attach(self)
        try:
            yield
        finally:
            passes.detach(self, before)

    def begin_thread(self) -> None:
        """Nodes that this thread makes from now on are told of."""
        self._thread.since, self._thread.begun = sequence_number(), True

    def end_thread(self) -> None:
        """Of what this thread makes from now on nobody is told."""
        self._thread.since = sys.maxsize

    def watch_operations(
        self, watcher: Callable[..., None] | None, changing: Callable[..., None] | None = None
    ) -> None:
        self.watcher, self.changing = watcher, changing

    def tell(self, event: Callable[..., Any], *about: Any) -> Any:
        """Tell under the lock; an error of the listener's own is not the script's."""
        with self.listener.lock, untouched():
            try:
                return event(*about)
            except Exception as error:
                self.listener.failed(error)
        return None

    # -- operations

    def computed(self, operation: Any, given: Given, plain: Any, result: Any, changed: bool) -> None:
        """An operation was computed that made a node; it may have changed a tensor that it was given."""
        self._operation = operation
        result = tuple(map(batch_of, result)) if isinstance(result, tuple) else batch_of(result)
        outputs = [x for x in hooks.tensors_in((result,)) if x.requires_grad]
        nodes: dict[Any, list[Any]] = {}
        for output in outputs:
            whole = output._base if changed and output._is_view() else None
            node = history(output if whole is None else whole)
            if node is not None and MARK not in node.metadata:
                nodes.setdefault(node, []).append(output)
        told = changed and not hides_changes(current_node())
        for node, made in nodes.items():
            newest = self.listener.count
            alone = len(nodes) == 1 and node.name() != COPY_SLICES
            # What changes a view is told as a change of its base.
            like = like_all(result, node) if alone else None
            following = self._following(node)
            self._tell_node(
                node,
                following,
                self._before(given) if alone or node.name() == COPY_SLICES else (),
                NodeType.of(node, dispatched(operation), told),
                like,
                plain,
            )
            if like is not None:
                self._also(result, node)
            if self.measured:
                self.listener.made(self.number(node), node, made, newest)
        for output in outputs if changed else ():
            if output._is_view() and history(output) is not None:  # it got a new history, of its base
                self.number(output.grad_fn)
        self._operation = None

    def applies(self, given: Iterable[Any]) -> Applied:
        """A custom Function is about to run, which may change what it is given: what that is before."""
        return [(x, self._take(x), None if x._base is None else self.told(x._base)) for x in given]

    def applied(self, name: str, given: Applied, result: Any) -> None:
        """A custom Function was applied, or an alias made."""
        outputs = list(hooks.tensors_in((result,)))
        self.listener.absorbed(of_changed(given, outputs))
        changed = {id(x) for x, *_ in given}
        for output in outputs:
            whole = output._base if output._is_view() and id(output) in changed else output
            node = history(whole) if output.requires_grad else None
            if node is not None and MARK not in node.metadata:
                newest = self.listener.count
                args = tuple([before for _, before, _ in given])
                node_type = NodeType.of(node, name if node.name() == COPY_SLICES else "")
                self._tell_node(node, self._following(node), args, node_type, like_applied(result, node))
                self._also(result, node)
                if self.measured:
                    self.listener.made(self.number(node), node, [output], newest)
            if whole is not output and history(output) is not None:  # it got a new history, of its base
                self.number(output.grad_fn)

    def _also(self, result: Any, node: Any) -> None:
        """Tell of the results without a gradient of what made a node."""
        for nr, x in enumerate(result if isinstance(result, tuple) else ()):
            if isinstance(x, torch.Tensor) and not x.requires_grad:
                self.listener.also(x, self.number(node), nr)

    def untracked(self, operation: Any, given: Given, plain: Any, result: Any) -> None:
        """An operation was computed that made no node; what a backward pass computes on its way is not told."""
        outputs = list(hooks.tensors_in((result,)))
        changes = changes_argument(operation)
        if not outputs or (not changes and any(history(x) is not None for x in outputs)):
            return
        name, first = dispatched(operation), outputs[0]
        if changes:
            made, drawn = self.listener.drawn.get(id(first), (None, ""))
            fresh = made is not None and made() is first and len(given) == 1
            if fresh and is_random(drawn) and not is_random(name):
                return  # noise that is scaled is noise still
            fresh &= is_random(name)
            whole = first if first._base is None else first._base
            if whole.requires_grad and not self.listener.minds(whole):
                return
            if not fresh and writes_out(operation):
                return self._written(operation, given[: -len(outputs)], plain, outputs)
            name, outputs = f"{name.rstrip('_')}_", [whole]
        else:
            fresh = is_factory(operation)
        if fresh:
            self.listener.drawn[id(first)] = weakref.ref(first), name.rstrip("_")
            return
        args = self._before(given, asked)
        self._operation = operation
        self.listener.untracked(name, NodeType("", name), outputs, args, plain, _cut(given, args))
        self._operation = None

    def _written(self, operation: Any, given: Given, plain: Any, outputs: Sequence[Any]) -> None:
        """An operation put its results into tensors that it was given for them: what it made is copied there."""
        name, made = dispatched(operation), [torch.empty_like(x) for x in outputs]
        args, taken = tuple([self._take(x) for x, _ in given]), [self._take(x) for x in outputs]
        self.listener.untracked(name, NodeType("", name), made, args, plain, _cut(given, args))
        for x, before, source in zip(outputs, taken, made, strict=True):
            whole = x if x._base is None else x._base
            self.listener.untracked("copy_", NodeType("", "copy_"), [whole], (before, self._take(source)), None, ())

    def aliased(self, operation: str, tensor: Any, result: Any) -> None:
        """An alias of a tensor was made, which is seen at the method: see `pytorch_private.watch_methods`."""
        if result.requires_grad:
            self.applied(operation, self.applies((tensor,)), result)
        elif operation == "detach" and current_node() is None:  # an object of a subclass is the tensor itself
            node_type = NodeType("", operation)
            taken = (self._take(tensor, read=asked),)
            self.listener.untracked(operation, node_type, [result], taken, None, _cut([(tensor, None)], taken))
            self.listener.shares(result, tensor)

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
            weakref.ref(note),
            node_type,  # type: ignore[arg-type]
            note.like,
            following,
            args or tuple([output for output in following if output is not None]),
            "",
            self.calls(),
            constants(note.looked),
            plain,
        )

    def _note(self, node: Any, node_type: NodeType, like: Like | None = None) -> Note:
        note = node.metadata[MARK] = Note(next(_numbers), node_type, like or like_of(node))
        note.looked = look(node, lambda tensor: self._kept_output(node, note.number, tensor))
        return note

    def _kept_output(self, node: Any, number: int, tensor: Any) -> Output | None:
        """The output that a kept tensor is: of the node itself, which is not known yet, or of another."""
        if history(tensor) is node:
            return (number, tensor.output_nr) if tensor.output_nr else number
        return self.output(tensor)

    def _following(self, node: Any) -> tuple[Output | None, ...]:
        found: list[Output | None] = []
        for following, nr in node.next_functions:
            number = None if following is None else self.number(following)
            found.append((number, nr) if nr and number is not None else number)
        return tuple(found)

    # -- tensors

    def _before(self, given: Given, read: Callable[[Any], Any] = history) -> tuple[Output, ...]:
        """What an operation was given, which may have changed it."""
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
        held: Any = self.listener.tensors.get(id(tensor))
        if (
            held is None
            or held[0]() is not tensor
            or (not tensor.requires_grad and held[1] >= 0 and not self.known[held[1]].is_operation)
        ):
            return None
        return self.listener.held(tensor)

    def _leaf(self, tensor: Any) -> int:
        return self.listener.leaf(next(_numbers), tensor, NodeType("AccumulateGrad"), self.like(tensor))  # type: ignore[arg-type]

    def output(self, tensor: Any) -> Output | None:
        with untouched():
            return self._output(tensor)

    def _output(self, tensor: Any) -> Output | None:
        tensor = batch_of(tensor)
        node = asked(tensor)
        if node is None:
            return self._held(tensor)
        note = node.metadata.get(MARK)
        if (note is None or note.number not in self.known) and node._sequence_nr() < self._thread.since:
            return None  # made while nobody listened, and so of an older step
        number = self.number(node)
        return (number, tensor.output_nr) if tensor.output_nr else number

    def recomputing(self) -> bool:
        return is_recomputing()

    def told(self, tensor: Any) -> Output | None:
        node = history(tensor)
        if node is None:
            return self._held(tensor)
        note = node.metadata.get(MARK)
        if note is None or note.number not in self.known:
            return None
        return (note.number, tensor.output_nr) if tensor.output_nr else int(note.number)

    def root(self, root: Any) -> Output | None:
        if isinstance(root, torch.Tensor):
            return self._take(root) if root.requires_grad else None
        number = self.number(root.node)
        return (number, root.output_nr) if root.output_nr else number

    def is_leaf(self, tensor: Any) -> bool:
        with untouched(), contextlib.suppress(RuntimeError):  # of a view that PyTorch refuses to tell of
            return bool(tensor.requires_grad and tensor.is_leaf)
        return False

    def is_tracked(self, tensor: Any) -> bool:
        return bool(tensor.requires_grad)

    def inner(self, value: Any) -> Any:
        with untouched():
            return batch_of(value)

    def base(self, tensor: Any) -> Any:
        return tensor._base

    def free_base(self, tensor: Any) -> Any:
        base = tensor._base
        return base if base is not None and not base.requires_grad else None

    def like(self, tensor: Any) -> Like:
        return ((tensor.dtype, shape_of(tensor), tensor.device),)

    def refresh(self, tensor: Any) -> None:
        with untouched():
            history(tensor)  # a view whose base was changed gets its new history only when asked

    def calls(self) -> Sequence[ModuleCall]:
        return hooks.calls()

    def parent(self) -> int | None:
        current = current_node()
        return None if current is None else self.number(current)

    def optimizers(self) -> type | None:
        found: type = torch.optim.Optimizer
        return found

    # -- nodes

    def numbers(self, nodes: Iterable[Any]) -> list[int]:
        return list(map(self.number, nodes))

    def number(self, node: Any) -> int:
        if is_leaf(node):
            variable = node.variable
            known = self._held(variable)
            return known if known.__class__ is int and known >= 0 else self._leaf(variable)
        note = node.metadata.get(MARK)
        if note is None or note.number not in self.known:
            self._meet(node)
            note = node.metadata[MARK]
        return int(note.number)

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
            if newest or UNASKED in there.metadata:  # made by no operation, as a view's new history is
                self._tell_node(there, self._following(there), (), NodeType.of(there))
                continue
            following = self._following(there)
            note: Any = there.metadata.get(MARK) or self._note(there, NodeType.of(there))
            args = tuple([place for place in following if place is not None])
            self.listener.earlier(note.number, weakref.ref(note), note.node_type, note.like, following, args)

    def _is_known(self, node: Any) -> bool:
        if is_leaf(node):
            return True
        note = node.metadata.get(MARK)
        return note is not None and note.number in self.known

    def look(self, nodes: Iterable[Any]) -> list[Any]:
        return [None if note is None else note.looked for note in nodes]

    def will_run(self, roots: Sequence[Any], inputs: Sequence[Any] | None, kind: str) -> list[Any]:
        """The nodes that a pass is going to run."""
        starts = [root.grad_fn if isinstance(root, torch.Tensor) else root.node for root in roots]
        given = inputs if inputs else None
        return nodes_run([node for node in starts if node is not None], given, captures=kind == "grad")

    def was_freed(self, node: Any) -> bool:
        """Whether an earlier pass has freed what a node saved."""
        return self.listener.was_freed(self.number(node))

    # -- measures

    @property
    def namespace(self) -> Any:
        return torch

    def call(self, operation: Any, *args: Any, **words: Any) -> Any:
        return operation(*args, **words)

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        passes.detach(self)
        try:
            with hooks.unheard(), unseen():
                yield
        finally:
            passes.attach(self)

    def operation_of(self, node: Any) -> Any:
        return self._operation

    late: Callable[[], int] | None = None
    mark, since = staticmethod(marks.mark), staticmethod(marks.since)

    def queued(self) -> Callable[[], int] | None:
        return self.late

    def runs(self) -> Any:
        return current_node()

    def adds_up(self, node: Any) -> bool:
        return is_leaf(node)

    def hooks(self, tensor: Any) -> list[tuple[str, Any]]:
        """The hooks that Python knows of."""
        kinds = {
            "register_hook": "_backward_hooks",
            "register_post_accumulate_grad_hook": "_post_accumulate_grad_hooks",
        }
        return [(kind, hook) for kind in kinds for hook in (getattr(tensor, kinds[kind], None) or {}).values()]

    def memory(self, x: Any) -> tuple[Any, int] | None:
        """The storage of a tensor."""
        if not is_readable(x) or x.layout is not torch.strided:
            return None
        with untouched():
            storage = x.untyped_storage()
            return (storage, storage.nbytes()) if storage.nbytes() else None

    def device(self, tensor: Any) -> str:
        """The name of the device of a tensor or a gradient."""
        with untouched():
            return str(tensor.device)

    def array(self, x: Any) -> Any:
        """The numbers of a tensor, as NumPy has them."""
        if not is_readable(x):
            return None
        with hooks.unheard(), untouched(), torch.no_grad():
            bare = torch._C.TensorBase.detach(x)  # the method that scripts call is heard
            dense = bare.to_dense() if x.layout is not torch.strided else bare
            known = dense.float() if dense.dtype is torch.bfloat16 else dense
            return known.numpy(force=True)

    is_transforming = staticmethod(is_transforming)

    def arrays_made(self, node: Any, outputs: Iterable[Any]) -> Iterator[Any]:
        return map(self.array, outputs)

    def gradients(self, roots: Sequence[Any], *, custom: bool) -> tuple[Sequence[Any], Sequence[Any]]:
        with untouched():
            return derive(self, roots, custom=custom)

    def prepare_inside(self) -> None:
        watch()

    def inside(self, node: Any, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """PyTorch tells what the backward of a node is made of where it has compiled it."""
        return inside_of(node)


def _cut(given: Given, args: Sequence[Output]) -> list[Output]:
    """Those of the arguments that require a gradient."""
    return [output for (x, _), output in zip(given, args, strict=True) if x.requires_grad]
