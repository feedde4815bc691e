"""The operations that read and write by index or mask, and those that overwrite: index_put, gather, scatter, copy_,
fill_.

`x[...]` stands in getitem.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._arrays import cuda
from ..._arrays.meta import NO_DATA, Meta, readable, without_memory
from ..._arrays.stand_in import cannot_batch
from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.memory_format import indexed
from ..._core.base.state import thread_state
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, overloaded
from ..._core.running.device_dispatch import is_meta, kernels
from ..._core.running.inplace import run_inplace
from ..._core.running.views import check_inplace, check_overlap
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_layers, batching_rules
from ..._core.transforms.interpreter_stack import refuse_captured
from ..._core.transforms.transforms import beside
from ..pointwise.arithmetic import no_derivative, scaled
from ..shaping import views
from ..shaping.joining import unbind
from ._index_checks import OUT_OF_RANGE, along, check_index, slices, within, within_select

index_op = operation(
    "index(Tensor self, Tensor?[] indices)",
    from_cpu=True,
    float8=True,
    linear=True,
    memory_format=indexed,
    batch=batching_layers.index,
    self=lambda f, grad, self_sizes, indices: (f.index_put if is_meta(grad) else f.index_put_impl)(
        f.zeros_of(self_sizes, grad), indices, grad, True
    ),
)
index_put_op = operation(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
    from_cpu=True,
    float8=True,
    linear=True,
    memory_format="preserve",
    batch=batching_layers.index_put,
    overlap="none",
    internal_overlap="tensor[indices] = tensor",
    in_memory="index_put_in_memory",
    vmap_inplace="index_put_",
    self=lambda f, grad, indices, accumulate: (
        grad if accumulate else f.index_put(grad, indices, f.zeros_of((), grad), False)
    ),
    values=lambda f, grad, indices: f.index(grad, indices),
)
index_put_impl = operation(
    "index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
    "index_put",
    from_cpu=True,
    node="IndexPutImplBackward0",
    linear=True,
    batch=batching_layers.index_put,
    self=lambda f, grad, indices, accumulate: (
        grad if accumulate else f.index_put(grad, indices, f.zeros_of((), grad), False)
    ),
    values=lambda f, grad, indices: f.index(grad, indices),
)
gather_op = operation(
    "gather(Tensor self, int dim, Tensor index)",
    saved={"sparse_grad": lambda: False},
    linear=True,
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, dim, index: f.scatter_add(f.zeros_of(self.shape, grad), dim, index, grad),
)
scatter_op = operation(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src)",
    node="ScatterBackward0",
    linear=True,
    batch=batching.leading,
    overlap="none",
    self=lambda f, grad, dim, index: f.scatter_value(grad, dim, index, 0),
    src=lambda f, grad, dim, index: f.gather(grad, dim, index),
)
scatter_value = operation(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value)",
    node="ScatterBackward1",
    batch=batching.leading,
    overlap="none",
    self=lambda f, grad, dim, index: f.scatter_value(grad, dim, index, 0),
)
scatter_reduced, scatter_reduced_number = (
    operation(
        f"scatter.{kind}(Tensor self, int dim, Tensor index, {given}, str reduce)",
        "scatter_reduce",
        has_derivative=False,
        batch=batching.leading,
        overlap="none",
        **dict.fromkeys(differentiated, no_derivative("scatter")),
    )
    for kind, given, differentiated in (
        ("reduce", "Tensor src", ("self", "src")),
        ("value_reduce", "Scalar value", ("self",)),
    )
)
scatter_add_op = operation(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
    linear=True,
    batch=batching.leading,
    overlap="none",
    vmap_inplace="scatter_add_",
    self=lambda f, grad: grad,
    src=lambda f, grad, dim, index: f.gather(grad, dim, index),
)
index_select_op = operation(
    "index_select(Tensor self, int dim, Tensor index)",
    float8=True,
    linear=True,
    memory_format="own",
    batch=batching_layers.along_index(batching_layers.gathered),
    self=lambda f, grad, self_sizes, dim, index: f.index_add(f.zeros_of(self_sizes, grad), dim, index, grad),
)
index_add_op = operation(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
    saved={"source_dim": lambda source_sizes: len(source_sizes)},
    linear=True,
    batch=batching_layers.along_index(batching_layers.added),
    overlap="none",
    vmap_inplace="index_add_",
    self=lambda f, grad: grad,
    source=lambda f, grad, dim, index, source, alpha: scaled(f, read_slices(f, grad, dim, index, source.shape), alpha),
)
masked_select_op = operation(
    "masked_select(Tensor self, Tensor mask)",
    float8=True,
    linear=True,
    batch=batching_rules.masked_select,
    self=lambda f, grad, self, mask: f.masked_scatter(
        f.zeros_of(dims.broadcast(tuple(self.shape), tuple(mask.shape)), grad), mask, grad
    ),
)
masked_scatter_op = operation(
    "masked_scatter(Tensor self, Tensor mask, Tensor source)",
    linear=True,
    overlap="any",
    self=lambda f, grad, mask: f.masked_fill_Scalar(grad, mask, 0),
    source=lambda f, grad, mask, source_sizes: f.masked_scatter_backward(grad, mask, source_sizes),
)
masked_scatter_backward = operation(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes)",
    node="MaskedScatterBackwardBackward0",
    linear=True,
    grad_output=lambda f, grad, mask, grad_output_sizes: f.masked_scatter(
        f.zeros_of(grad_output_sizes, grad), mask, grad
    ),
)
copy_op = operation(
    "copy(Tensor self, Tensor src)",
    float8=True,
    node="torch::autograd::CopyBackwards",
    saved={"src_sizes": None},
    linear=True,
    batch=batching_rules.copy,
    vmap_inplace="inplace arithmetic",
    overwrites=True,
    self=lambda f, grad: f.zeros_like(grad),
    src=lambda f, grad, src_sizes, src_dtype: f.copied(grad, src_sizes, src_dtype),
)
fill_scalar = operation(
    "fill.Scalar(Tensor self, Scalar value)",
    float8=True,
    node="FillBackward2",
    pointwise=True,
    overlap="any",
    internal_overlap=True,
    vmap_inplace="fill_",
    self=lambda f, grad: f.zeros_like(grad),
)
fill_tensor = operation(
    "fill.Tensor(Tensor self, Tensor value)",
    from_cpu=True,
    float8=True,
    node="FillBackward3",
    batch=batching_rules.copy,
    overlap="any",
    vmap_inplace="fill_",
    self=lambda f, grad: f.zeros_like(grad),
    value=lambda f, grad: f.sum(grad),
)
zero_op = operation(
    "zero(Tensor self)",
    "zeros_like",
    float8=True,
    node="ZeroBackward0",
    pointwise=True,
    internal_overlap=True,
    self=lambda f, grad: f.zeros_like(grad),
)


def read_slices(f: Any, grad: Any, dim: int, index: Any, source_sizes: Any) -> Any:
    """The slices of a gradient that belong to the source of an `index_*` operation."""
    if source_sizes:
        return f.expand(f.index_select(grad, dim, index), source_sizes)
    return f.index_select(grad, dim, f.squeeze_dim(index, 0) if index.ndim else index)


def zeros_of(size: Any, like: Tensor) -> Tensor:
    """Zeros of a shape, in the dtype of `like`."""
    return beside(like, lambda x, size: make(kernels(x._ag_raw).zeros_of(size, x._ag_raw)[()]), tuple(size))


def copied(grad: Tensor, sizes: Any, dtype: Any) -> Tensor:
    """The gradient of what was copied: cast and summed back by the engine."""
    return grad


operations.zeros_of, operations.copied = zeros_of, copied


# ---------------------------------------------------------------- overwriting


@composite(function=False, name="copy_")
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite with the values of `src`, cast and broadcast; with one number, everywhere."""
    if isinstance(src, (bool, int, float, complex, np.generic)):
        src = make(np.array(src)[()])
    if not isinstance(src, Tensor):
        raise refused(TypeError, f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    if thread_state.levels:
        refuse_captured(input, "copy_")
    check_inplace(input, src)
    if src._ag_counter is not None and src._ag_counter is input._ag_counter:
        check_overlap(input._ag_raw, src._ag_raw)
    shape = input._ag_raw.shape
    if shape != src._ag_raw.shape and dims.broadcast(shape, src._ag_raw.shape) != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape "
            f"{list(dims.broadcast(shape, src._ag_raw.shape))}"
        )
    if input.is_meta is not src.is_meta:
        if src.is_meta:
            raise NotImplementedError(NO_DATA)
        src = make(without_memory(src._ag_raw))
    return run_inplace(copy_op.op, (input, src))


