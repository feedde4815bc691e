"""Counting: unique elements, histograms, bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.meta import readable
from ..._core.arguments.arg_check import Handed, hands_on
from ..._core.base import dims, dtypes
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_rules
from ..._core.transforms.vmap_fallback import per_sample
from ..._kernels.reducing import counting
from ..pointwise.arithmetic import no_derivative
from ..reducing.reductions import wrapped_dims
from ..tensors.results import named_result

count_nonzero_op = operation(
    "count_nonzero(Tensor self, int[] dim)",
    memory_format="contiguous",
    batch=batching.leading,
)


@composite()
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Return how many elements are not 0, in all or over `dim`."""
    return count_nonzero_op(input, () if dim is None else wrapped_dims(dim, input))


# ---------------------------------------------------------------- unique elements


def _three(schema: str, kernel: Any, node: str, name: str) -> Any:
    return operation(
        f"{schema} -> (Tensor output, Tensor inverse_indices, Tensor counts)",
        kernel,
        node=node,
        nondifferentiable=("inverse_indices", "counts"),
        refuses={"c": "unique"},
        batch=batching_rules.shape_by_values,
        self=no_derivative(name, NotImplementedError),
    )


unique_op = _three("_unique2(Tensor self, int? dim=None)", "unique", "Unique2Backward0", "_unique2")
unique_dim = _three("unique_dim(Tensor self, int? dim=None)", "unique", "UniqueDimBackward0", "unique_dim")
consecutive_op = _three(
    "unique_consecutive(Tensor self, int? dim=None)",
    counting.consecutive,
    "UniqueConsecutiveBackward0",
    "unique_consecutive",
)


def _wanted(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    chosen = [found[0], *([found[1]] if return_inverse else []), *([found[2]] if return_counts else [])]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


def _unique_of(
    input: Any, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None
) -> Handed:
    named = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
    return ("inner", "_unique2", (input,), named) if dim is None else ("inner", "unique_dim", (input, dim), named)


def _consecutive_of(input: Any, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Handed:
    named = {"return_inverse": return_inverse, "return_counts": return_counts, "dim": dim}
    return "inner", "unique_consecutive", (input,), named


@composite()
@hands_on(_unique_of)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order (or slices along `dim`); on request where each went, and how many there were.

    >>> from autograph_cli import torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is None:
        return _wanted(unique_op(input, None), return_inverse, return_counts)
    d = dims.wrap(dim, input.ndim)
    _check_slices(input, d)
    return _wanted(unique_dim(input, d), return_inverse, return_counts)


def _check_slices(input: Tensor, dim: int) -> None:
    shape = input._ag_raw.shape
    zeros = [i for i, n in enumerate(shape) if n == 0]
    if shape and shape[dim] == 0 and len(zeros) != 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if shape and shape[dim] and zeros:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@composite()
@hands_on(_consecutive_of)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """`unique`, of equal neighbours only."""
    d = None if dim is None else dims.wrap(dim, input.ndim)
    return _wanted(consecutive_op(input, d), return_inverse, return_counts)


# ---------------------------------------------------------------- histograms


bincount_op = operation(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0)",
    counting.bincount,
    has_derivative=False,
    weights=no_derivative("bincount"),
)


@composite()
@per_sample
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each number from 0 up to the largest one occurs; with `weights`, their sums."""
    raw = input._ag_raw
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if raw.ndim != 1 or raw.dtype.kind not in "iu" or (readable(raw) and raw.min() < 0):
        if raw.dtype.kind not in "biu":
            raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._ag_raw.shape != raw.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return bincount_op(input, weights, minlength)


histc_op = operation("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0)", counting.histc)


@composite(out=True)
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Return how many elements fall into each of `bins` equal parts from `min` to `max`."""
    if input._ag_raw.dtype.kind not in "fV":
        kernel = {"b": "linspace_cpu", "c": "aminmax_cpu" if min == max else "histogram_cpu"}
        name = kernel.get(input._ag_raw.dtype.kind, "histogram_cpu")
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.cpp_name(input._ag_raw.dtype)}'")
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    return histc_op(input, bins, float(min), float(max))


