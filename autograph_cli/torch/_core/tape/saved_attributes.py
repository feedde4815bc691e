"""`node._saved_<name>` and `node._raw_saved_<name>`: what a node keeps, under PyTorch's names and in PyTorch's form.

They are worked out when somebody asks: a node keeps what its formulas need, as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dims import Given, GivenSizes
from ..base.state import thread_state
from .node import Node
from .saved_tensors import SavedList, SavedTensor, freed, unpack
from .tensor import make
from .wrapped_numbers import number_of

if TYPE_CHECKING:
    from ..operations.operation import Operation

_SHOWN = {"sizes": "sym_sizes", "strides": "sym_strides"}
"""PyTorch's names for properties of a tensor that a formula names."""
_HIDDEN = frozenset(("dtype",))
"""Properties that PyTorch's nodes keep, and do not show."""
_UNSIGNED = 1 << 64
"""PyTorch hands the integers of a node over as unsigned numbers of 64 bits."""


def attribute(name: str) -> str:
    """The attribute that shows what formulas call `name`."""
    head, _, tail = name.rpartition("_")
    return f"_saved_{head}_{_SHOWN[tail]}" if head and tail in _SHOWN else f"_saved_{name}"


def needs(show: Callable[..., Any] | str | None) -> tuple[str, ...]:
    """Return what an entry of an operation's `saved` is made of."""
    if show is None or isinstance(show, str):
        return (show,) if show else ()
    return show.__code__.co_varnames[: show.__code__.co_argcount]


def members(op: Operation) -> dict[str, Any]:
    """The attributes of an operation's node."""
    formulas = dict.fromkeys(n for d in op.derivatives for n in d.needs)
    result: dict[str, Any] = {"_ag_frees": any(map(op.is_tensor, op.saved_names)) and (_keeper(op) or True)}
    for index, name in enumerate(op.saved_names):
        tail = name.rpartition("_")[2]
        if name in op.saved or name not in formulas or (tail in _HIDDEN and op.saving[index][3]):
            continue
        shown = attribute(name)
        if op.is_tensor(name):
            result[shown] = _tensor(index)
            result[f"_raw{shown}"] = _raw_tensor(index)
        else:
            result[shown] = _plain(op, name)
    for name, show in op.saved.items():
        if show is None:
            continue
        shown = f"_saved_{name}"
        if not isinstance(show, str):
            sources = [n for n in needs(show) if op.is_tensor(n)]
            result[shown] = _derived(op, show) if sources else _made(op, show, needs(show))
            if sources:
                result[f"_raw{shown}"] = _raw_tensor(op.saved_names.index(sources[0]), name)
        elif op.is_tensor(show):
            index = op.saved_names.index(show)
            result[shown], result[f"_raw{shown}"] = _tensor(index), _raw_tensor(index)
        else:
            result[shown] = _plain(op, show)
    return result


def _positions(op: Operation) -> list[int]:
    """Return where what is no tensor stands among the things that are saved."""
    return [i for i, name in enumerate(op.saved_names) if not op.is_tensor(name)]


def _optional(op: Operation) -> list[int]:
    given = {p.name for p in op.tensors if p.type == "Tensor?"}
    return [i for i, name in enumerate(op.saved_names) if name in given]


def _keeper(op: Operation) -> Any:
    """Return what of the saved things outlives the tensors; None if there is nothing."""
    positions, optional = _positions(op), _optional(op)
    if not (positions or optional):
        return None
    if not optional:
        return itemgetter(
            *positions, positions[0]
        )  # twice the first one: of a single position there is a tuple then, too
    return staticmethod(
        lambda saved: (*[saved[i] for i in positions], frozenset(i for i in optional if saved[i] is None))
    )


def _item(node: Node, op: Operation, name: str) -> Any:
    """Something that is no tensor, also after the graph was freed."""
    index = op.saved_names.index(name)
    if node._ag_saved is not None:
        return node._ag_saved[index]
    return node._ag_kept[_positions(op).index(index)]


def _in_pytorchs_form(value: Any) -> Any:
    if isinstance(value, (Given, GivenSizes)):
        value = value.given
    if value.__class__ in (tuple, list):
        return tuple(map(_in_pytorchs_form, value))
    return value % _UNSIGNED if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(op: Operation, name: str) -> property:
    kind = next((p.type for p in op.schema.parameters if p.name == name), "int[]")
    if kind.startswith(("int", "SymInt")):
        return property(lambda node: _in_pytorchs_form(_item(node, op, name)))
    return property(lambda node: value.given if isinstance(value := _item(node, op, name), Given) else value)


def _made(op: Operation, show: Callable[..., Any], given: tuple[str, ...]) -> property:
    return property(lambda node: _in_pytorchs_form(show(*[_item(node, op, name) for name in given])))


def _tensor(index: int) -> property:

    def get(node: Node) -> Any:
        if node._ag_saved is None:
            return _freed(node, index)
        item = node._ag_saved[index]
        if isinstance(item, SavedList):
            return tuple(item.shown.tensors())
        number = None if item is None else number_of(item)
        return unpack(node, index) if number is None else make(np.asarray(number)[()])

    return property(get)


def _freed(node: Node, index: int) -> None:
    """None for what was None; PyTorch's error for what was freed."""

    op = node._ag_operation
    guard = op.required_edges[op.saved_names[index]]
    if guard is not None and guard < len(node._ag_edges) and node._ag_edges[guard] is None:
        return
    if index in _optional(op) and index in node._ag_kept[-1]:
        return
    raise freed()


def _derived(op: Operation, show: Callable[..., Any]) -> property:
    """A tensor that the formulas do not need, worked out from those that they do."""

    def get(node: Node) -> Any:
        positions = map(op.saved_names.index, needs(show))
        if node._ag_saved is None:
            raise freed()
        found = [unpack(node, i).detach() for i in positions]
        before, thread_state.grad = thread_state.grad, False
        try:
            return show(*found)
        finally:
            thread_state.grad = before

    return property(get)


def _raw_tensor(index: int, derived: str = "") -> property:

    def get(node: Node) -> Any:
        if node._ag_saved is not None and isinstance(node._ag_saved[index], SavedList):
            return tuple(
                SavedTensor(node, index, position) for position in range(len(node._ag_saved[index].shown._items))
            )
        if node._ag_saved is None and any(
            p.is_list and p.name == node._ag_item_names[index] for p in node._ag_operation.tensors
        ):
            raise freed()
        return SavedTensor(node, index, derived=derived)

    return property(get)