@composite(name="fill_")
def fill_(input: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one number."""
    if thread_state.levels:
        refuse_captured(input, "fill_.Tensor" if isinstance(value, Tensor) else "fill_.Scalar")
    check_inplace(input, value)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return run_inplace(fill_tensor.op, (input, value))
    return run_inplace(fill_scalar.op, (input, value))


@composite(name="zero_")
def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with 0."""
    return run_inplace(zero_op.op, (input,))


# ---------------------------------------------------------------- by index and mask


@overloaded(autocast="")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """`input` with `values` at `indices`, as `input[indices] = values` writes them; with `accumulate` they are
    added.

    `indices` is a sequence of integer or boolean tensors (or None for a whole dimension), which are broadcast
    against each other.
    RuntimeError if the dtypes differ, IndexError for more indices than dimensions or one out of range.
    """
    values = fitted(values, input, indices, accumulate)
    if values._ag_raw.size == 1 and values.ndim:
        _check_values(input, indices, values)
    indices = [index_beside(x, input) for x in _expanded_masks(input, indices, rows(values))]
    return index_put_op, input, indices, values, accumulate


def _check_values(input: Tensor, indices: list[Any], values: Tensor) -> None:
    """PyTorch's error for values that do not fit what they are to be written to; masks take any."""
    given = [x for x in indices if x is not None]
    kept = (n for d, n in enumerate(input._ag_raw.shape) if d >= len(indices) or indices[d] is None)
    shape = (*dims.broadcast(*(x._ag_raw.shape for x in given)), *kept)
    sizes = values._ag_raw.shape
    fits = len(sizes) <= len(shape) and all(n in (1, m) for n, m in zip(sizes[::-1], shape[::-1], strict=False))
    if not fits and not any(x._ag_raw.dtype in (np.bool_, np.uint8) for x in given):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(sizes)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )


