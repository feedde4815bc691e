"""`torch.library`: operators of one's own in Python, with a derivative if they are given one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import ops
from .autograd.function import Function

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake"]

_DEFINED: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator that calls a Python function; autograd sees one node, whatever the function does."""

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        self._name, self._signature = name, inspect.signature(fn)
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._function = _function(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._function.apply(tuple(bound.kwargs), *bound.args, *bound.kwargs.values())

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """`backward(ctx, *grads)` gives the gradients of the inputs; `setup_context(ctx, inputs, output)` saves for
        it."""
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Give it back: nothing is compiled, so nobody asks for shapes alone."""
        return fn

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"


def _function(op: CustomOpDef, fn: Callable[..., Any]) -> type[Function]:
    full = op._name.replace("::", ".") + ".default"

    def forward(ctx: Any, names: tuple[str, ...], *values: Any) -> Any:
        args = values[: len(values) - len(names)]
        by_name = dict(zip(names, values[len(args) :], strict=True))
        output = fn(*args, **by_name)
        ctx.by_name = len(by_name)
        if op._setup is not None:
            op._setup(ctx=ctx, inputs=args, output=output, **({"keyword_only_inputs": by_name} if by_name else {}))
        return output

    def backward(ctx: Any, *grads: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {full} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        found = op._backward(ctx, *grads)
        return None, *(found if isinstance(found, tuple) else (found,)), *[None] * ctx.by_name

    steps = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": __name__}
    return type(f"GeneratedBackwardFor_{full.replace('.', '_')}", (Function,), steps)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as the operator `namespace::name`, also `torch.ops.namespace.name`; without `fn`, a decorator.

    NotImplementedError for one that changes its arguments.

    >>> from autograph_cli import torch
    >>> @torch.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.ops.docs.twice(torch.ones(2))
    tensor([2., 2.])
    """
    if fn is None:
        return lambda given: custom_op(name, given, mutates_args=mutates_args)
    if tuple(mutates_args):
        raise NotImplementedError(
            f"{name}: operators that change their arguments are not available in autograph's engine"
        )
    namespace, _, last = name.partition("::")
    if not (namespace.isidentifier() and last.isidentifier()):
        raise ValueError(f"torch.library.custom_op: expected a name like 'namespace::name', got {name!r}")
    made = _DEFINED[name] = CustomOpDef(name, fn)
    space = vars(ops).setdefault(namespace, ModuleType(f"torch.ops.{namespace}"))
    setattr(space, last, made)
    return made


def _defined(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _DEFINED:
        raise AttributeError(f"torch.library: there is no operator {op!r}; define it with torch.library.custom_op")
    return _DEFINED[op]


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """`CustomOpDef.register_autograd` of an operator or of its name."""
    _defined(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, allow_override: bool = True) -> Any:
    """`CustomOpDef.register_fake` of an operator or of its name; without `func`, a decorator."""
    found = _defined(op)
    return found.register_fake if func is None else found.register_fake(func)
