"""PyTorch as a recorder hears it: operations as they are dispatched."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from autograph_cli.engines.protocol import Applied, Listener, ModuleCall, Output, of_changed
from autograph_cli.engines.pytorch import hooks, passes
from autograph_cli.engines.pytorch.derive import derive, unseen
from autograph_cli.engines.pytorch.measuring import Measuring
from autograph_cli.engines.pytorch.node_types import (
    COPY_SLICES,
    NodeType,
    arguments,
    called,
    changes_argument,
    dispatched,
    hides_changes,
    is_factory,
    is_random,
    like_all,
    like_applied,
    writes_out,
)
from autograph_cli.engines.pytorch.nodes import Given, Nodes
from autograph_cli.engines.pytorch.notes import asked, note_of
from autograph_cli.engines.pytorch.order import nodes_run
from autograph_cli.engines.pytorch.private import (
    batch_of,
    current_node,
    history,
    is_recomputing,
    is_within_transform,
    sequence_number,
    untouched,
)
from autograph_cli.engines.pytorch.private_compiler import graph_breaks, uncounted
from autograph_cli.engines.pytorch.private_replaced import PARAMETER, own_methods
from autograph_cli.graph import Source

_NOT_OF_NUMBERS = ("size", "dtype", "layout", "device", "pin_memory")
"""Arguments of what makes tensors that tell of them, not of their numbers."""
OF_KERNELS = ("half_to_float", "input_dtype", "unsafe", "indices")
"""Arguments that no script gives, and those of which a node keeps the tensors."""


class PyTorch(Nodes, Measuring):
    """A connection of one recorder to the installed PyTorch; see `protocol.Engine`."""

    name = "pytorch"
    version = str(torch.__version__)
    cost = 1.6e-4
    folders = (os.path.join(os.path.dirname(torch.__file__), ""),)
    telling: tuple[str, ...] = ("tell",)
    between = staticmethod(uncounted)
    replaced = own_methods

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self.measured, self._broken = False, 0
        self.watcher: Callable[..., None] | None = None
        self.changing: Callable[..., None] | None = None
        self.earlier: dict[int, Any] = {}
        """The numbers that tensors had before the operation that is being told, which changed them without a word in
        its schema, by id."""
        self._operation: Any = None
        """The operation that is being told."""

    @staticmethod
    def kept() -> contextlib.AbstractContextManager[None]:
        """Keep nothing: PyTorch's settings stay as the block changes them, for the process is the script's."""
        return contextlib.nullcontext()

    def start(self) -> None:
        self._broken = len(graph_breaks())
        passes.attach(self)

    def breaks(self) -> list[tuple[str, Source]]:
        found = dict.fromkeys(graph_breaks()[self._broken :])
        return [
            (why, Source(file, line, linecache.getline(file, line).strip(), "" if name == "<module>" else name))
            for why, file, line, name in found
        ]

    def stop(self) -> None:
        passes.detach(self)

    def follow(self, on: bool) -> None:
        """Turn telling on or off; what is not told costs next to nothing."""
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
        """Tell nobody of what this thread makes from now on."""
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

    def passed(self, kept: bool) -> None:
        """Tell of the end of a pass that was not followed, of which the listener asks nothing."""
        with self.listener.lock:
            try:
                self.listener.passed(kept)
            except Exception as error:
                self.listener.failed(error)

    def computed(self, operation: Any, given: Given, plain: Any, result: Any, changed: bool) -> None:
        """An operation was computed that made a node; it may have changed a tensor that it was given."""
        self._operation = operation
        if is_within_transform():
            result = tuple(map(batch_of, result)) if isinstance(result, tuple) else batch_of(result)
        outputs = [x for x in hooks.tensors_in((result,)) if x.requires_grad]
        nodes: dict[Any, list[Any]] = {}
        for output in outputs:
            whole = output._base if changed and output._is_view() else None
            node = history(output if whole is None else whole)
            if node is not None and note_of(node) is None:
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
                tuple([pair for pair in plain if pair[0] not in OF_KERNELS]),
            )
            if like is not None:
                self._also(result, node)
            if self.measured:
                whole = list(result) if alone and isinstance(result, tuple) else made
                self.listener.made(self.number(node), node, whole, newest)
        for output in outputs if changed else ():
            if output._is_view() and history(output) is not None:  # it got a new history, of its base
                self.number(output.grad_fn)
        self._operation = None

    def applies(self, given: Iterable[Any]) -> Applied:
        """A custom Function is about to run, which may change what it is given: what that is before."""
        return [(x, self._take(x), None if x._base is None else self.told(x._base)) for x in given]

    def applied(self, name: str, given: Applied, result: Any) -> None:
        """A custom Function was applied, or an alias made."""
        outputs = hooks.tensors_in((result,))
        self.listener.absorbed(of_changed(given, outputs))
        changed = {id(x) for x, *_ in given}
        for output in outputs:
            whole = output._base if output._is_view() and id(output) in changed else output
            node = history(whole) if output.requires_grad else None
            if node is not None and note_of(node) is None:
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
        """An operation was computed that made no node; what a backward pass computes on its way is not told, nor are
        the updates of an optimizer."""
        if self.listener.updates and not torch.is_grad_enabled():
            return
        outputs = hooks.tensors_in((result,))
        changes = changes_argument(operation)
        if not outputs or (not changes and any(history(x) is not None for x in outputs)):
            return
        name, first = called(operation), outputs[0]
        if changes:
            drawn = self.listener.drawn.of(first) if len(given) == 1 else None
            if drawn is not None and is_random(drawn.op) and not is_random(name):
                if self.listener.noting:
                    self.listener.filled(first, f"{name.rstrip('_')}_", self._told(plain), part=first, random=False)
                return  # noise that is scaled is noise still
            fresh = drawn is not None and is_random(name)
            whole = self.listener.owner(first if first._base is None else first._base)
            if whole.requires_grad and not self.listener.minds(whole):
                if self.listener.noting:
                    named, drawn_anew = f"{name.rstrip('_')}_", is_random(name)
                    source = given[1][0] if named == "copy_" else None
                    self.listener.filled(whole, named, self._told(plain), part=first, random=drawn_anew, source=source)
                return
            if not fresh and writes_out(operation):
                return self._written(operation, given[: -len(outputs)], plain, outputs)
            name, outputs = f"{name.rstrip('_')}_", [whole]
        else:
            fresh = is_factory(operation)
        if fresh:
            by = self._told(plain) if is_random(name) or "empty" in name else None
            self.listener.drew(first, name.rstrip("_"), by)
            return
        args = self._before(given, asked)
        self._operation = operation
        self.listener.untracked(name, NodeType("", name), outputs, args, plain, _cut(given, args))
        self._operation = None

    @staticmethod
    def _told(plain: Any) -> tuple[tuple[str, str], ...]:
        """The arguments that tell how random numbers are drawn."""
        return tuple([pair for pair in arguments(NodeType(""), plain) if pair[0] not in _NOT_OF_NUMBERS])

    def _written(self, operation: Any, given: Given, plain: Any, outputs: Sequence[Any]) -> None:
        """An operation put its results into tensors that it was given for them: what it made is copied there."""
        name, made = called(operation), [torch.empty_like(x) for x in outputs]
        args, taken = tuple([self._take(x) for x, _ in given]), [self._take(x) for x in outputs]
        self.listener.untracked(name, NodeType("", name), made, args, plain, _cut(given, args))
        for x, before, source in zip(outputs, taken, made, strict=True):
            whole = x if x._base is None else x._base
            self.listener.untracked("copy_", NodeType("", "copy_"), [whole], (before, self._take(source)), None, ())

    def aliased(self, operation: str, tensor: Any, result: Any) -> None:
        """An alias of a tensor was made, which is seen at the method: see `private_replaced.watch_methods`."""
        if operation == PARAMETER:
            if self.listener.noting:
                self.listener.becomes(result, tensor)
        elif result.requires_grad:
            self.applied(operation, self.applies((tensor,)), result)
        elif operation == "detach" and current_node() is None:  # an object of a subclass is the tensor itself
            node_type = NodeType("", operation)
            taken = (self._take(tensor, read=asked),)
            self.listener.untracked(operation, node_type, [result], taken, None, _cut([(tensor, None)], taken))
            self.listener.shares(result, tensor)

    def recomputing(self) -> bool:
        return is_recomputing()

    def calls(self) -> Sequence[ModuleCall]:
        return hooks.calls()

    def will_run(self, roots: Sequence[Any], inputs: Sequence[Any] | None, kind: str) -> list[Any]:
        """The nodes that a pass is going to run."""
        starts = [root.grad_fn if isinstance(root, torch.Tensor) else root.node for root in roots]
        given = inputs if inputs else None
        return nodes_run([node for node in starts if node is not None], given, captures=kind == "grad")

    def was_freed(self, node: Any) -> bool:
        """Return whether an earlier pass has freed what a node saved."""
        return self.listener.was_freed(self.number(node))

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

    def queued(self) -> Callable[[], int] | None:
        return self.late

    def arrays_made(self, node: Any, outputs: Iterable[Any]) -> Iterator[Any]:
        whole = node.name() == COPY_SLICES  # a change of a view is one of its base
        with untouched():
            known = [output for output in outputs if output is not None]  # not each has to have a gradient
            placed = {output.output_nr: output for output in reversed(known)}
        for nr in range(max(placed, default=-1) + 1):
            output = placed.get(nr)
            base = output._base if whole and output is not None else None
            yield None if output is None else self.array(output if base is None else base)

    def sent(self, node: Any, grads: Sequence[Any]) -> list[Any]:
        return [None if g is None else self.array(g) for g in grads]

    def gradients(self, roots: Sequence[Any], *, custom: bool) -> tuple[Sequence[Any], Sequence[Any]]:
        with untouched():
            return derive(self, roots, custom=custom)


def _cut(given: Given, args: Sequence[Output]) -> list[Output]:
    """Return the arguments that require a gradient."""
    return [output for (x, _), output in zip(given, args, strict=True) if x.requires_grad]
