"""The tensors that a checkpoint holds until its backward: its inputs, and what its function closes over."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

_HOME = ".utils.checkpoint"
_MOST = 10_000
"""The most things that are looked at; a checkpoint that holds more is not counted."""
_PASSED = ("builtins", "contextlib", "weakref", "torch", "autograph_cli", "numpy")
"""Packages whose other objects hold nothing that is kept for backward alone."""


def held_by(unpack: Any, tensor: type, module: type, opened: Callable[[Any], tuple[Any, ...] | None]) -> list[Any]:
    """Return the tensors that the checkpoint which unpacks by this function holds; none if that is not known for sure.

    `opened` gives what a saved tensor holds in turn, None if nobody knows, and nothing of other things. Modules are not
    looked into: their parameters and buffers are there without the checkpoint.
    """
    if not str(getattr(unpack, "__module__", "")).endswith(_HOME):
        return []
    found: list[Any] = []
    seen: dict[int, Any] = {}
    waiting = [unpack]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item  # and so alive: no other thing gets its id
        if isinstance(item, tensor):
            found.append(item)
        elif not isinstance(item, module):
            inner = opened(item)
            inner = _inside(item) if inner == () else inner
            if inner is None or len(seen) + len(inner) > _MOST:
                return []
            waiting += reversed(inner)
    return found


def _inside(item: Any) -> tuple[Any, ...] | None:
    """Return what a thing holds; None if nobody knows."""
    if isinstance(item, (tuple, list, set, frozenset)):
        return tuple(item)
    if isinstance(item, dict):
        return tuple(dict.values(item))
    if isinstance(item, FunctionType):
        return _closed_over(item)
    if isinstance(item, MethodType):
        return item.__self__, item.__func__
    if isinstance(item, functools.partial):
        return item.func, item.args, item.keywords
    kind = type(item)
    if kind.__module__.endswith(_HOME):
        if kind.__name__ == "_Holder":
            return ()
        return tuple(vars(item).values()) if kind.__name__.endswith("Frame") else None
    return () if isinstance(item, type) or kind.__module__.partition(".")[0] in _PASSED else None


def _closed_over(function: FunctionType) -> tuple[Any, ...]:
    cells: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            cells.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return tuple(cells)
