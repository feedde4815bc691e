"""The values that a node keeps for backward, in words: which tensor, how large, in whose memory; and plain values."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from autograph_cli.graph import Graph, Node
from autograph_cli.graph.facts import bytes_text, plain_name
from autograph_cli.graph.names import output_names, shown_name, visible
from autograph_cli.graph.records import Edge, Saved
from autograph_cli.graph.saved_memory import kept_tensors

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
_SYM = "_sym_"
_LARGEST = (1 << 63) - 1


class SavedWords:
    """The words for what the nodes of one graph keep."""

    def __init__(self, graph: Graph) -> None:
        self.names = output_names(graph)
        self.origin_of: Mapping[int, Edge] = {
            kept.storage: kept.origin
            for kept in kept_tensors(graph)
            if kept.storage is not None and kept.origin is not None
        }

    def lines(self, node: Node) -> list[str]:
        """Return a line for each thing that a node keeps, tensors first."""
        tensors = [visible(self._tensor(node, saved)) for saved in node.saved if saved.type is not None]
        return [*tensors, *(visible(plain_words(saved)) for saved in node.saved if saved.type is None)]

    def _tensor(self, node: Node, saved: Saved) -> str:
        origin = None if saved.storage is None else self.origin_of.get(saved.storage)
        where = ""
        if origin is not None and origin.node == node.id:
            where = ", in the memory of its own result"
        elif origin is not None:
            where = f", in the memory of {shown_name(self.names[origin.node][origin.nr])}"
        version = f", version {saved.version}" if saved.version else ""
        return f"{plain_name(saved)}: {saved.type}, {bytes_text(saved.bytes)}{where}{version}"


def plain_words(saved: Saved) -> str:
    """Return a plain value that a node keeps as a sentence has it.

    >>> plain_words(Saved("_saved_end", value="9223372036854775807"))
    'end: to the end'
    >>> plain_words(Saved("_saved_dim", value="18446744073709551615"))
    'dim: -1'
    >>> plain_words(Saved("_saved_self_sym_sizes", value="(4, 6)"))
    'sizes of self: (4, 6)'
    """
    name = plain_name(saved)
    if _SYM in name:
        tensor, _, fact = name.partition(_SYM)
        name = f"{fact} of {tensor}"
    return f"{name}: {_value(name, saved.value)}"


def _value(name: str, text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if name == "reduction" and value.__class__ is int and value in _REDUCTIONS:
        return _REDUCTIONS[value]
    if name == "end" and value == _LARGEST:
        return "to the end"
    return _told(value) if _is_odd(value) else text


def _is_odd(value: Any) -> bool:
    return (
        any(map(_is_odd, value)) if isinstance(value, (tuple, list)) else isinstance(value, int) and value >= _LARGEST
    )


def _told(value: Any) -> str:
    """Return a number that stands for no limit, or for a negative one, as that."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_told, value))}{',' * (len(value) == 1)})"
    if value == _LARGEST:
        return "the largest int64"
    return str(value - (1 << 64) if isinstance(value, int) and _LARGEST < value < 1 << 64 else value)
