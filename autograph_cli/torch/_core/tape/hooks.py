"""Runs hooks on gradients, and checks what they return as PyTorch does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import dtypes
from ..base.errors import refused
from .node import Extra
from .tensor import Tensor

Hooks = dict[int, Any]
Grads = tuple[Any, ...]


def tensor_hooks(hooks: Hooks, grad: Any) -> Any:
    """The gradient of one tensor (None where none came) after its hooks."""
    for hook in list(hooks.values()):
        result = hook(grad)
        if result is not None:
            grad = _checked(hook, grad, result)
    return grad


def pre_hooks(extra: Extra, grads: Sequence[Any]) -> Grads:
    """The gradients of a node's outputs after its pre-hooks."""
    grads = tuple(grads)
    for hook in list((extra.pre_hooks or {}).values()):
        result = hook(grads)
        if result is not None:
            grads = _all_checked(hook, grads, result)
    return grads


def post_hooks(extra: Extra, inputs: Sequence[Any], outputs: Grads) -> Grads:
    """The gradients of a node's inputs after its hooks."""
    inputs = tuple(inputs)
    for hook in list((extra.hooks or {}).values()):
        result = hook(inputs, outputs)
        if result is not None:
            inputs = _all_checked(hook, inputs, result)
    return inputs


def accumulated_hooks(hooks: Hooks, leaf: Tensor) -> None:
    """Tell the hooks of a leaf that its `.grad` is up to date."""
    for hook in list(hooks.values()):
        result = hook(leaf)
        if isinstance(result, Tensor):
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if result is not None:
            raise refused(TypeError, f"expected Variable, but hook returned '{type(result).__name__}'")


def _all_checked(hook: Any, before: Grads, result: Any) -> Grads:
    if not isinstance(result, tuple):
        raise refused(TypeError, f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(result)}, but expected "
            f"{len(before)})"
        )
    return tuple(None if new is None else _checked(hook, g, new) for g, new in zip(before, result, strict=True))


def _checked(hook: Any, before: Any, result: Any) -> Tensor:
    if not isinstance(result, Tensor):
        raise refused(TypeError, f"expected Variable, but hook returned '{type(result).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    was, now = before._ag_raw, result._ag_raw
    if was.dtype != now.dtype:
        kinds = [_kind(raw.dtype) for raw in (was, now)]
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {kinds[0]} got {kinds[1]})")
    if was.shape != now.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return result


def _kind(dtype: Any) -> str:
    legacy = dtypes.FROM_NUMPY[dtype].legacy
    return f"CPU{legacy.removesuffix('Tensor')}Type" if legacy.startswith("Complex") else f"torch.{legacy}"


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", "<unknown>")
