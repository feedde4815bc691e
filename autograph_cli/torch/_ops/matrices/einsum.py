"""Einstein's summation, contracted pair by pair as PyTorch does it."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..pointwise import arithmetic
from ..reducing.reductions import sum_dim
from ..shaping import views
from . import linear

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = "."
NOTHING = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
    "subscripts list"
)


@composite(method=False)
def einsum(*args: Any) -> Tensor:
    """Products of elements, summed over every label that the output does not name.

    Also takes operands and lists of label numbers in turn. RuntimeError for what is no equation or does not fit.

    >>> from autograph_cli import torch
    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not args:
        raise refused(ValueError, NOTHING)
    equation, operands = _from_sublists(args) if isinstance(args[0], Tensor) else (args[0], list(args[1:]))
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    if not operands:
        raise refused(ValueError, NOTHING)
    if not isinstance(equation, str):
        raise refused(TypeError, f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}")
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise refused(TypeError, f"expected Tensor as element {i} in argument 1, but got {type_name(x)}")
    inputs, output = _read(equation, len(operands))
    return _contract(inputs, output, operands)


Labels = tuple[str, ...]
Shape = tuple[int, ...]


@functools.lru_cache(maxsize=256)
def _read(equation: str, count: int) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each of `count` operands, and those of the output."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = tuple([_labels(part, f"operand {i}") for i, part in enumerate(left.split(","))])
    if len(inputs) != count:
        more = "fewer" if len(inputs) > count else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    return inputs, _labels(right, "the output") if arrow else _implied(inputs)


def _from_sublists(args: Any) -> tuple[str, list[Tensor]]:
    def text(labels: Any) -> str:
        return "".join("..." if x is Ellipsis else LETTERS[x] for x in labels)

    pairs = len(args) // 2
    equation = ",".join(text(args[2 * i + 1]) for i in range(pairs))
    return equation + (f"->{text(args[-1])}" if len(args) % 2 else ""), [args[2 * i] for i in range(pairs)]


def _labels(text: str, where: str) -> Labels:
    """Letters, and one item for an ellipsis."""
    if text.count(".") not in (0, 3) or (("." in text) and "..." not in text):
        raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
    labels = tuple(text.replace("...", ELLIPSIS))
    for i, label in enumerate(labels):
        if label != ELLIPSIS and label not in LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
    return labels


def _implied(inputs: tuple[Labels, ...]) -> Labels:
    """The ellipsis, then each letter that stands once, in the alphabet's order (capitals first)."""
    every = [x for labels in inputs for x in labels]
    once = sorted(x for x in set(every) if x != ELLIPSIS and every.count(x) == 1)
    return (*[ELLIPSIS] * (ELLIPSIS in every), *once)


def _contract(inputs: tuple[Labels, ...], output: Labels, operands: list[Tensor]) -> Tensor:
    positions, hidden, kept, total = _planned(inputs, output, tuple([x._ag_raw.ndim for x in operands]))
    if hidden:
        _check_hidden(inputs, tuple([x._ag_raw.shape for x in operands]), hidden)
    laid = [_laid_out(x, labels, positions, hidden, total) for labels, x in zip(inputs, operands, strict=True)]
    shapes = tuple([x._ag_raw.shape for x in laid])
    _check_sizes(positions, shapes)
    result = laid[0]
    for other, step in zip(laid[1:], _steps(shapes, kept, total), strict=True):
        result = _pair(result, other, *step)
    if total == kept:
        return result
    if len(laid) > 1:
        return views.view_op(result, result._ag_raw.shape[:kept])
    return sum_dim(result, tuple(range(kept, total)))


Positions = tuple[tuple[str, int], ...]
"""Each label, and its first dimension."""


@functools.lru_cache(maxsize=256)
def _planned(inputs: tuple[Labels, ...], output: Labels, ranks: tuple[int, ...]) -> tuple[Positions, int, int, int]:
    """Return where labels stand; how many dimensions an ellipsis has, the output has, and there are."""
    hidden = 0
    for i, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        named = sum(label != ELLIPSIS for label in labels)
        if ELLIPSIS in labels and named > rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                f"({rank}) for operand {i}"
            )
        if ELLIPSIS not in labels and named != rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({rank}) for operand {i} and no ellipsis was given"
            )
        hidden = max(hidden, rank - named) if ELLIPSIS in labels else hidden
    positions = _positions(inputs, output, hidden)
    kept = sum(hidden if label == ELLIPSIS else 1 for label in output)
    total = max((p + (hidden if label == ELLIPSIS else 1) for label, p in positions.items()), default=0)
    return tuple(positions.items()), hidden, kept, max(total, kept)


def _positions(inputs: tuple[Labels, ...], output: Labels, hidden: int) -> dict[str, int]:
    """The first dimension of each label: those of the output first, then those that are summed, in the alphabet's
    order."""
    positions: dict[str, int] = {}
    every = {label for labels in inputs for label in labels}
    for label in output:
        if label in positions:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in every and label != ELLIPSIS:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        positions[label] = sum(hidden if known == ELLIPSIS else 1 for known in positions)
    for label in sorted(every - set(positions), key=lambda x: (x != ELLIPSIS, x)):
        positions[label] = sum(hidden if known == ELLIPSIS else 1 for known in positions)
    return positions


