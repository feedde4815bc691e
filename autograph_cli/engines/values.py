"""Text of the values that nodes keep and that are no tensors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from autograph_cli.graph import Saved

_LONGEST = 60


class Text(str):
    """A kept value that is shown as it is, without quotes."""

    __slots__ = ()


def places(items: Any) -> Text | None:
    """Return where tensors stand among the indices of an operation, if not from the first one on."""
    if items.__class__ not in (list, tuple) or all(item is not None for item in items):
        return None
    return Text(f"({', '.join('None' if item is None else 'tensor' for item in items)})")


def shown(item: Any) -> str:
    """A kept value that is no tensor, as text that is the same on every run."""
    if isinstance(item, Text):
        return str(item)
    if isinstance(item, (bool, int, float, complex, str)) or (item.__class__ is tuple and {*map(type, item)} == {int}):
        text = repr(item)
    elif isinstance(item, np.dtype):
        text = item.name
    elif isinstance(item, (tuple, list)):
        parts = ", ".join(map(shown, item))
        text = f"({parts},)" if len(item) == 1 else f"({parts})"
    else:
        text = type(item).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def saved_value(name: str, item: Any) -> Saved:
    """The record of something that a node keeps and that is no tensor."""
    return _saved_text(name, shown(item))


@lru_cache(1 << 10)
def _saved_text(name: str, text: str) -> Saved:
    return Saved(name, None, text)


def shared_bytes(memory: Iterable[tuple[int, int]]) -> int:
    """The bytes of memory, each with its id; what comes several times counts once."""
    sizes: dict[int, int] = {}
    for key, size in memory:
        sizes[key] = max(sizes.get(key, 0), size)
    return sum(sizes.values())
