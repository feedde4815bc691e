"""Tools for the graph itself: nodes, edges, and hooks on what is saved for backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._core.backward import GradientEdge
from .._core.node import Handle, Node, edge_of
from .._core.state import L
from .._core.tensor import Tensor
from .._core.views import bump
from .grad_mode import count_special

__all__ = ["GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
           "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]  # fmt: skip


class saved_tensors_hooks:
    """Inside the block, `pack_hook(tensor)` is kept instead of each saved tensor; `unpack_hook` gives the tensor back.

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().tolist(), torch.tensor):
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 7.3891])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if L.saved_hooks_disabled is not None:
            raise RuntimeError(L.saved_hooks_disabled)
        L.saved_hooks = (*L.saved_hooks, (self.pack_hook, self.unpack_hook))
        count_special(1)

    def __exit__(self, *_: Any) -> None:
        L.saved_hooks = L.saved_hooks[:-1]
        count_special(-1)


class save_on_cpu(saved_tensors_hooks):
    """Inside the block, saved tensors are kept in the CPU's memory.

    >>> from autograph_cli import torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> torch.autograd.grad(y, x)
    (tensor(6.),)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise NotImplementedError("save_on_cpu: pin_memory=True is not available in autograph's engine")

        def pack(tensor: Any) -> tuple[Any, Tensor]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Any]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)  # type: ignore[no-any-return]

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block, entering `saved_tensors_hooks` raises RuntimeError(error_message)."""
    before = L.saved_hooks_disabled
    L.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        L.saved_hooks_disabled = before


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of the tensor's gradient: its node and output number; it stands for the tensor in `grad`."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count an in-place change of the tensor, or of each one."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump(t)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Call `fn` once in a pass: with all the gradients (None: not part of it), or with the first (`mode="any"`).

    >>> from autograph_cli import torch
    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * b).sum().backward()
    [tensor([1., 1.]), tensor([1., 1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathered = _Gathered(tensors, fn, mode)
    return _MultiHandle([t.register_hook(gathered.hook(i)) for i, t in enumerate(tensors)])


class _Gathered:
    """The gradients that came so far in each running backward pass."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[..., Any], mode: str) -> None:
        self.nodes = [get_gradient_edge(t).node for t in tensors]
        self.function = function
        self.mode = mode
        self.walk: Any = lambda: None
        """A weak reference to the pass that the gradients belong to."""
        self.waiting = 0
        self.grads: list[Tensor | None] = []

    def hook(self, place: int) -> Callable[[Tensor], None]:
        def run(grad: Tensor) -> None:
            first = self.walk() is not L.walk
            if first:
                self.walk, self.grads = weakref.ref(L.walk), [None] * len(self.nodes)
                self.waiting = sum(L.walk.awaits(node) for i, node in enumerate(self.nodes) if i != place) + 1
            self.grads[place] = grad
            self.waiting -= 1
            if self.mode == "any" and first:
                self.function(grad)
            elif self.mode == "all" and not self.waiting:
                self.function(self.grads)

        return run