@cannot_batch(
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
    "with a boolean mask."
)
def mask_positions(mask: Any, writes: int) -> Any:
    """Return where a mask holds; of one without memory, as many positions as are written."""
    return [Meta((writes,), np.int64)] * mask.ndim if writes and mask.__class__ is Meta else mask.nonzero()


def index_beside(index: Any, input: Tensor) -> Any:
    """An index on the GPU of what it picks from; as in PyTorch it may come from the CPU."""
    if index is None or not input.is_cuda or not index.is_cpu:
        return index
    return make(cuda.moved(index._ag_raw, input.device))


def rows(value: Tensor) -> int:
    return value._ag_raw.shape[0] if value.ndim else 1


def fitted(value: Tensor, target: Tensor, indices: Iterable[Any], accumulate: bool = False) -> Tensor:
    """Return what is written to `indices`, in the dtype of the target: PyTorch casts only one value that fills a mask.

    RuntimeError where the dtypes differ, or the one value cannot be held.
    """
    if value._ag_raw.dtype == target._ag_raw.dtype:
        return value
    given = [x for x in indices if x is not None]
    if accumulate or value._ag_raw.size != 1 or [x._ag_raw.dtype.kind for x in given] != ["b"]:
        _check_values(target, list(indices), value)
        raise _other_dtype(value, target)
    if readable(value._ag_raw):
        dtypes.check_held(value._ag_raw.item(), target._ag_raw.dtype)
    return views.view_op(operations._to_copy(value, target._ag_raw.dtype), ())


def _other_dtype(value: Tensor, target: Tensor) -> RuntimeError:
    mine, theirs = (dtypes.cpp_name(x._ag_raw.dtype) for x in (target, value))
    return RuntimeError(
        f"Index put requires the source and destination dtypes match, got {mine} for the destination and {theirs} for "
        "the source."
    )


