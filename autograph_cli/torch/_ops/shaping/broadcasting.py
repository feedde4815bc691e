"""Shapes made larger without copies: expand and broadcast, and the sums that take their gradients back."""

from __future__ import annotations

import functools
from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.size import Size
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_rules
from ..matrices._errors import all_tensors
from ..reducing.reductions import sum_all, sum_dim
from .views import view_op

expand_op = operation(
    "expand(Tensor self, int[] size)",
    view=True,
    batch=batching_rules.expand,
    self=lambda f, grad, self_sizes: f.sum_to_size(grad, self_sizes),
)


@composite(function=False, formula=True)
def expand(input: Tensor, *size: Any, implicit: bool = False) -> Tensor:
    """A view with dimensions of size 1 repeated to `size` without copying, and new ones in front; -1 keeps a size.

    RuntimeError where another size than 1 would have to change.
    """
    return expand_op(input, expanded(input, dims.sizes(size)))


def expanded(input: Tensor, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `input` is to be expanded to, with every -1 replaced; RuntimeError where it cannot be."""
    shape = input._ag_raw.shape
    if len(wanted) < len(shape):
        raise RuntimeError(
            f"expand({dtypes.type_name(input.dtype)}{{{list(shape)}}}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    return _expanded(shape, wanted)


@functools.lru_cache(4096)
def _expanded(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(wanted) - len(shape)
    full = []
    for i in reversed(range(len(wanted))):
        n = wanted[i]
        have = shape[i - lead] if i >= lead else None
        if n == -1:
            if have is None:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            n = have
        if have is not None and have not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        full.append(n)
    return tuple(reversed(full))


@composite(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor as a view of the shape of `other`, as `expand` gives it."""
    return expand(input, other.shape)


@composite()
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """`input` as a view of the shape `size`, as `expand` gives it. RuntimeError where it cannot be broadcast to
    that.
    """
    return expand(input, *size)


@composite(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as views of their common shape. RuntimeError if they have none."""
    given = all_tensors(tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors)
    shapes = [x._ag_raw.shape for x in given]
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(given)
    shape = dims.broadcast(*shapes)
    return tuple(x if x._ag_raw.shape == shape else expand(x, shape) for x in given)


@composite(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes are broadcast. RuntimeError if there is none."""
    whole = [(s,) if isinstance(s, int) else s for s in shapes]
    return Size(dims.broadcast(*(Size(+n for n in s) for s in whole)))  # + makes an int of a bool, of nothing else


@composite(formula=True, function=False)
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum over the dimensions that broadcasting from `size` added or stretched."""
    shape, have = dims.sizes(size), input._ag_raw.shape
    if not shape:
        return sum_all(input)
    if shape == have:
        return input
    lead = len(have) - len(shape)
    if lead < 0 or any(n not in (1, have[lead + i]) for i, n in enumerate(shape)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(have)}}}.")
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1))
    summed = sum_dim(input, axes, True)
    return view_op(summed, shape) if lead else summed
