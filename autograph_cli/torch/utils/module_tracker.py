"""`torch.utils.module_tracker`: which modules are running, forward or backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._core.base.state import thread_state
from .._core.tape.tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.modules.module import Module
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside of its block `parents` holds the names of the modules that run: "Global", and of each its class and its
    path.

    >>> from autograph_cli import torch
    >>> class Told(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = torch.nn.Sequential(Told())(torch.ones(2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self._parents = {"Global"}
        self._walk: Any = None
        """The backward pass that runs, if a module was entered in it."""
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    @property
    def parents(self) -> set[str]:
        """The names of the modules that run now."""
        if self._walk is not None and self._walk is not thread_state.walk:
            self._parents, self._walk = {"Global"}, None
        return self._parents

    @property
    def is_bw(self) -> bool:
        """Return whether a backward pass runs."""
        return thread_state.walk is not None

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._entered),
            register_module_forward_hook(self._left),
        ]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _entered(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._when_all_have_gradients(args, lambda _: self.parents.discard(name))

    def _left(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._when_all_have_gradients(output, lambda _: self._entered_backward(name))

    def _entered_backward(self, name: str) -> None:
        self.parents.add(name)
        self._walk = thread_state.walk

    def _when_all_have_gradients(self, values: Any, told: Callable[[Any], None]) -> None:
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, told))

    def _name(self, module: Module) -> str:
        if module not in self._names:
            self._names[module] = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(inner, f"{self._names[module]}.{path}")
        return self._names[module]
