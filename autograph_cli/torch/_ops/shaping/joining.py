"""Joining and splitting."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import Handed, hands_on
from ..._core.base import dims
from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.base.memory_format import joined, stacked
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..matrices._errors import all_tensors


@functools.lru_cache(4096)
def split_lengths(n: int, size: int) -> tuple[int, ...]:
    """The lengths of the parts that a dimension is split into."""
    return tuple([min(size, n - i) for i in range(0, max(n, 1), max(size, 1))])


cat_op = operation(
    "cat(Tensor[] tensors, int dim=0)",
    float8=True,
    saved={"tensors_sizes": None},
    linear=True,
    autocast="promote",
    memory_format=joined,
    batch=batching_rules.cat,
    tensors=lambda f, grad, tensors_sizes, dim: cut(f, grad, tensors_sizes, dim),
)
stack_op = operation(
    "stack(Tensor[] tensors, int dim=0)",
    float8=True,
    saved={"tensors_sizes": None},
    linear=True,
    autocast="promote",
    memory_format=stacked,
    batch=partial(batching.leading, more=1),
    tensors=lambda f, grad, tensors_sizes, dim: [f.select(grad, dim, i) for i in range(len(tensors_sizes))],
)
split_op = operation(
    "split(Tensor self, int split_size, int dim)",
    view=True,
    list_result=True,
    batch=batching.leading,
    aten="split.Tensor",
    self=lambda f, grads, split_size, dim, self_sizes: join(
        f, grads, split_lengths(self_sizes[dim], split_size), self_sizes, dim
    ),
)
split_with_sizes = operation(
    "split_with_sizes(Tensor self, int[] split_sizes, int dim)",
    view=True,
    list_result=True,
    saved={"split_sizes": "split_sizes"},
    batch=batching.leading,
    self=lambda f, grads, split_sizes, dim, self_sizes: join(f, grads, split_sizes, self_sizes, dim),
)
unbind_op = operation(
    "unbind(Tensor self, int dim=0)",
    saved={"self_sizes": None},
    view=True,
    list_result=True,
    batch=batching.leading,
    self=lambda f, grads, dim, self_sizes: pile(f, grads, self_sizes, dim),
)


def cut(f: Any, grad: Any, sizes: Any, dim: int) -> list[Any]:
    """The parts of a gradient that belong to each of the joined tensors."""
    start, parts, dim = 0, [], int(dim)  # as PyTorch does, no negative one
    for size in sizes:
        if size == (0,) and grad.ndim > 1:
            parts.append(f.zeros_of(size, grad))
            continue
        parts.append(f.slice(grad, dim, start, start + size[dim], 1))
        start += size[dim]
    return parts


def join(f: Any, grads: Any, lengths: Any, sizes: Any, dim: int) -> Any:
    """The gradients of the parts joined again; what has none is zero."""
    given = [g for g in grads if g is not None]
    if len(given) == len(lengths):
        return f.cat(given, int(dim))
    shapes = [(*sizes[:dim], n, *sizes[dim + 1 :]) for n in lengths]
    return f.cat([f.zeros_of(s, given[0]) if g is None else g for g, s in zip(grads, shapes, strict=True)], int(dim))


def pile(f: Any, grads: Any, sizes: Any, dim: int) -> Any:
    """The gradients of unbound slices stacked again; what has none is zero."""
    like = next(g for g in grads if g is not None)
    shape = (*sizes[:dim], *sizes[dim + 1 :])
    return f.stack([f.zeros_of(shape, like) if g is None else g for g in grads], dim)


def _same_kind(tensors: Any, name: str) -> list[Tensor]:
    if not isinstance(tensors, (tuple, list)):
        raise refused(
            TypeError,
            f"{name.removeprefix('torch.')}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type_name(tensors)}",
        )
    given = list(tensors)
    if not given:
        if name == "stack":
            raise RuntimeError("stack expects a non-empty TensorList")
        raise refused(ValueError, f"{name}(): expected a non-empty list of Tensors")
    return given


def _shapes(given: list[Tensor]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple([x._ag_raw.shape for x in given])
    except AttributeError:
        all_tensors(given)
        raise


@composite(method=False, out="apart", aliases=("concat", "concatenate"))
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors along a dimension they have.

    >>> from autograph_cli import torch
    >>> torch.cat([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    given = _same_kind(tensors, "torch.cat")
    return cat_op(given, _joined_along(dim, _shapes(given)))


@functools.lru_cache(maxsize=1 << 10, typed=True)
def _joined_along(dim: int, shapes: tuple[tuple[int, ...], ...]) -> int:
    """The dimension along which tensors of these shapes can be joined, counted from the front; a RuntimeError if they
    cannot."""
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    first = next((shape for shape in shapes if shape != (0,)), shapes[0])
    d = dims.wrap(dim, len(first))
    for index, shape in enumerate(shapes):
        if shape != (0,):
            _check_sizes(shape, first, d, index)
    return d


def _check_sizes(shape: tuple[int, ...], first: tuple[int, ...], dim: int, index: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
    for i, (n, m) in enumerate(zip(shape, first, strict=True)):
        if i != dim and n != m:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {m} but got size {n} for tensor "
                f"number {index} in the list."
            )


@composite(method=False, out="apart")
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Join equal tensors along a new dimension."""
    given = _same_kind(tensors, "stack")
    return stack_op(given, _stacked_along(dim, _shapes(given)))


