"""`profile` notes the operations, backward nodes and labelled blocks that run while it lasts; `record_function` labels
a block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.state import BackwardCall, process_state, thread_state
from .._core.operations.operation import Operation
from .._core.passes.backward_pass import tell_passed
from .._core.tape.node import Node
from .._core.tape.tensor import Tensor
from .grad_mode import ContextDecorator, count_special
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_nvtx", "profile", "record_function"]


class record_function(ContextDecorator):
    """Label a block; a profile that is being taken shows what ran inside of it.

    >>> from autograph_cli import torch
    >>> with torch.autograd.profiler.record_function("step"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._opened: list[tuple[Collector, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        collector = Collector.running
        if collector is not None:
            self._opened.append((collector, collector.open(self.name, label=True)))
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._opened:
            collector, event = self._opened.pop()
            collector.close(event)

    def clone(self) -> record_function:
        return type(self)(self.name, self.args)


class _Stack(threading.local):
    """The events of the current thread that have not ended, the innermost last."""

    def __init__(self) -> None:
        self.open: list[FunctionEvent] = []


class Collector:
    """Gathers events from the engine, beside whoever else follows it."""

    running: Collector | None = None

    def __init__(self, record_shapes: bool = False, profile_memory: bool = False) -> None:
        self.events: list[FunctionEvent] = []
        self.shapes, self.memory = record_shapes, profile_memory
        self._stack = _Stack()
        self._threads: dict[int, int] = {}
        self._hooks: list[Any] = []

    # -- begin and end

    def start(self) -> None:
        """Follow the engine from now on."""
        # optimizers are defined after autograd, as in PyTorch
        from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        if Collector.running is not None:
            raise RuntimeError("Profiler is already enabled on this thread")
        Collector.running = self
        self._op_hook, self._observer = process_state.op_hook, process_state.observer
        self._followed = _Followed(self, process_state.observer)
        process_state.op_hook, process_state.observer = self.computed, self._followed
        count_special(1)
        steps: list[FunctionEvent] = []
        self._hooks = [
            register_optimizer_step_pre_hook(
                lambda optimizer, *_: steps.append(
                    self.open(f"Optimizer.step#{type(optimizer).__name__}.step", label=True)
                )
            ),
            register_optimizer_step_post_hook(lambda *_: self.close(steps.pop())),
        ]

    def stop(self) -> None:
        """Follow it no more."""
        Collector.running = None
        while self._stack.open:
            self.close(self._stack.open[-1])
        if process_state.op_hook == self.computed:
            process_state.op_hook = self._op_hook
        if process_state.observer is self._followed:
            process_state.observer = self._observer
        count_special(-1)
        for hook in self._hooks:
            hook.remove()

    # -- events

    def open(self, name: str, shapes: Any = (), number: int = -1, label: bool = False) -> FunctionEvent:
        """An event that begins now."""
        thread = self._threads.setdefault(threading.get_ident(), len(self._threads) + 1)
        event = FunctionEvent(name, time.perf_counter_ns(), thread, shapes, number)
        event.is_user_annotation = label
        event.id = len(self.events) + 1
        if self._stack.open:
            event.cpu_parent = self._stack.open[-1]
            event.cpu_parent.cpu_children.append(event)
        self._stack.open.append(event)
        self.events.append(event)
        return event

    def close(self, event: FunctionEvent) -> None:
        """The event ends now, and so do those inside of it that an exception left."""
        if event not in self._stack.open:
            return
        now = time.perf_counter_ns()
        while True:
            last = self._stack.open.pop()
            last.ended = now
            if last is event:
                return

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Tensor], nanoseconds: int) -> None:
        """An operation has just been computed."""
        if self._op_hook is not None:
            self._op_hook(op, args, outputs, nanoseconds)
        if thread_state.queued is not None:
            nanoseconds = thread_state.queued()
        in_place = bool(outputs) and outputs[0] is args[0]
        shapes = [list(a._ag_raw.shape) if isinstance(a, Tensor) else [] for a in args] if self.shapes else ()
        event = self.open(f"aten::{op.name}{'_' if in_place else ''}", shapes)
        event.begun -= nanoseconds
        self.close(event)
        event.ended = event.begun + nanoseconds
        if self.memory and not in_place and not op.view:
            event.made = sum(int(np.dtype(t._ag_raw.dtype).itemsize * t._ag_raw.size) for t in outputs)

    def found(self) -> EventList:
        """All events, in the order in which they began."""
        return EventList(sorted(self.events, key=lambda e: e.begun), self.memory, self.shapes)


class _Followed:
    """An observer that hands on what it sees, and notes the nodes of backward passes."""

    def __init__(self, collector: Collector, inner: Any) -> None:
        self._collector, self._inner = collector, inner
        self._running: list[list[FunctionEvent]] = []

    def created(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], applied: Any = None) -> None:
        """A node was made."""
        if self._inner is not None:
            self._inner.created(node, inputs, outputs, applied)

    def applies(self, inputs: tuple[Any, ...]) -> Any:
        """A custom Function is about to run."""
        return None if self._inner is None else self._inner.applies(inputs)

    def untracked(
        self, name: str, op: Operation | None, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], drawn: Any = None
    ) -> None:
        """An operation ran that left no node."""
        if self._inner is not None:
            self._inner.untracked(name, op, inputs, outputs, drawn)

    def becomes(self, made: Tensor, tensor: Tensor) -> None:
        """A parameter was made of a tensor."""
        if self._inner is not None:
            self._inner.becomes(made, tensor)

    def collective(self, call: Any, tensors: Sequence[Any], changed: Sequence[Any]) -> Callable[[], Any] | None:
        """The ranks of a group exchange tensors."""
        return None if self._inner is None else self._inner.collective(call, tensors, changed)

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        if self._inner is not None:
            self._inner.begins(call)
        opened: list[Any] = []
        inner = call.watch
        self._running.append(opened)

        def watch(node: Node | None, grad: Any) -> None:
            self._ended(opened)
            if node is None:
                return None if inner is None else inner(node, grad)
            number = node._sequence_nr()
            name, number = node.name(), -1 if number > 1 << 60 else number
            opened.append(self._collector.open(f"autograd::engine::evaluate_function: {name}", number=number))
            if inner is not None:
                inner(node, grad)
            shapes = [list(getattr(grad, "shape", ()))] if self._collector.shapes else ()
            opened.append(self._collector.open(name, shapes, number))

        call.watch = watch

    def ends(self, call: BackwardCall) -> None:
        """A backward call is over."""
        if self._running:
            self._ended(self._running.pop())
        if self._inner is not None:
            self._inner.ends(call)
        else:
            tell_passed(call)

    def _ended(self, opened: list[FunctionEvent]) -> None:
        while opened:
            self._collector.close(opened.pop())


