"""The operations of a graph with the arguments that were recorded, to be written as a call and to be run again."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.graph.records import Node
from autograph_cli.torch._core.base.schema import REQUIRED, Parameter
from autograph_cli.torch._core.operations.operation import Operation, table

Tensor = Any
_SLOT = object()


class Unknown(Exception):
    """An operation that cannot be run again; says why, as in `is random`."""


class Bound:
    """An operation with its arguments; called with the tensors that stand in `node.args`, in that order."""

    def __init__(self, record: Operation, slots: Sequence[Any], plain: Mapping[str, Any]) -> None:
        self.record, self.slots = record, slots
        self.plain = plain
        """The arguments that are no tensors, without those that have their default."""

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        positional, named = [], {}
        for parameter, slot in zip(self.record.schema.parameters, self.slots, strict=True):
            value = _counted(self.record, parameter, _filled(slot, tensors), tensors)
            if parameter.keyword_only:
                named[parameter.name] = value
            else:
                positional.append(value)
        found = self.record.function(*positional, **named)
        return found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)


def _counted(record: Operation, parameter: Parameter, value: Any, tensors: Sequence[Tensor]) -> Any:
    """The argument; a dimension that was counted from the last one is counted from the first, as records have it."""
    if not parameter.name.startswith("dim"):
        return value
    count = max(1, tensors[0].ndim + (record.name in _GROWING))
    if isinstance(value, (tuple, list)):
        return tuple(dim + count if dim < 0 else dim for dim in value)
    return value + count if isinstance(value, int) and value < 0 else value


_GROWING = ("stack", "unsqueeze")
"""Operations whose result has a dimension more, among which theirs is counted."""


class _At(int):
    """The place of a tensor among those that are given."""


def _filled(slot: Any, tensors: Sequence[Tensor]) -> Any:
    if isinstance(slot, _At):
        return tensors[slot]
    return [_filled(each, tensors) for each in slot] if isinstance(slot, list) else slot


FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1}
"""Operations that make tensors of one number."""


def recorded(node: Node) -> dict[str, Any]:
    """The arguments of a node's operation that are no tensors, by name, and what else its node keeps."""
    return {name: _plain(value) for name, value in node.plain}


def _plain(value: str) -> object:
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"inf": float("inf"), "-inf": -float("inf")}.get(value, value)


def bound(node: Node) -> Bound:
    """A node's operation with all of its arguments; raises `Unknown`."""
    name = node.op if node.op in _names() else node.op.rstrip("_")
    if node.is_custom:
        raise Unknown("is a custom Function")
    if name not in _names():
        raise Unknown("is not in the table of operations")
    found = sorted(_names()[name], key=lambda record: record.node_name != node.name)
    for record in found:
        try:
            return _bind(record, node)
        except Unknown as error:
            reason = error
    raise reason


def _names() -> dict[str, list[Operation]]:
    if not _NAMES:
        for record in table.values():
            _NAMES.setdefault(record.name, []).append(record)
    return _NAMES


_NAMES: dict[str, list[Operation]] = {}


def _bind(record: Operation, node: Node) -> Bound:
    if record.random:
        raise Unknown("is random")
    plain = recorded(node)
    plain |= {ours: plain[shown] for shown, ours in record.saved.items() if isinstance(ours, str) and shown in plain}
    names = {parameter.name for parameter in record.schema.parameters}
    told = {name for name, _ in node.constants}
    for name, value in plain.items():
        derived = name in record.saved or (name not in told and name.endswith(_DERIVED))
        if name not in names and not derived and value not in (None, False):
            raise Unknown(f"keeps {name}, which is no argument of it")
    places = iter(_places(record, node, plain))
    slots, given = list[Any](), {}
    for parameter in record.schema.parameters:
        if parameter.is_tensor or parameter.is_list:
            slots.append(next(places))
            continue
        if parameter.name not in plain and parameter.default is REQUIRED:
            raise Unknown(f"takes {parameter.name}, which is not recorded")
        value = plain.get(parameter.name, parameter.default)
        slots.append(_typed(parameter, value))
        if value != parameter.default and value is not None:
            given[parameter.name] = value
    return Bound(record, slots, given)


_DERIVED = ("sizes", "strides", "layout", "numel", "scalar_type", "dtype", "options", "self_dim")
"""The endings of names that a node keeps beside the arguments of its operation."""


def _typed(parameter: Parameter, value: Any) -> Any:
    if parameter.type.startswith("ScalarType") and value is not None:
        name = str(value).removeprefix("torch.")
        if name not in ("bool", "uint8", "int8", "int16", "int32", "int64") and "float" not in name:
            raise Unknown(f"is of {value}")
        return np.dtype("float64" if "float" in name else name)
    if parameter.type.startswith(("Tensor", "Layout", "Device", "MemoryFormat", "Generator")) and value is not None:
        raise Unknown(f"takes {parameter.name}, of type {parameter.type}")
    return value


def _places(record: Operation, node: Node, plain: Mapping[str, Any]) -> list[Any]:
    """For each parameter that takes tensors, what stands in it: a place among `node.args`, a number, or nothing."""
    count = len(node.args)
    parameters = record.tensors
    numbers = {p.name: plain[p.name] for p in parameters if p.is_tensor and _is_number(plain.get(p.name))}
    holes = _holes(node, plain) if record.takes_lists else None
    tensors = [p for p in parameters if p.is_tensor and p.name not in numbers]
    if len(parameters) > len(tensors) + len(numbers):
        length = count - len(tensors)
        if length < 1 or sum(p.is_list for p in parameters) > 1:
            raise Unknown("has an argument that is not recorded")
        present = set(tensors)
    else:
        length, present = 0, _present(record, node, tensors)
    found: list[Any] = []
    places = iter(range(count))
    for parameter in parameters:
        if parameter.is_list:
            row: list[Any] = [_At(next(places)) for _ in range(length)]
            if parameter.type.startswith("Tensor?"):
                row = [row.pop(0) if there else None for there in holes or [True] * length]
            found.append(row)
        elif parameter.name in numbers:
            found.append(_number(numbers[parameter.name], record))
        else:
            found.append(_At(next(places)) if parameter in present else None)
    if next(places, None) is not None:
        raise Unknown("has more arguments than it takes")
    return found


def _number(value: Any, record: Operation) -> Any:
    return value if record.promotes else torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _present(record: Operation, node: Node, tensors: Sequence[Parameter]) -> set[Parameter]:
    """Return which of the parameters have a tensor, where some need none: what the node's edges and its saved tensors
    tell."""
    needed = {p for p in tensors if p.type == "Tensor"}
    if len(node.args) == len(tensors):
        return set(tensors)
    if len(node.args) == len(needed):
        return needed
    kept = {saved.name.removeprefix("_saved_") for saved in node.saved if saved.type is not None}
    kept |= {p.name for p, edge in zip(record.inputs, node.next, strict=False) if edge is not None}
    present = needed | {p for p in tensors if p.name in kept}
    if len(present) != len(node.args):
        raise Unknown("has an argument that is not recorded")
    return present


def _holes(node: Node, plain: Mapping[str, Any]) -> list[bool]:
    """Return where an index has a tensor, from the first dimension on."""
    told = plain.get("indices")
    if told is None and isinstance(text := dict(node.constants).get("indices"), str):
        told = text
    if isinstance(told, str) and told.startswith("("):
        return [part.strip() == "tensor" for part in told.strip("()").split(",") if part.strip()]
    at = {
        int(saved.name.partition("[")[2].rstrip("]"))
        for saved in node.saved
        if saved.name.startswith("_saved_indices[")
    }
    return [position in at for position in range(max(at) + 1)] if at else []
