"""Members of a module by dotted paths such as `encoder.layers.0.weight`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def module_at(module: Any, target: str, module_class: type) -> Any:
    """The module at `target`; AttributeError where there is none."""
    result = module
    for part in target.split(".") if target else ():
        if not hasattr(result, part):
            raise AttributeError(f"{result._get_name()} has no attribute `{part}`")
        result = getattr(result, part)
        if not isinstance(result, module_class):
            raise AttributeError(f"`{part}` is not an nn.Module")
    return result


def put(module: Any, target: str, new: Any, strict: bool, module_class: type) -> None:
    """Make `new` the module at `target`; `strict` asks that one is there already."""
    if target == "":
        raise ValueError("Cannot set the submodule without a target name!")
    if not isinstance(new, module_class):
        raise ValueError(f"`module` is not an nn.Module, found {type(new)}")
    path, _, name = target.rpartition(".")
    parent = module.get_submodule(path)
    if strict and not hasattr(parent, name):
        raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
    if hasattr(parent, name) and not isinstance(getattr(parent, name), module_class):
        raise AttributeError(f"`{name}` is not an nn.Module")
    setattr(parent, name, new)


def member_at(module: Any, target: str, fits: Callable[[Any, str], bool], what: str) -> Any:
    """The parameter or buffer at `target`; AttributeError where there is none, or one that does not fit."""
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    if not fits(owner, name):
        raise AttributeError(f"`{name}` is not {what}")
    return getattr(owner, name)
