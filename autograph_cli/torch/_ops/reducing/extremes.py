"""The largest and the smallest elements, and where they are."""

from __future__ import annotations

from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import is_meta
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..pointwise.arithmetic import maximum, minimum
from ..tensors.results import named_result
from .reductions import put_back, share_among_equal, wrapped_dims

_max_result, _min_result = (named_result(name, "values", "indices") for name in ("max", "min"))
max_all = operation(
    "max(Tensor self)",
    "amax",
    node="MaxBackward1",
    refuses={"c": "max_all"},
    memory_format="own",
    batch=batching_rules.over_all("amax"),
    self=lambda f, grad, self, result: share_evenly(f, grad, self, result),
)
min_all = operation(
    "min(Tensor self)",
    "amin",
    node="MinBackward1",
    refuses={"c": "min_all"},
    memory_format="own",
    batch=batching_rules.over_all("amin"),
    self=lambda f, grad, self, result: share_evenly(f, grad, self, result),
)
max_dim = operation(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    node="MaxBackward0",
    nondifferentiable=("indices",),
    refuses={"c": RuntimeError("max(): does not support complex input")},
    memory_format="own",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, indices, keepdim: put_back(f, grad, self_sizes, dim, indices, keepdim),
)
min_dim = operation(
    "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    node="MinBackward0",
    nondifferentiable=("indices",),
    refuses={"c": RuntimeError("min(): does not support complex input")},
    memory_format="own",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, indices, keepdim: put_back(f, grad, self_sizes, dim, indices, keepdim),
)
amax_op = operation(
    "amax(Tensor self, int[] dim=[], bool keepdim=False)",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, result, dim, keepdim: share_among_equal(f, grad, self, result, dim, keepdim),
)
amin_op = operation(
    "amin(Tensor self, int[] dim=[], bool keepdim=False)",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, result, dim, keepdim: share_among_equal(f, grad, self, result, dim, keepdim),
)
argmax_op = operation("argmax(Tensor self, int? dim=None, bool keepdim=False)", batch=batching_rules.arg_reduction)
argmin_op = operation("argmin(Tensor self, int? dim=None, bool keepdim=False)", batch=batching_rules.arg_reduction)


def share_evenly(f: Any, grad: Any, self: Any, result: Any) -> Any:
    """The gradient of an extreme, shared evenly by all elements that equal it."""
    mask = f.where(f.isnan(result), f.isnan(self), f.eq(self, result))
    share = f.div(grad, f.cast_like(f.sum(mask), grad))
    if is_meta(grad):
        return f.mul(mask, share)
    return f.masked_fill_Tensor(f.zeros_of(tuple(self.shape), grad), mask, share)


def _check_extreme(name: str, input: Tensor, dim: Any) -> None:
    """Raise PyTorch's errors where there is nothing to choose from."""
    raw = input._ag_raw
    if raw.dtype.kind == "c":
        wrapped_dims(dim, input)
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")
    if raw.size:
        return
    if not isinstance(dim, int) and len(dim) == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    given = (dim,) if isinstance(dim, int) else dim
    for d, shown in zip(wrapped_dims(dim, input), given, strict=True):
        if raw.shape[d] == 0:
            raise refused(IndexError, f"{name}(): Expected reduction dim {shown} to have non-zero size.")


@composite(out=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The maximum over `dim`; equal elements share the gradient."""
    dim = () if dim is None else dim
    _check_extreme("amax", input, dim)
    return amax_op(input, wrapped_dims(dim, input), keepdim)


@composite(out=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The minimum over `dim`; equal elements share the gradient."""
    dim = () if dim is None else dim
    _check_extreme("amin", input, dim)
    return amin_op(input, wrapped_dims(dim, input), keepdim)


def _extreme(input: Tensor, dim: Any, keepdim: bool, whole: Any, along: Any, pairwise: Any, named: Any) -> Any:
    if isinstance(dim, Tensor):
        return pairwise(input, dim)
    if dim is None:
        if input._ag_raw.size == 0:
            raise RuntimeError(
                f"{along.op.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument."
            )
        return whole(input)
    dim = dims.wrap(dim, input._ag_raw.ndim)
    check_elements(along.op.name, input, dim)
    return named(*along(input, dim, keepdim))


@composite(out="partial")
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; over `dim`, values and indices; of two tensors, the larger of each pair."""
    return _extreme(input, other if other is not None else dim, keepdim, max_all, max_dim, maximum, _max_result)


@composite(out="partial")
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; over `dim`, values and indices; of two tensors, the smaller of each pair."""
    return _extreme(input, other if other is not None else dim, keepdim, min_all, min_dim, minimum, _min_result)


def check_elements(name: str, input: Tensor, dim: int) -> None:
    """Refuse to choose an element along a dimension that has none."""
    if input._ag_raw.ndim and input._ag_raw.shape[dim] == 0:
        raise refused(IndexError, f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _check_order(name: str, input: Tensor) -> None:
    if input._ag_raw.dtype.kind in "bc":
        kind = "bool" if input._ag_raw.dtype.kind == "b" else "complex"
        raise RuntimeError(f"{name}(): does not support {kind} input")


def _extreme_index(name: str, op: Any, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    _check_order(name, input)
    d = None if dim is None else dims.wrap(dim, input._ag_raw.ndim)
    if d is None and not input._ag_raw.size:
        raise refused(IndexError, f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    if d is not None:
        check_elements(name, input, d)
    result: Tensor = op(input, d, keepdim)
    return result


@composite(out=True)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element along `dim`; without `dim`, in the flattened tensor.

    IndexError where there are no elements to compare.
    """
    return _extreme_index("argmax", argmax_op, input, dim, keepdim)


@composite(out=True)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element along `dim`; without `dim`, in the flattened tensor.

    IndexError where there are no elements to compare.
    """
    return _extreme_index("argmin", argmin_op, input, dim, keepdim)
