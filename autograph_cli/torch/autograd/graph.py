"""Tools for the graph itself: nodes, edges, and hooks on what is saved for backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._arrays.storages import address, owner
from .._core.base.state import thread_state
from .._core.passes.roots import GradientEdge
from .._core.running.views import bump
from .._core.tape.node import Handle, Node, edge_of
from .._core.tape.tensor import Tensor, Wrapped
from .grad_mode import count_special, no_grad

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


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

    def __enter__(self) -> Any:
        if thread_state.saved_hooks_disabled is not None:
            raise RuntimeError(thread_state.saved_hooks_disabled)
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n"
                "    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                f"Invoked with: {self.pack_hook!r}, {self.unpack_hook!r}"
            )
        thread_state.saved_hooks = (*thread_state.saved_hooks, (self.pack_hook, self.unpack_hook))
        count_special(1)

    def __exit__(self, *_: Any) -> None:
        thread_state.saved_hooks = thread_state.saved_hooks[:-1]
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
        def pack(tensor: Any) -> tuple[Any, Tensor]:
            # Memory for a GPU is a copy; without a GPU it is memory like any other.
            return tensor.device, tensor.detach().cpu().clone() if pin_memory else tensor.cpu()

        def unpack(packed: tuple[Any, Any]) -> Tensor:
            device, tensor = packed
            moved: Tensor = tensor.to(device)
            return moved

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block, entering `saved_tensors_hooks` raises RuntimeError(error_message)."""
    if thread_state.saved_hooks:
        raise RuntimeError(error_message)
    before = thread_state.saved_hooks_disabled
    thread_state.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        thread_state.saved_hooks_disabled = before


class _Handle:
    """Stands for a saved tensor."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """Tensors saved inside one `allow_mutation_on_saved_tensors` block: as they are, or cloned because their memory was
    changed."""

    def __init__(self) -> None:
        self.active = True
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self._known: weakref.WeakValueDictionary[Any, _Handle] = weakref.WeakValueDictionary()
        """Saved tensors, by their position in memory and their version."""
        self._positions: dict[int, weakref.WeakSet[_Handle]] = {}
        """By the id of the memory, what was saved of it and is not cloned yet."""

    def clear(self) -> None:
        """Forget everything; what was recorded in the block cannot run backward any more."""
        self.active = False
        self.original.clear()
        self.cloned.clear()
        self._positions.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        kept = tensor.detach()
        if isinstance(kept, Wrapped):
            self.original[handle := _Handle()] = kept
            return handle
        raw = kept._ag_raw
        key = (address(raw), raw.shape, raw.strides, raw.dtype, kept._version)
        handle = self._known.get(key) or _Handle()
        if handle not in self.original:
            self._known[key], self.original[handle] = handle, kept
            self._positions.setdefault(id(owner(raw)), weakref.WeakSet()).add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        if not self.active:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_change(self, tensor: Tensor) -> None:
        """Clone what was saved of the memory of a tensor that is about to be changed."""
        if isinstance(tensor, Wrapped) or isinstance(tensor._ag_raw, np.generic):
            return
        with no_grad():
            for handle in self._positions.pop(id(owner(tensor._ag_raw)), ()):
                self.cloned[handle] = self.original.pop(handle).clone()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Inside the block, tensors saved for backward may be changed in place: they are copied before.

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if thread_state.before_change is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        thread_state.before_change = context.before_change
        try:
            yield context
        finally:
            thread_state.before_change = None
            context.clear()


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The position of the tensor's gradient: its node and output number; it stands for the tensor in `grad`."""
    edge = edge_of(tensor)
    if edge is None and tensor.requires_grad:
        raise AssertionError("Expected gradient function to be set")
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count an in-place change of the tensor, or of each one."""
    given = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(given, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in given:
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
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    elif any(edge_of(t) is None for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    gathered = (_First if mode == "any" else _Gathered)(tensors, fn)
    return _MultiHandle([t.register_hook(gathered.hook(i)) for i, t in enumerate(tensors)])


class _First:
    """Hands on the first gradient of each backward pass."""

    def __init__(self, _: Sequence[Tensor], function: Callable[..., Any]) -> None:
        self.function = function
        self.walk: Any = lambda: None
        """A weak reference to the pass that the gradients belong to."""

    def hook(self, _: int) -> Callable[[Tensor], None]:
        def run(grad: Tensor) -> None:
            if self.walk() is not thread_state.walk:
                self.walk = weakref.ref(thread_state.walk)
                self.function(grad)

        return run


class _Gathered:
    """Hands on the gradients of a backward pass when as many have come as it computes."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[..., Any]) -> None:
        self.nodes = [get_gradient_edge(t).node for t in tensors]
        self.function = function
        self.walk: Any = lambda: None
        self.came = self.expected = 0
        self.grads: list[Tensor | None] = []

    def hook(self, position: int) -> Callable[[Tensor], None]:
        def run(grad: Tensor) -> None:
            if self.walk() is not thread_state.walk or not self.came:
                self.walk, self.came, self.grads = weakref.ref(thread_state.walk), 0, [None] * len(self.nodes)
                self.expected = sum(map(thread_state.walk.will_run, self.nodes))
            self.grads[position] = grad
            self.came += 1
            if self.came == self.expected:
                self.came = 0
                self.function(self.grads)

        return run
