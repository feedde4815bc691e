"""The few names of PyTorch's compiled module that scripts mention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._ops._errors import LinAlgError as _LinAlgError


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a subclass of Tensor names as its `__torch_function__` to have none; operations here do not ask for it."""
    return func(*args, **(kwargs or {}))


def _log_api_usage_once(name: str) -> None:
    """PyTorch counts here which of its interfaces are used; nothing is counted."""


__all__ = ("_LinAlgError", "_disabled_torch_function_impl", "_log_api_usage_once")
