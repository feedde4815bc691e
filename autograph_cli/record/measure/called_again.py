"""A copy of a model, which is called again with other inputs, and what of its result is another then."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CLOSE = 1e-5
"""The part of the largest number that is rounding."""


@dataclass
class Call:
    """The first call of a model with gradients: it, and what it was given."""

    module: Any
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


class Model:
    """A copy of a model in evaluation mode, to be called with changed inputs."""

    def __init__(self, torch: Any, call: Call, text: Callable[[str, int], str]) -> None:
        self.torch, self.call, self.text = torch, call, text
        self.module = copy.deepcopy(call.module).eval()
        given: list[tuple[int | str, Any]] = [*enumerate(call.args), *call.kwargs.items()]
        self.given = [(n, arg) for n, arg in given if isinstance(arg, torch.Tensor) and arg.numel() > 1]
        self.inner: list[Any] = []
        """The results of its last part that are more than single numbers, in the last call."""
        for part in self.module.modules():
            if part is not self.module:
                part.register_forward_hook(self._made)

    def _made(self, module: Any, args: Any, result: Any) -> None:
        self.inner = [one for one in tensors(self.torch, result) if one.dim() > 1] or self.inner

    def run(self, position: int | str | None = None, value: Any = None, trace: Any = None) -> list[Any]:
        """The tensors of its result, with one argument replaced; single numbers, as its loss, come last, and where it
        returns nothing else, what its last part made comes first."""
        self.inner = []
        with self.torch.no_grad():
            previous = sys.gettrace()
            if trace is not None:
                sys.settrace(trace)
            try:
                made = tensors(self.torch, self.call_with(position, value))
                parts = self.inner if all(one.dim() == 0 for one in made) else []
                return [*parts, *sorted(made, key=lambda one: one.dim() == 0)]
            finally:
                if trace is not None:
                    sys.settrace(previous)

    def call_with(self, position: int | str | None, value: Any) -> Any:
        """Return what it makes, with one argument replaced."""
        args = [value if n == position else copied(self.torch, arg) for n, arg in enumerate(self.call.args)]
        kwargs = {n: value if n == position else copied(self.torch, arg) for n, arg in self.call.kwargs.items()}
        self.torch.manual_seed(0)
        return self.module(*args, **kwargs)

    def changed(self, value: Any, dim: int, at: int) -> Any:
        """The tensor with the part at this place of a dimension replaced by other numbers."""
        other = value.clone()
        part = other.select(dim, at)
        part.copy_(self.others(value, part))
        return other

    def others(self, value: Any, part: Any) -> Any:
        """Other numbers of the same kind for a part of a tensor."""
        if value.dtype.is_floating_point:
            return part * -1.5 + 0.7
        if value.dtype == self.torch.bool:
            return ~part
        low, high = int(value.min()), int(value.max())
        return (part - low + 1) % (high - low + 1) + low


def exchanged(value: Any, cls: type, change: Callable[[Any], Any]) -> Any:
    """Return a value with all that is of a class changed, in plain containers as well."""
    if isinstance(value, cls):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(exchanged(part, cls, change) for part in value)
    return {key: exchanged(part, cls, change) for key, part in value.items()} if type(value) is dict else value


def copied(torch: Any, value: Any) -> Any:
    """Return a value with copies of the tensors in it, which have no history."""
    return exchanged(value, torch.Tensor, lambda x: x.detach().clone())


def tensors(torch: Any, value: Any) -> list[Any]:
    """The tensors of floating point in a result."""
    if isinstance(value, torch.Tensor):
        return [value.detach()] if value.dtype.is_floating_point else []
    return [found for part in parts_of(value) for found in tensors(torch, part)]


def parts_of(value: Any) -> list[Any]:
    """Return what a container holds, or the tensors in an object, as those of a distribution."""
    if isinstance(value, (dict, tuple, list)):
        return list(value.values() if isinstance(value, dict) else value)
    own = getattr(value, "__dict__", None)
    return [part for part in own.values() if hasattr(part, "grad_fn")] if type(own) is dict else []


def with_graph(torch: Any, value: Any) -> list[Any]:
    """The tensors of a result that require a gradient."""
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    return [one for part in parts_of(value) for one in with_graph(torch, part)]


def differs(one: Any, other: Any) -> Any:
    """Return where two tensors differ by more than rounding."""
    scale = float(one.abs().max()) if one.numel() else 0.0
    return (one - other).abs() > CLOSE * max(scale, 1e-30)
