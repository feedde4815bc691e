"""`node._raw_saved_self`: a saved tensor on which packing hooks can be set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .node import Node, Packed, edge_of, unpack


class SavedTensor:
    """One saved tensor of one node."""

    def __init__(self, node: Node, index: int) -> None:
        self._node = node
        self._index = index

    def register_hooks(self, pack: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Replace what is saved by `pack(tensor)`, to be had back by `unpack_hook`."""
        node, index = self._node, self._index
        if isinstance(node._saved[index], Packed) and node._saved[index].hooked:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time.")
        if node._saved is None:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed.")
        if node._saved[index] is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        tensor = unpack(node, index)
        items = list(node._saved)
        items[index] = Packed(pack(tensor), unpack_hook, edge_of(tensor))
        node._saved = tuple(items)
