"""More ways to split, join and arrange: tensor_split, grids, diagonal blocks, at least so many dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays import cuda
from ..._core.base import dims, dims as d
from ..._core.base.class_names import type_name
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import kernels
from ..._core.running.dispatch import put
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ..._core.transforms.vmap_fallback import per_sample
from ..._kernels.elements.shapes import corners
from ..matrices._errors import all_tensors
from ..positions import indexing
from . import broadcasting, joining, rearrange, views

# ---------------------------------------------------------------- splits


unsafe_split_op = operation(
    "unsafe_split(Tensor self, int split_size, int dim)",
    list_result=True,
    linear=True,
    batch=batching.leading,
    self=lambda f, grads, split_size, dim, self_sizes: joining.join(
        f, grads, joining.split_lengths(self_sizes[dim], split_size), self_sizes, dim
    ),
)
unsafe_split_with_sizes_op = operation(
    "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim)",
    list_result=True,
    linear=True,
    batch=batching.leading,
    self=lambda f, grads, split_sizes, dim, self_sizes: joining.join(f, grads, split_sizes, self_sizes, dim),
)


@composite()
def unsafe_split(input: Tensor, split_size: Any, dim: int = 0) -> Any:
    """`split` into parts with memory of their own."""
    d = dims.wrap(dim, input.ndim)
    return unsafe_split_op(input, joining.check_split(input, split_size, d), d)


@composite()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """`split` by lengths into parts with memory of their own."""
    d = dims.wrap(dim, input.ndim)
    return unsafe_split_with_sizes_op(input, joining.check_sections(input, split_sizes, d, dim), d)


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """`chunk` into parts with memory of their own."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = dims.wrap(dim, input.ndim)
    n = input._ag_raw.shape[d]
    size = -(-n // chunks)
    if size == 0 and n == 0:
        return unsafe_split_with_sizes_op(input, (0,) * chunks, d)
    return unsafe_split_op(input, max(size, 1), d)


@composite()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `input` of the given lengths."""
    return joining.split(input, list(split_sizes), dim)


@composite()
def tensor_split(
    input: Tensor, indices_or_sections: Any, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> Any:
    """Views of `input`: so many of nearly the same length, or cut at indices."""
    given = next(x for x in (indices, sections, indices_or_sections) if x is not None)
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = int(dims.wrap(dim, input.ndim))
    n = input._ag_raw.shape[d]
    if isinstance(given, Tensor):
        given = _split_indices(given)
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        lengths = [n // given + 1] * (n % given) + [n // given] * (given - n % given)
        ends = list(itertools.accumulate(lengths))
        return tuple(views.slice_op(input, d, end - k, end, 1) for k, end in zip(lengths, ends, strict=True))
    starts, ends = [0, *given], [*given, n]
    return tuple(_window(input, d, a, b) for a, b in zip(starts, ends, strict=True))


def _split_indices(given: Tensor) -> Any:
    if given._ag_raw.dtype != np.int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            + cpp_name(given._ag_raw.dtype)
        )
    if given.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
            f"got a tensor with {given.ndim} dims"
        )
    return given._ag_raw.tolist()


def _window(input: Tensor, dim: int, start: int, end: int) -> Tensor:
    lo, hi, _ = slice(start, end).indices(input._ag_raw.shape[dim])
    result: Tensor = views.slice_op(input, dim, lo, max(lo, hi), 1)
    return result


def _fixed_split(name: str, dim: int, ndim: int) -> None:
    def run(input: Tensor, indices_or_sections: Any, *, indices: Any = None, sections: Any = None) -> Any:
        given = next(x for x in (indices, sections, indices_or_sections) if x is not None)
        if not isinstance(given, (int, tuple, list)):
            raise refused(
                TypeError,
                f"{name}() received an invalid combination of arguments - got (Tensor, {type(given).__name__})",
            )
        if input.ndim < ndim:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {ndim} dimension, but got a tensor with "
                f"{input.ndim} dimensions!"
            )
        d = 0 if name == "hsplit" and input.ndim == 1 else dim
        n = input._ag_raw.shape[d]
        if isinstance(given, int) and (given < 1 or n % given):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {n} is not "
                f"divisible by the split_size {given}!"
            )
        return tensor_split(input, given, d)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`tensor_split` along dimension {dim}."
    composite()(run)


for _name, _dim, _ndim in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    _fixed_split(_name, _dim, _ndim)

# ---------------------------------------------------------------- joins


def at_least(n: int, x: Tensor) -> Tensor:
    """`x` with dimensions added until it has `n`, where PyTorch adds them."""
    if x.ndim >= n:
        return x
    if x.ndim == 0:
        return views.reshape(x, (1,) * n)
    if n == 3 and x.ndim == 1:
        return views.unsqueeze(views.unsqueeze(x, 0), -1)
    return views.unsqueeze(x, 0 if n == 2 else -1)


def _at_least(n: int) -> None:
    def run(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return at_least(n, tensors[0])
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple(at_least(n, x) for x in given)

    run.__name__ = run.__qualname__ = f"atleast_{n}d"
    run.__doc__ = f"Tensors with at least {n} dimension(s)."
    composite(method=False)(run)


for _n in (1, 2, 3):
    _at_least(_n)


def _nonempty(name: str, tensors: Any) -> list[Tensor]:
    given = list(tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return given


@composite(method=False, out=True, aliases=("row_stack",))
def vstack(tensors: Any) -> Tensor:
    """Rows on top of each other."""
    return joining.cat([at_least(2, x) for x in _nonempty("vstack", tensors)], 0)


@composite(method=False, out=True)
def hstack(tensors: Any) -> Tensor:
    """Columns beside each other."""
    given = [at_least(1, x) for x in _nonempty("hstack", tensors)]
    return joining.cat(given, 0 if given[0].ndim == 1 else 1)


@composite(method=False, out=True)
def dstack(tensors: Any) -> Tensor:
    """Joined along the third dimension."""
    return joining.cat([at_least(3, x) for x in _nonempty("dstack", tensors)], 2)


@composite(method=False, out=True)
def column_stack(tensors: Any) -> Tensor:
    """Vectors as the columns of a matrix."""
    given = _nonempty("column_stack", tensors)
    return hstack([views.reshape(x, (x._ag_raw.size, 1)) if x.ndim <= 1 else x for x in given])


@composite(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a large one."""
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise refused(TypeError, f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.ndim} dimensions"
            )
    return block_diag_op(list(tensors)) if tensors else make(np.zeros((1, 0), "float32"))