class profile:
    """Notes what runs inside the block.

    >>> from autograph_cli import torch
    >>> x = torch.ones(3)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = x + x
    >>> [(event.key, event.count) for event in prof.key_averages()]
    [('aten::add', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **options: Any,
    ) -> None:
        self.enabled = enabled
        self._options = record_shapes, profile_memory
        self._collector: Collector | None = None
        self._entered = False

    def __enter__(self) -> profile:
        if self._entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._entered = True
        if self.enabled:
            self._collector = Collector(*self._options)
            self._collector.start()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._collector is not None:
            self._collector.stop()

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        if self._collector is None:
            raise RuntimeError("Profiler didn't finish running" if self.enabled else "the profiler is not enabled")
        return self._collector.found()

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """The events of each name as one."""
        return self.function_events.key_averages(*args, **options)

    def table(self, *args: Any, **options: Any) -> str:
        """The events as text, a line each."""
        return self.function_events.table(*args, **options)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a file that `chrome://tracing` and Perfetto show."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of everything, in microseconds."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table() if self._collector is not None else "<unfinished torch.autograd.profile>"

    __repr__ = __str__


class emit_nvtx:
    """Marks for NVIDIA's profilers; RuntimeError when one is made, for there are none here."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch.autograd.profiler.emit_nvtx is not available in autograph's engine: it needs CUDA")
