"""Cumulative sums and products."""

from __future__ import annotations

from typing import Any

from ..._core.base import dims
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import overloaded
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from .reductions import raw_dtype

cumsum_op = operation(
    "cumsum(Tensor self, int dim, ScalarType? dtype=None)",
    linear=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, dim: backward_cumsum(f, grad, dim) if grad.ndim and grad.shape[dim] > 1 else grad,
)
cumprod_op = operation(
    "cumprod(Tensor self, int dim, ScalarType? dtype=None)",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, result, dim: cumprod_gradient(f, grad, self, result, dim),
)


@overloaded(out="partial")
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """The sum of the elements up to each one, along `dim`."""
    return cumsum_op, input, dims.wrap(dim, input._ag_raw.ndim), raw_dtype(dtype)


@overloaded(out="partial")
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """The product of the elements up to each one, along `dim`."""
    return cumprod_op, input, dims.wrap(dim, input._ag_raw.ndim), raw_dtype(dtype)


def cumprod_gradient(f: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    """The sum over later results of each one's gradient times that result without this factor."""
    n = self.shape[dim] if self.ndim else 1
    if n <= 1:
        return grad
    if not f.zeros_in(self):
        return f.div(backward_cumsum(f, f.conj(result) * grad, dim), f.conj(self))
    return f.cumprod_around_zeros(grad, self, result, dim)


def _cumprod_around_zeros(grad: Any, self: Any, result: Any, dim: int) -> Any:
    """Each product without one factor, written out; what can be differentiated again."""
    f, n = operations, self.shape[dim]
    x, parts = f.conj(self), []
    for k in range(n):
        after = f.cumprod(f.slice(x, dim, k + 1, n, 1), dim) if k < n - 1 else None
        if k == 0:
            others = f.cat([f.ones_like(f.slice(x, dim, 0, 1, 1)), after], dim)
        else:
            before = f.prod_dim_int(f.slice(x, dim, 0, k, 1), dim, True)
            others = before if after is None else f.cat([before, f.expand(before, tuple(after.shape)) * after], dim)
        parts.append(f.sum_dim_IntList(f.slice(grad, dim, k, n, 1) * others, (dim,), False))
    return f.laid_side_by_side(parts, dim)


def laid_side_by_side(parts: list[Tensor], dim: int) -> Tensor:
    """Slices written one by one into new memory, as PyTorch records it."""
    if parts[0].is_meta:
        return operations.stack(parts, dim)
    shape = parts[0]._ag_raw.shape
    result: Tensor = operations.zeros_of((*shape[:dim], len(parts), *shape[dim:]), parts[0])
    for k, part in enumerate(parts):
        operations.select(result, dim, k).copy_(part)
    return result


operations.cumprod_around_zeros = _cumprod_around_zeros


operations.laid_side_by_side = laid_side_by_side


def backward_cumsum(f: Any, x: Any, dim: int) -> Any:
    """Sums from the end."""
    return f.flip(f.cumsum(f.flip(x, (dim,)), dim), (dim,))
