"""The arguments of operations: numbers beside tensors, and what is said of those that are neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.class_names import type_name
from ..base.errors import refused
from ..tape.tensor import Tensor, make
from ..tape.wrapped_numbers import wrap_number
from .parsing import parser

if TYPE_CHECKING:
    from ..operations.operation import Operation

NUMBERS = frozenset((bool, int, float, complex))


def is_operand(x: Any) -> bool:
    """Return whether `x` can stand beside a tensor in arithmetic."""
    return isinstance(x, (Tensor, bool, int, float, complex, np.generic))


def operands(op: Operation, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with Python numbers wrapped where a tensor is wanted; a TypeError for anything else."""
    for i in op.numbers:
        if isinstance(args[i], Tensor):
            args = (*args[:i], _number(op, i, args[i]), *args[i + 1 :])
    numbers = op.promotes and not op.strict
    for i, parameter in op.positions:
        x = args[i]
        if x.__class__ is Tensor:
            continue
        if numbers and x.__class__ in NUMBERS and i and isinstance(args[0], Tensor):
            args = (*args[:i], _wrapped(op, x, args[0]), *args[i + 1 :])
        elif not _fits(parameter, x):
            break
    else:
        return args
    tensors = [x for p, x in zip(op.schema.parameters, args, strict=True) if p.is_tensor and isinstance(x, Tensor)]
    if not tensors:
        check_call(op, args)
    fixed = []
    for position, (parameter, x) in enumerate(zip(op.schema.parameters, args, strict=True)):
        if _fits(parameter, x):
            fixed.append(x)
        elif (
            numbers
            and (tensors or op.number_first)
            and (position or op.number_first)
            and isinstance(x, (bool, int, float, complex, np.generic))
        ):
            fixed.append(_wrapped(op, x, tensors[0] if tensors else OF_BOOLS))
        else:
            check_call(op, args)
            raise argument_error(op, parameter.name, position, parameter.type, x)
    return tuple(fixed)


def _number(op: Operation, position: int, x: Tensor) -> Any:
    """The one element of a tensor that stands for a number; TypeError for a tensor with dimensions or a history."""
    if x.ndim or x.requires_grad:
        shown = op.schema.parameters[position]
        kind = "Number" if shown.type.startswith("Scalar") else shown.type.rstrip("?")
        raise refused(
            TypeError, f"{op.name}(): argument '{shown.name}' (position {position + 1}) must be {kind}, not Tensor"
        )
    return x.item()


def _wrapped(op: Operation, number: Any, beside: Tensor) -> Tensor:
    if op.check is not None and number.__class__ is bool:
        op.check(beside._ag_raw, number)
    return wrap_number(number, beside, op.promotes == "floating", op.opmath == "exact numbers")


def check_call(op: Operation, args: tuple[Any, ...]) -> None:
    """Raise what PyTorch says of wrong arguments of the function that an operation is."""
    read = parser("torch", op.name)
    if read is not None:
        given = list(zip(op.schema.parameters, args, strict=True))
        positions = tuple(x for p, x in given if not p.keyword_only)
        read.check(positions, {p.name: x for p, x in given if p.keyword_only and x is not p.default})


def _fits(parameter: Any, x: Any) -> bool:
    if parameter.is_tensor:
        return isinstance(x, Tensor) or (x is None and parameter.type == "Tensor?")
    if parameter.is_list:
        optional = parameter.type.startswith("Tensor?")
        return isinstance(x, (tuple, list)) and all(isinstance(t, Tensor) or (t is None and optional) for t in x)
    return True


def argument_error(op: Operation, name: str, position: int, kind: str, x: Any) -> TypeError:
    """PyTorch's sentence for an argument of the wrong type."""
    shown = "input" if name == "self" else name
    if isinstance(x, (tuple, list)) and "[" in kind:
        index, wrong = next(((i, t) for i, t in enumerate(x) if not isinstance(t, Tensor)), (0, x))
        return refused(
            TypeError, f"expected Tensor as element {index} in argument {position}, but got {type_name(wrong)}"
        )
    expected = "tuple of Tensors" if "[" in kind else "Tensor"
    return refused(
        TypeError, f"{op.name}(): argument '{shown}' (position {position + 1}) must be {expected}, not {type_name(x)}"
    )


OF_BOOLS = make(np.False_)
"""The operands beside numbers that come without a tensor: any number has its own dtype there."""