def _edges(a: Any, bins: Any, limits: Any) -> Any:
    """The bounds of the bins of one column."""
    if not isinstance(bins, int):
        return bins._ag_raw
    low, high = ((float(a.min()), float(a.max())) if a.size else (0.0, 1.0)) if limits is None else limits
    if low > high:
        raise RuntimeError("torch.histogramdd: dimension 0's rightmost edge is less than its leftmost edge")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1, dtype=a.dtype)


def _counts(rows: Any, edges: list[Any], weight: Any) -> Any:
    """Return how many rows fall between the edges of each column; a row on the last edge belongs to the last bin."""
    shape = tuple(len(e) - 1 for e in edges)
    positions, inside = [], np.ones(len(rows), bool)
    for column, e in zip(rows.T, edges, strict=True):
        position = np.searchsorted(e, column, "right") - 1
        position[column == e[-1]] = len(e) - 2
        inside &= (column >= e[0]) & (column <= e[-1])
        positions.append(position)
    flat = np.ravel_multi_index([p[inside] for p in positions], shape, mode="clip")
    return np.bincount(flat, None if weight is None else weight[inside], math.prod(shape)).reshape(shape)


def _histogram(rows: Any, bins: Any, limits: Any, weight: Any, density: bool) -> tuple[Any, list[Any]]:
    """Counts of the rows of a matrix, and the edges of each column."""
    pairs = [None] * rows.shape[1] if limits is None else list(zip(limits[::2], limits[1::2], strict=True))
    edges = [_edges(rows[:, i], b, pairs[i]) for i, b in enumerate(bins)]
    found = _counts(rows, edges, weight).astype(rows.dtype)
    if density:
        total = found.sum()
        for i, e in enumerate(edges):
            found = found / np.diff(e).reshape([-1 if i == d else 1 for d in range(found.ndim)])
        found = found / total
    return found.astype(rows.dtype), edges


def _check_rows(name: str, input: Tensor, weight: Tensor | None) -> None:
    if input.is_cuda:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CUDA' backend.")
    if input._ag_raw.dtype.kind not in "fV":
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.cpp_name(input._ag_raw.dtype)}'")
    if weight is not None and weight._ag_raw.dtype != input._ag_raw.dtype:
        raise RuntimeError(
            f"torch.{name}: if weight tensor is provided, input tensor and weight tensor should have the same dtype"
        )


_histogram_result = named_result("histogram", "hist", "bin_edges")
_histogramdd_result = named_result("histogramdd", "hist", "bin_edges")


@composite(out=True)
@per_sample
def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Return how many elements fall into each bin, and the edges of the bins."""
    _check_rows("histogram", input, weight)
    if isinstance(bins, Tensor) and bins._ag_raw.dtype != input._ag_raw.dtype:
        raise RuntimeError("torch.histogramdd(): input tensor and bins tensors should have the same dtype")
    rows = input._ag_raw.reshape(-1, 1)
    hist, edges = _histogram(rows, [bins], range, None if weight is None else weight._ag_raw.reshape(-1), density)
    return _histogram_result(make(hist), make(np.array(edges[0])))


@composite()
@per_sample
def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """`histogram` of the rows of a matrix, with bins in each column."""
    _check_rows("histogramdd", input, weight)
    raw = input._ag_raw
    if raw.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    rows = raw.reshape(-1, raw.shape[-1])
    each = [bins] * rows.shape[1] if isinstance(bins, int) else list(bins)
    if len(each) != rows.shape[1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    hist, edges = _histogram(rows, each, range, None if weight is None else weight._ag_raw.reshape(-1), density)
    return _histogramdd_result(make(hist), tuple(make(np.array(e)) for e in edges))
