"""Miscellaneous operations: full tensors, hashes, memory in a given order of dimensions, and sparse tensors refused."""

from __future__ import annotations

from typing import Any

from ..._core.base import dims
from ..._core.base.dtype_checks import refuse
from ..._core.base.errors import refused
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, functions as public, methods
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_rules
from ..pointwise import arithmetic, unary
from ..reducing.reductions import wrapped_dims


@composite()
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input`, full of one number."""
    if not isinstance(value, Tensor):
        return fill_scalar(input, value)
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return fill_tensor(input, value)


fill_scalar = operation(
    "fill.functional_Scalar(Tensor self, Scalar value)",
    "fill_Scalar",
    float8=True,
    node="FillBackward0",
    pointwise=True,
    overlap="any",
    vmap_inplace="fill_",
    self=lambda f, grad: f.zeros_like(grad),
)
fill_tensor = operation(
    "fill.functional_Tensor(Tensor self, Tensor value)",
    "fill_Tensor",
    float8=True,
    node="FillBackward1",
    batch=batching_rules.copy,
    overlap="any",
    vmap_inplace="fill_",
    self=lambda f, grad: f.zeros_like(grad),
    value=lambda f, grad: f.sum(grad),
)
methods.pop("fill")


hash_op = operation("hash_tensor(Tensor self, int[] dim, bool keepdim)", batch=batching.leading)


@composite(out=True)
def hash_tensor(input: Tensor, dim: Any = (), keepdim: bool = False, *, mode: int = 0) -> Tensor:
    """All elements' bits, combined by exclusive or."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor: unknown mode {mode}")
    refuse("xor_sum_cpu", input._ag_raw, "c")
    if not input._ag_raw.size and not dim and dim != 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    for d in dims.wrap_all(dim, input.ndim):
        if input.ndim and not input._ag_raw.shape[d]:
            raise refused(IndexError, f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    return hash_op(input, wrapped_dims(dim, input), keepdim)


methods["__rdiv__"] = lambda self, other: arithmetic.mul(unary.reciprocal(self), other)


@composite(method=False)
def detach(input: Tensor) -> Tensor:
    """The same memory outside the graph."""
    return input.detach()


@composite(method=False, name="detach_")
def detach_in_place(input: Tensor) -> Tensor:
    """Leave the graph."""
    return input.detach_()


@composite(method=False)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, requires_grad: bool = False, **placement: Any
) -> Tensor:
    """Uninitialized memory of a shape, whose dimensions are laid out in memory in a given order."""
    order = tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for d in order:
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d}")
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    made = public["empty"]([size[d] for d in order], dtype=dtype, **placement)
    found = make(
        made._ag_raw.transpose(sorted(range(len(order)), key=order.__getitem__)) if made.ndim else made._ag_raw
    )
    return found.requires_grad_() if requires_grad else found