@functools.lru_cache(maxsize=1 << 10, typed=True)
def _stacked_along(dim: int, shapes: tuple[tuple[int, ...], ...]) -> int:
    """Return where the new dimension of stacked tensors of these shapes stands, counted from the front; a RuntimeError
    if they differ."""
    first = shapes[0]
    for i, shape in enumerate(shapes):
        if shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(shape)} at "
                f"entry {i}"
            )
    return dims.wrap(dim, len(first) + 1)


def _split_of(input: Tensor, split_size_or_sections: Any, dim: Any = 0) -> Handed:
    size = split_size_or_sections
    if isinstance(size, Tensor) and size._ag_raw.size == 1:
        size = int(size)
    return "inner", "split" if isinstance(size, int) else "split_with_sizes", (input, size, dim), {}


def check_split(input: Tensor, size: int, dim: int) -> int:
    """The length of parts, if a dimension can be split into such; a RuntimeError otherwise."""
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and input._ag_raw.shape[dim]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {input._ag_raw.shape[dim]}"
        )
    return size


def check_sections(input: Tensor, sizes: Any, dim: int, given: int) -> tuple[int, ...]:
    """The lengths of parts, if they fill a dimension (`given`: as it was given); a RuntimeError otherwise."""
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if builtin_sum(sizes) != input._ag_raw.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input._ag_raw.shape[dim]} (input "
            f"tensor's size at dimension {given}), but got split_sizes={list(sizes)}"
        )
    return tuple(sizes)


@composite()
@hands_on(_split_of)
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `input`, each `split_size` long, or as long as a list says."""
    if not input._ag_raw.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dims.wrap(dim, input._ag_raw.ndim)
    if isinstance(split_size_or_sections, int):
        check_split(input, split_size_or_sections, d)
        result: tuple[Tensor, ...] = split_op(input, split_size_or_sections, d)  # type: ignore[assignment]
        return result
    if isinstance(split_size_or_sections, (np.integer, Tensor)):
        return split(input, int(split_size_or_sections), d)
    sizes = tuple(split_size_or_sections)
    check_sections(input, sizes, d, dim)
    parts: tuple[Tensor, ...] = split_with_sizes(input, sizes, d)  # type: ignore[assignment]
    return parts


builtin_sum = sum


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `input` in at most `chunks` parts."""
    if input._ag_raw.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._ag_raw.shape[dims.wrap(dim, input._ag_raw.ndim)]
    return split(input, max(int(-(-n // chunks)), 1) if n else [0] * chunks, dim)


@composite()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of every slice along `dim`."""
    result: tuple[Tensor, ...] = unbind_op(input, unbind_dim(input, dim))  # type: ignore[assignment]
    return result


def unbind_dim(input: Tensor, dim: int) -> int:
    """The dimension to unbind, counted from the front."""
    if input._ag_raw.ndim == 0:
        raise refused(IndexError, f"Dimension specified as {dims.wrap(dim, 0)} but tensor has no dimensions")
    return dims.wrap(dim, input._ag_raw.ndim)
