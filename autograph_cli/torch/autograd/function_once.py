"""`once_differentiable`: a `backward` that has no derivative itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.base.state import next_sequence_nr, process_state, thread_state
from .._core.running.dispatch import annotate
from .._core.tape.node import LEAF, Node, edge_of, output_meta
from .._core.tape.tensor import Tensor, make


class Error(Node):
    """Raises when backward reaches it: there is no derivative here."""

    __slots__ = ("message",)

    message: str
    _ag_multiple = True

    def _ag_name(self) -> str:
        return "torch::autograd::Error"

    def _ag_run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    _ag_run_recorded = _ag_run_raw


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that is not differentiable itself: a second derivative raises RuntimeError.

    >>> from autograph_cli.torch.autograd.function import once_differentiable
    >>> @staticmethod
    ... @once_differentiable
    ... def backward(ctx, grad):
    ...     return grad * 2
    """

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        mode, thread_state.grad = thread_state.grad, False
        try:
            result = backward(ctx, *grads)
        finally:
            thread_state.grad = mode
        if not mode or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        stopped = _stop(message, result if isinstance(result, tuple) else (result,))
        return stopped if isinstance(result, tuple) else stopped[0]

    return run


def _stop(message: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors behind one `Error` node, which hangs on leaves of its own."""
    leaves = [None if t is None else make(t._ag_raw, LEAF) for t in tensors]
    node: Error = object.__new__(Error)
    node.message = message
    node._ag_edges = tuple(None if leaf is None else edge_of(leaf) for leaf in leaves)
    node._ag_saved, node._ag_extra, node._ag_seq = (), None, next_sequence_nr()
    node._ag_output_meta = [None if t is None else output_meta(t._ag_raw) for t in tensors]
    annotate(node)
    outputs = tuple(None if t is None else make(t._ag_raw, (node, i)) for i, t in enumerate(tensors))
    if process_state.observer is not None:
        process_state.observer.created(node, tuple(leaves), tuple(t for t in outputs if t is not None))
    return outputs
