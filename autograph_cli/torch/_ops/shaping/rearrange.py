"""Elements in another order or another number: flip, roll, repeat, triangles, sorting."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..._core.base import dims, dims as d
from ..._core.base.errors import refused
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, overloaded
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..tensors.results import named_result
from . import views

flip_op = operation(
    "flip(Tensor self, int[] dims)",
    linear=True,
    memory_format="preserve",
    batch=partial(batching.leading, empty=False),
    self=lambda f, grad, dims: f.flip(grad, dims),
)
roll_op = operation(
    "roll(Tensor self, int[] shifts, int[] dims)",
    float8=True,
    linear=True,
    memory_format="contiguous",
    batch=batching_rules.roll,
    self=lambda f, grad, shifts, dims: f.roll(grad, tuple(-s for s in reversed(shifts)), tuple(reversed(dims))),
)
tril_op = operation(
    "tril(Tensor self, int diagonal=0)",
    linear=True,
    internal_overlap=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, diagonal: f.tril(grad, diagonal),
)
triu_op = operation(
    "triu(Tensor self, int diagonal=0)",
    linear=True,
    internal_overlap=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, diagonal: f.triu(grad, diagonal),
)
repeat_op = operation(
    "repeat(Tensor self, int[] repeats)",
    float8=True,
    linear=True,
    memory_format="contiguous",
    batch=batching_rules.repeat,
    self=lambda f, grad, repeats, self_sizes: unrepeat(f, grad, repeats, self_sizes),
)
diagonal_copy = operation(
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)",
    node="DiagonalBackward0_copy",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, self_sizes, offset, dim1, dim2: f.diagonal_backward(grad, self_sizes, offset, dim1, dim2),
)
diag_embed_op = operation(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)",
    float8=True,
    linear=True,
    batch=partial(batching.leading, more=1),
    self=lambda f, grad, offset, dim1, dim2: f.diagonal(grad, offset, dim1 % grad.ndim, dim2 % grad.ndim),
)
sort_op = operation(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    nondifferentiable=("indices",),
    refuses={"c": RuntimeError(" Sort does not support complex dtypes on CPU")},
    memory_format="preserve",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, indices: f.scatter_src(f.zeros_of(self_sizes, grad), dim, indices, grad),
)
sort_stable = operation(
    "sort.stable(Tensor self, int dim, bool descending) -> (Tensor values, Tensor indices)",
    "sort",
    node="SortBackward1",
    nondifferentiable=("indices",),
    refuses={"c": RuntimeError(" Sort does not support complex dtypes on CPU")},
    memory_format="preserve",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, indices: f.scatter_src(f.zeros_of(self_sizes, grad), dim, indices, grad),
)
topk_op = operation(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    nondifferentiable=("indices",),
    refuses={
        "b": RuntimeError("topk does not support bool dtypes on CPU"),
        "c": RuntimeError(" topk does not support complex dtypes on CPU"),
    },
    memory_format="own",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, indices: f.scatter_src(f.zeros_of(self_sizes, grad), dim, indices, grad),
)


def unrepeat(f: Any, grad: Any, repeats: Any, sizes: Any) -> Any:
    """The gradients of all copies, summed."""
    lead = len(repeats) - len(sizes)
    for _ in range(lead):
        grad = f.sum_dim_IntList(grad, (0,), False)
    shape: list[int] = []
    axes = []
    for n, times in zip(sizes, repeats[lead:], strict=True):
        if times != 1:
            axes.append(len(shape))
            shape.append(times)
        shape.append(n)
    return f.sum_dim_IntList(f.reshape(grad, tuple(shape)), tuple(axes), False) if axes else grad


@composite()
def flip(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """`input` with its elements in reverse along each of `dims`: a copy. IndexError for a dimension that it does not
    have.
    """
    return flip_op(input, d.wrap_all(d.sizes(order) if order else dims, input._ag_raw.ndim))


@composite()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """`input` with its elements moved on by `shifts` along `dims`, those that leave at the end coming in at the
    front.

    Without `dims` the tensor is rolled as if it were flat. RuntimeError for other numbers of shifts and
    dimensions.
    """
    moves = (shifts,) if isinstance(shifts, int) else tuple(map(int, shifts))
    if not moves:
        raise RuntimeError("`shifts` required")
    if dims is None or dims == ():
        if len(moves) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:0")
        return roll_op(input, moves, ())
    if input._ag_raw.ndim == 0:
        raise refused(IndexError, f"Dimension specified as {d.sizes((dims,))[0]} but tensor has no dimensions")
    axes = d.wrap_all(dims, input._ag_raw.ndim)
    if len(axes) != len(moves):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    return roll_op(input, moves, axes)


def _matrix(input: Tensor, name: str) -> None:
    if input._ag_raw.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@overloaded()
def tril(input: Tensor, diagonal: int = 0) -> Any:
    """The elements on and below a diagonal; zeros above."""
    _matrix(input, "tril")
    return tril_op, input, diagonal


@overloaded()
def triu(input: Tensor, diagonal: int = 0) -> Any:
    """The elements on and above a diagonal; zeros below."""
    _matrix(input, "triu")
    return triu_op, input, diagonal


@composite(function=False)
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies of this tensor side by side, `sizes` times along each dimension; more sizes than dimensions add new
    ones in front.

    RuntimeError for fewer sizes than dimensions or a negative one.
    """
    times = dims.sizes(repeats)
    if len(times) < input._ag_raw.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in times):
        lead = (1,) * (len(times) - input._ag_raw.ndim)
        size = [n * k for n, k in zip((*lead, *input._ag_raw.shape), times, strict=True)]
        first = next(n for n, k in zip(size, times, strict=True) if k < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {first}: {size}")
    return repeat_op(input, times)


@composite()
def tile(input: Tensor, *repeats: Any, dims: Any = None) -> Tensor:
    """`input` repeated `dims` times along each dimension, as `repeat`; fewer numbers than dimensions are filled up
    with ones in front.
    """
    times = d.sizes(repeats) if repeats else tuple(dims)
    return repeat_op(input, (1,) * (input._ag_raw.ndim - len(times)) + times)


@composite(out=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix that has a vector on it; `diagonal` moves it up (positive) or down.

    RuntimeError for a tensor of other dimensions.
    """
    if input._ag_raw.ndim == 1:
        return diag_embed_op(input, diagonal)
    if input._ag_raw.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diagonal_copy(input, diagonal)


@composite()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in the dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on their
    diagonals.

    RuntimeError if both dimensions are the same.
    """
    return diag_embed_op(input, offset, *views.plane(dim1, dim2, input._ag_raw.ndim + 1))


@composite(out="partial")
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """Values in order along `dim`, and where each stood; equal elements keep their order in any case."""
    run = sort_op if stable is None else sort_stable
    return _sort_result(*run(input, dims.wrap(dim, input._ag_raw.ndim), descending))


@composite(out=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return where each value in order along `dim` stood."""
    indices: Tensor = sort(input, dim, descending)[1]
    return indices


@composite(out="partial")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) values along `dim`, and where each stood."""
    d = dims.wrap(dim, input._ag_raw.ndim)
    if not 0 <= k <= (input._ag_raw.shape[d] if input._ag_raw.ndim else 1):
        raise RuntimeError("selected index k out of range")
    return _topk_result(*topk_op(input, k, d, largest, sorted))


_sort_result, _topk_result = (named_result(name, "values", "indices") for name in ("sort", "topk"))