def _expanded_masks(input: Tensor, indices: Any, writes: int) -> list[Any]:
    """The indices, with masks on `meta`, whose positions nobody knows, as so many positions as are written."""
    if len(indices) > input._ag_raw.ndim:
        raise refused(IndexError, f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    result: list[Any] = []
    for item in indices:
        if item is not None and item._ag_raw.dtype.kind == "b" and not readable(item._ag_raw):
            result += [make(positions.astype(np.int64)) for positions in mask_positions(item._ag_raw, writes)]
        else:
            result.append(item)
    return result


@composite(out="apart exact")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements that `index` names along `dim`: `out[i][j] = input[index[i][j]][j]` for `dim=0`.

    `index` has as many dimensions as `input` and is no longer than it except along `dim`; the result has its
    shape.
    RuntimeError otherwise, or for an index out of range.
    """
    if sparse_grad and input.requires_grad:
        raise NotImplementedError(
            "gather: sparse_grad=True is not available in autograph's engine, whose gradients are dense"
        )
    d = dims.wrap(dim, input._ag_raw.ndim)
    along("gather", input, d, index)
    return gather_op(input, d, index)


@overloaded(out="apart")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Any:
    """`input` with the elements of `src` (or one `value`) where `index` says along `dim`: the reverse of `gather`.

    Where an index occurs twice, the last element stays. `reduce` ("add", "multiply") combines them with what is
    there instead.
    `index` has as many dimensions as `input` and `src`, and is no longer than `src`; RuntimeError otherwise, or
    for an index out of range.
    """
    d = dims.wrap(dim, input._ag_raw.ndim)
    along("scatter", input, d, index, src if isinstance(src, Tensor) else None)
    given = value if src is None else src
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if reduce is not None:
        run = scatter_reduced if isinstance(given, Tensor) else scatter_reduced_number
        return run, input, d, index, given, reduce
    return (scatter_op if isinstance(src, Tensor) else scatter_value), input, d, index, given


@overloaded(out="apart", autocast="")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    """`input` with the elements of `src` added where `index` says along `dim`.

    Shapes and errors are those of `scatter`.
    """
    d = dims.wrap(dim, input._ag_raw.ndim)
    along("scatter", input, d, index, src)
    return scatter_add_op, input, d, index, src


@composite(out="apart")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `input` along `dim` that the vector `index` names, in its order: a copy.

    RuntimeError for an index that is no int32 or int64; IndexError for one out of range.
    """
    check_index("index_select()", index)
    if not input._ag_raw.ndim and index._ag_raw.size != 1:
        count = index._ag_raw.size
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {count} value(s)")
    if index._ag_raw.dtype not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    d = dims.wrap(dim, input._ag_raw.ndim)
    within_select(input, d, index)
    return index_select_op(input, d, index)


@overloaded()
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    """`input` with `alpha` times the slices of `source` added at `index` along `dim`.

    `source` has the shape of `input` except along `dim`, where it is as long as the vector `index`. IndexError or
    RuntimeError otherwise.
    """
    d = dims.wrap(dim, input._ag_raw.ndim)
    slices("index_add_()", input, d, index, source)
    n = input._ag_raw.ndim
    if input._ag_raw.size and n > 1 and alpha == 1 and d in (0, n - 1):  # PyTorch scatters
        within(input, d, index, RuntimeError)
    elif input._ag_raw.size:
        within(input, d, index, IndexError, OUT_OF_RANGE)
    return _index_add, input, d, index, source, alpha


def _index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> Tensor:
    return index_add_op(input, dim, index, source, alpha=alpha)


vars(_index_add)["op"] = index_add_op.op


nonzero_op = operation("nonzero(Tensor self)", batch=batching_rules.shape_by_values)


@composite(out=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0."""
    if as_tuple and input._ag_raw.ndim == 0:
        input = views.unsqueeze_op(input, 0)
    positions = nonzero_op(input)
    return unbind(positions, 1) if as_tuple else positions


@composite(out="apart")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` holds, in a row; both are broadcast."""
    if mask._ag_raw.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return masked_select_op(input, mask)


@overloaded()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Any:
    """`input` with the elements of `source`, one after the other, where `mask` holds.

    `mask` is broadcast to `input`. RuntimeError if it is not boolean, if the dtypes differ, or if `source` has
    too few elements.
    """
    if mask._ag_raw.dtype != bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.cpp_name(mask._ag_raw.dtype)}"
        )
    if input._ag_raw.dtype != source._ag_raw.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but "
            f"got{dtypes.cpp_name(input._ag_raw.dtype)} and {dtypes.cpp_name(source._ag_raw.dtype)}"
        )
    return masked_scatter_op, input, mask, source
