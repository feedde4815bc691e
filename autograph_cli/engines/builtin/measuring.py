"""Measurements of the built-in engine, and what a recorder has it do."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autograph_cli.engines.builtin.derive import unseen
from autograph_cli.engines.builtin.inside import Inside
from autograph_cli.engines.builtin.tensors import readable_array
from autograph_cli.torch._arrays import cuda
from autograph_cli.torch._core.base.state import process_state, thread_state
from autograph_cli.torch._core.operations.flops import count
from autograph_cli.torch._core.operations.operation import Operation
from autograph_cli.torch._core.running.dispatch import run
from autograph_cli.torch._core.running.gradients import Misfit, fit, output_meta_at
from autograph_cli.torch._core.tape.node import Node
from autograph_cli.torch._core.tape.tensor import Tensor


class Measuring:
    """See `protocol.Measuring`."""

    mark, since = staticmethod(cuda.mark), staticmethod(cuda.since)

    @staticmethod
    def is_transforming() -> bool:
        return bool(thread_state.levels)

    def watch_operations(
        self, watcher: Callable[..., None] | None, changing: Callable[..., None] | None = None
    ) -> None:
        if watcher is not None:
            process_state.special += 1
        elif process_state.op_hook is not None:
            process_state.special -= 1
        process_state.op_hook, process_state.change_hook = watcher, changing

    def queued(self) -> Callable[[], int] | None:
        return thread_state.queued

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

    def flops(self, operation: Operation, args: Sequence[Any], outputs: Any) -> int:
        """The floating-point operations that an operation took."""
        return count(operation, args, outputs)

    def runs(self) -> Node | None:
        """The node whose backward is running."""
        return thread_state.current

    def arrays_made(self, node: Node, outputs: Iterable[Tensor]) -> Iterator[Any]:
        """The arrays of what an operation made."""
        for nr, output in enumerate(outputs):
            raw = output._ag_raw
            if nr == 0 and output._base is not None and _shape(raw) != _shape_of(node) == _shape(output._base._ag_raw):
                raw = output._base._ag_raw  # a change of a view is one of its base
            yield readable_array(raw)

    def sent(self, node: Node, grads: Sequence[Any]) -> list[Any]:
        """The arrays of the gradients that a node sends on, or that a leaf adds up."""
        likes = [None if e is None else output_meta_at(e) for e in node._ag_edges] or [node._ag_output_meta]
        return [None if g is None or like is None else _fitted(g, like) for g, like in zip(grads, likes, strict=False)]

    def prepare_inside(self, *, numbers: bool) -> None:
        """Do nothing: it is there when it is asked for."""

    def inside(self, node: Node, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """Return what gathers the operations that the backward of a node runs; None where it is not made of such."""
        return Inside.of(node, grad, summary)

    @property
    def namespace(self) -> Any:
        return importlib.import_module("autograph_cli.torch")


def _fitted(g: Any, like: Any) -> Any:
    try:
        return readable_array(fit(getattr(g, "_ag_raw", g), like))
    except Misfit:  # which the pass is about to raise
        return None


def _shape(raw: Any) -> tuple[int, ...]:
    return tuple(raw.shape)


def _shape_of(node: Node) -> tuple[int, ...] | None:
    return node._ag_output_meta[0] if isinstance(node._ag_output_meta, tuple) else () if not node._ag_multiple else None