def _laid_out(x: Tensor, labels: Labels, positions: Positions, hidden: int, total: int) -> Tensor:
    """The operand with a dimension for every label, in the common order."""
    repeated, order = _order(labels, positions, hidden, total, x._ag_raw.ndim)
    for label, first, second in repeated:
        n, m = x._ag_raw.shape[first], x._ag_raw.shape[second]
        if n != m:
            raise RuntimeError(
                f"einsum(): subscript {label} is repeated for operand 0 but the sizes don't match, {m} != {n}"
            )
        x = views.movedim(views.diagonal(x, 0, first, second), -1, first)
    for d in range(x._ag_raw.ndim, total):
        x = views.unsqueeze_op(x, d)
    return views.permute_op(x, order)


@functools.lru_cache(maxsize=256)
def _order(
    labels: Labels, positions: Positions, hidden: int, total: int, rank: int
) -> tuple[list[tuple[str, int, int]], tuple[int, ...]]:
    """The pairs of dimensions with one label, of which a diagonal is to be taken; and the dimensions of the operand,
    and those that it lacks, in the common order."""
    where, order, repeated = dict(positions), [-1] * total, []
    own = rank - sum(label != ELLIPSIS for label in labels)
    next_dim = 0
    for label in labels:
        if label == ELLIPSIS:
            start = where[label] + hidden - own
            for k in range(own):
                order[start + k] = next_dim
                next_dim += 1
        elif order[where[label]] == -1:
            order[where[label]] = next_dim
            next_dim += 1
        else:
            repeated.append((label, order[where[label]], next_dim))
    for i, d in enumerate(order):
        if d == -1:
            order[i] = next_dim
            next_dim += 1
    return repeated, tuple(order)


@functools.lru_cache(maxsize=256)
def _check_hidden(inputs: tuple[Labels, ...], shapes: tuple[Shape, ...], hidden: int) -> None:
    """RuntimeError where the dimensions of the ellipses do not broadcast."""
    seen = [1] * hidden
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own = len(shape) - len(labels) + 1 if ELLIPSIS in labels else 0
        for k in range(own):
            d, at = labels.index(ELLIPSIS) + k, hidden - own + k
            if shape[d] != 1 and seen[at] not in (1, shape[d]):
                raise RuntimeError(
                    f"einsum(): dimension {d} covered by ellipsis in operand {i}has size {shape[d]} which does not "
                    f"broadcast with previously seen ellipsis with size {seen[at]} for the respective dimension"
                )
            seen[at] = shape[d] if seen[at] == 1 else seen[at]


@functools.lru_cache(maxsize=256)
def _check_sizes(positions: Positions, shapes: tuple[Shape, ...]) -> None:
    for label, d in positions:
        if label == ELLIPSIS:
            continue
        seen = 1
        for i, shape in enumerate(shapes):
            n = shape[d]
            if n != 1 and seen != 1 and n != seen:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {i} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            seen = n if seen == 1 else seen


@functools.lru_cache(maxsize=256)
def _steps(shapes: tuple[Shape, ...], kept: int, total: int) -> tuple[tuple[Shape, Shape, Shape], ...]:
    """For each operand after the first: the dimensions to be summed of what there is before it alone, of it alone, and
    of their product."""
    counts = [sum(shape[d] != 1 for shape in shapes) for d in range(total)]
    there, steps = [n != 1 for n in shapes[0]], []
    for shape in shapes[1:]:
        found: tuple[list[int], list[int], list[int]] = ([], [], [])
        for d, (before, n) in enumerate(zip(there, shape, strict=True)):
            there[d] = before or n != 1
            if d < kept or not there[d]:
                continue
            together = before and n != 1
            counts[d] -= together
            if counts[d] == 1:
                found[2 if together else 0 if before else 1].append(d)
                counts[d], there[d] = 0, False
        steps.append((tuple(found[0]), tuple(found[1]), tuple(found[2])))
    return tuple(steps)


def _pair(a: Tensor, b: Tensor, first: Shape, second: Shape, summed: Shape) -> Tensor:
    """The product of two operands, summed over `summed` (which stay as dimensions of length 1), by one batched
    product; before it each alone over dimensions of its own."""
    a = sum_dim(a, first, True) if first else a
    b = sum_dim(b, second, True) if second else b
    if not summed:
        return arithmetic.mul(a, b)
    left, right, size, order = _pairing(a._ag_raw.shape, b._ag_raw.shape, summed)
    rows = views.reshaped(views.permute_op(a, left[0]), left[1])
    columns = views.reshaped(views.permute_op(b, right[0]), right[1])
    return views.permute_op(views.view_op(linear.bmm_(rows, columns), size), order)


Turned = tuple[tuple[int, ...], Shape]
"""The dimensions of an operand in another order, and then the sizes of its matrices."""


@functools.lru_cache(maxsize=256)
def _pairing(shape_a: Shape, shape_b: Shape, summed: tuple[int, ...]) -> tuple[Turned, Turned, Shape, tuple[int, ...]]:
    """Return how two operands become batches of matrices, and how their products become a result."""
    free = [d for d in range(len(shape_a)) if d not in summed]
    batch = [d for d in free if shape_a[d] != 1 and shape_b[d] != 1]
    rows = [d for d in free if shape_a[d] != 1 and shape_b[d] == 1]
    columns = [d for d in free if shape_a[d] == 1]
    n, m, k, p = (
        math.prod(s[d] for d in ds)
        for s, ds in ((shape_a, batch), (shape_a, rows), (shape_a, summed), (shape_b, columns))
    )
    order = (*batch, *rows, *summed, *columns)
    size = (*(shape_a[d] for d in (*batch, *rows)), *(1 for _ in summed), *(shape_b[d] for d in columns))
    back = tuple([order.index(d) for d in range(len(shape_a))])
    return (order, (n, m, k)), ((*batch, *summed, *columns, *rows), (n, k, p)), size, back