def _block_gradients(f: Any, grad: Any, shapes: Any) -> Any:
    for shape, (row, column, n, m) in zip(shapes, corners(shapes), strict=True):
        part = f.slice(f.slice(grad, 0, row, row + n, 1), 1, column, column + m, 1)
        for _ in range(2 - len(shape)):
            part = f.squeeze_dim(part, len(part.shape) - 1)
        yield part


block_diag_op = operation(
    "block_diag(Tensor[] tensors)",
    saved={"tensors_sizes": None},
    linear=True,
    tensors=lambda f, grad, tensors_sizes: list(_block_gradients(f, grad, tensors_sizes)),
)


@composite(method=False, name="_chunk_cat")
@per_sample
def chunk_cat(tensors: Any, dim: int, num_chunks: int, *, out: Any = None) -> Tensor:
    """Each tensor cut into chunks along `dim` (the last one padded); chunks of the same number in one row."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    given = list(tensors)
    if not given:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if dim < 0 and len({x.ndim for x in given}) > 1:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    d = dims.wrap(dim, given[0].ndim)
    lead = given[0]._ag_raw.shape[:d]
    rows = []
    for x in given:
        if x._ag_raw.dtype != given[0]._ag_raw.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if x.ndim <= d:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if x._ag_raw.shape[:d] != lead:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
        if not x._ag_raw.size:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        rows.append(_padded_chunks(x._ag_raw, d, num_chunks))
    result = make(kernels(*rows).xp.concatenate(rows, axis=d + 1))
    if out is None:
        return result

    put(out, result)
    made: Tensor = out
    return made


def _padded_chunks(a: Any, dim: int, count: int) -> Any:
    length = -(-a.shape[dim] // count)
    wide = kernels(a).xp.zeros((*a.shape[:dim], length * count, *a.shape[dim + 1 :]), a.dtype)
    wide[(slice(None),) * dim + (slice(a.shape[dim]),)] = a
    return wide.reshape(*a.shape[:dim], count, -1)


# ---------------------------------------------------------------- grids


@composite(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each vector spread along a dimension of its own; `indexing="xy"` swaps the first two dimensions.

    >>> from autograph_cli import torch
    >>> torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij")[0]
    tensor([[0, 0],
            [1, 1]])
    """
    given = list(all_tensors(tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors))
    if indexing is not None and not isinstance(indexing, str):
        raise refused(TypeError, f"meshgrid(): argument 'indexing' must be str, not {type_name(indexing)}")
    _check_grid(given, indexing)
    if indexing is None:
        warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = [x._ag_raw.size for x in given]
    found = [
        broadcasting.expand(views.view(x, [-1 if i == d else 1 for i in range(len(given))]), shape)
        for d, x in enumerate(given)
    ]
    if swap:
        found[0], found[1] = found[1], found[0]
    return tuple(found)


def _check_grid(given: Sequence[Tensor], order: str | None) -> None:
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if any(x._ag_raw.dtype != given[0]._ag_raw.dtype for x in given):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for x in given:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
    if order not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {order}')


@composite(method=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every combination of the elements of vectors, one row each."""
    all_tensors(tensors)
    for x in tensors:
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._ag_raw.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return joining.stack([views.flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of `r` elements of a vector, one row each."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._ag_raw.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return make(kernels(input._ag_raw).xp.empty(0, input._ag_raw.dtype))
    positions = np.indices((input._ag_raw.size,) * r)
    pairs = itertools.pairwise(positions)
    mask = np.ones(positions.shape[1:], bool)
    for a, b in pairs:
        mask &= a <= b if with_replacement else a < b
    grids = meshgrid(*[input] * r, indexing="ij")
    return joining.stack([indexing.masked_select(grid, make(cuda.moved(mask, input.device))) for grid in grids], 1)


# ---------------------------------------------------------------- turned and mirrored


@composite()
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return rearrange.flip(input, 1)


@composite()
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return rearrange.flip(input, 0)


@composite()
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A plane turned by `k` quarters, from the first of two dimensions towards the second."""
    plane, n = tuple(dims), input.ndim
    if len(plane) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(plane)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if plane[0] == plane[1] or abs(plane[0] - plane[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {plane[0]} and dim1 = {plane[1]}")
    for name, x in zip(("dim0", "dim1"), plane, strict=True):
        if not -n <= x < n:
            raise RuntimeError(f"Rotation {name} out of range, {name} = {x}")
    a, b = d.wrap_all(plane, n)
    return rot90_op(input, d.given(k % 4, k), (a, b))


rot90_op = operation(
    "rot90(Tensor self, int k, int[] dims)",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, k, dims: f.rot90(grad, -k, dims),
)


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements on the diagonal of a matrix."""
    return rearrange.diag(views.view(operations.contiguous(input), -1), offset)
