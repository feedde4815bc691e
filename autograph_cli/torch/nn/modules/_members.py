"""Registration of members of a module: the name is checked, and hooks are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _namespace as torch


def check_name(module: Any, name: Any, what: str, store: dict[str, Any]) -> None:
    """Raise PyTorch's error unless a new member (a parameter, buffer or module, kept in `store`) may have this name."""
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {torch.typename(name)}")
    if what == "module" and hasattr(module, name) and name not in store:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        shown = f'{what} name can\'t contain "."'
        raise KeyError(f"{shown}, got: {name}" if what == "module" else shown)
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if hasattr(module, name) and name not in store:
        raise KeyError(f"attribute '{name}' already exists")


def announced(hooks: dict[int, Callable[..., Any]], module: Any, name: str, value: Any) -> Any:
    """Return what the registration hooks make of a new member."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value
