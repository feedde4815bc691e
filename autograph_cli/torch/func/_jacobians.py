"""Whole matrices of derivatives: `jacrev`, `jacfwd`, `hessian`."""

from __future__ import annotations

import functools
import math
from typing import Any

from .._core.tape.tensor import Tensor
from .._core.transforms.reverse import standard_basis
from .._functorch.vmap import vmap
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._arguments import Function, chosen
from ._gradients import pullback
from ._tangents import pushed


def jacrev(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """A function that computes the Jacobian of `func` by its arguments `argnums`, backward: a row for each output
    element.

    Shape: that of the output, then that of the input. `chunk_size` rows are computed at once (all, if None).

    >>> from autograph_cli import torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def run(*args: Any) -> Any:
        _check_real("jacrev", "inputs", chosen(argnums, args))
        value, pull, aux = pullback(func, args, argnums, has_aux)
        _check_real("jacrev", "outputs", value)
        outputs, spec = tree_flatten(value)
        rows = vmap(lambda *basis: pull(tree_unflatten(basis, spec)), chunk_size=chunk_size)(*standard_basis(outputs))
        sizes = [_count(y) for y in outputs]

        def split(stacked: Tensor) -> list[Any]:
            parts: Any = stacked.split(sizes)
            return [part.view((*y.shape, *stacked.shape[1:])) for part, y in zip(parts, outputs, strict=True)]

        flat, inner = tree_flatten(rows)
        columns = [split(stacked) for stacked in flat]
        found = tree_unflatten([tree_unflatten([c[i] for c in columns], inner) for i in range(len(outputs))], spec)
        return (found, aux) if has_aux else found

    return run


def jacfwd(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """A function that computes the Jacobian of `func` by its arguments `argnums`, forward: a column for each input
    element.

    Shape: that of the output, then that of the input. `randomness` as in `vmap`.

    >>> from autograph_cli import torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def run(*args: Any) -> Any:
        primals = chosen(argnums, args)
        inputs, spec = tree_flatten(primals)
        _check_real("jacfwd", "inputs", primals)

        def push(*basis: Any) -> Any:
            value, slope, aux = pushed(func, args, tree_unflatten(basis, spec), argnums, False, has_aux)
            _check_real("jacfwd", "outputs", value)
            return (slope, aux) if has_aux else slope

        columns = vmap(push, randomness=randomness)(*standard_basis(inputs))
        aux = None
        if has_aux:
            columns, aux = columns
            aux = tree_map(lambda x: x[0], aux)
        sizes = [_count(x) for x in inputs]

        def split(stacked: Tensor) -> Any:
            parts: Any = stacked.movedim(0, -1).split(sizes, -1)
            blocks = [
                part.unflatten(-1, x.shape) if x.ndim else part.squeeze(-1)
                for part, x in zip(parts, inputs, strict=True)
            ]
            return tree_unflatten(blocks, spec)

        found = tree_map(split, columns)
        return (found, aux) if has_aux else found

    return run


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function that computes the Hessian of `func` by its arguments `argnums`: forward over backward.

    >>> from autograph_cli import torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _count(t: Tensor) -> int:
    return math.prod(t._ag_raw.shape)


def _check_real(name: str, what: str, tree: Any) -> None:
    for i, x in enumerate(tree_flatten(tree)[0]):
        if isinstance(x, Tensor) and x.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )
