"""Lookups in a table of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.meta import readable
from ..._arrays.stand_in import cannot_batch, whole
from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import kernels
from ..._core.running.views import bump, changes
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_layers
from ..._kernels.elements.indexing import all_below
from ..pointwise.arithmetic import no_derivative
from ..pointwise.nonlinear import undifferentiated
from ..positions.indexing import index_beside
from ..shaping import views
from ..tensors.ranges import arange

embedding_op = operation(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)",
    complex_gradient=False,
    float8=True,
    saved={"weight_sizes": None, "weight_sym_argsize_0": lambda weight_sizes: weight_sizes[0]},
    linear=True,
    batch=batching_layers.embedding,
    weight=lambda f, grad, indices, weight_sizes, padding_idx, scale_grad_by_freq, sparse: (
        f.embedding_sparse_backward if sparse else f.embedding_dense_backward
    )(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq),
)
operation(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool "
    "scale_grad_by_freq)",
    linear=True,
    batch=batching_layers.embedding_backward,
    grad_output=lambda f, grad, indices, padding_idx: rows_again(f, grad, indices, padding_idx),
)


def rows_again(f: Any, grad: Any, indices: Any, padding_idx: int) -> Any:
    """The rows of `grad` at `indices`; zeros for the padding."""
    rows = f.index_select(grad, 0, f.reshape(indices, (-1,)))
    if padding_idx >= 0:
        mask = f.eq(f.reshape(indices, (-1, 1)), f.full_like_number(indices, padding_idx))
        rows = f.masked_fill_Scalar(rows, mask, 0)
    return f.view(rows, (*indices.shape, rows.shape[1]))


def _embedding_bag_weight(
    f: Any,
    grad: Any,
    indices: Any,
    offset2bag: Any,
    bag_size: Any,
    max_indices: Any,
    weight_sizes: Any,
    scale_grad_by_freq: Any,
    mode: Any,
    per_sample_weights: Any,
    padding_idx: Any,
) -> Any:
    return f._embedding_bag_backward(
        grad,
        indices,
        offset2bag,
        bag_size,
        max_indices,
        weight_sizes[0],
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


bag_op = operation(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, "
    "Tensor? per_sample_weights, bool include_last_offset, int padding_idx) -> "
    "(Tensor result, Tensor offset2bag, Tensor bag_size, Tensor max_indices)",
    node="EmbeddingBagBackward0",
    saved={
        "offset2bag": None,
        "bag_size": None,
        "max_indices": None,
        "weight_sizes": None,
        "offsets": "offsets",
        "result1": "offset2bag",
        "result2": "bag_size",
        "result3": "max_indices",
        "sparse": "sparse",
        "weight_sym_argsize_0": lambda weight_sizes: weight_sizes[0],
    },
    nondifferentiable=("offset2bag", "bag_size", "max_indices"),
    last="per_sample_weights",
    weight=_embedding_bag_weight,
    per_sample_weights=lambda f, grad, weight, indices, offset2bag, padding_idx: f._embedding_bag_per_sample(
        grad, weight, indices, offset2bag, padding_idx
    ),
)
operation(
    "_embedding_bag_backward(Tensor grad_output, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor "
    "max_indices, int num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx)",
    node="EmbeddingBagBackwardBackward0",
    saves_all=True,
    grad_output=undifferentiated("_embedding_bag_backward"),
    per_sample_weights=undifferentiated("_embedding_bag_backward"),
)
operation(
    "_embedding_bag_per_sample(Tensor grad_output, Tensor weight, Tensor indices, Tensor offset2bag, int padding_idx)",
    has_derivative=False,
    grad_output=no_derivative("_embedding_bag_per_sample_weights_backward"),
    weight=no_derivative("_embedding_bag_per_sample_weights_backward"),
)
one_hot_op = operation("one_hot(Tensor self, int num_classes)", memory_format="contiguous", batch=batching.leading)


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def _dense(sparse: bool, name: str) -> None:
    if sparse:
        raise NotImplementedError(f"{name} with sparse=True is not available in autograph's engine yet")


def renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up, and longer than `max_norm`, down to it, in place."""
    xp = kernels(weight._ag_raw).xp
    rows = xp.unique(indices._ag_raw)
    sizes = xp.linalg.norm(weight._ag_raw[rows], norm_type, axis=1)
    long = sizes > max_norm
    changes(weight)
    weight._ag_raw[rows[long]] *= (max_norm / (sizes[long] + 1e-7))[:, None].astype(weight._ag_raw.dtype)
    bump(weight)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (V, D) at indices `input`; the row `padding_idx` gets no gradient.

    >>> from autograph_cli import torch
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.eye(2))
    tensor([[0., 1.],
            [1., 0.]])
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", input)
    padding = _padding(padding_idx, weight._ag_raw.shape[0])
    if max_norm is not None:
        renorm(weight, input, max_norm, norm_type)
    return embedding_op(weight, input, padding, scale_grad_by_freq, sparse)


_INDICES = frozenset((dtypes.int64.numpy, dtypes.int32.numpy))


def _check_indices(name: str, indices: Tensor, shown: str = "argument #1 'indices'") -> None:
    if indices._ag_raw.dtype not in _INDICES:
        kind = cpp_name(indices._ag_raw.dtype)
        kind = {"float": "Float", "double": "Double", "bool": "Bool"}.get(kind, kind)
        kind = f"CPU{kind}Type" if indices._ag_raw.dtype.kind == "c" else f"torch.{kind}Tensor"
        raise RuntimeError(
            f"Expected tensor for {shown} to have one of the following scalar types: Long, Int; but got "
            f"{kind} instead (while checking arguments for {name})"
        )


@composite(function=True, method=False, name="embedding")
def embedding_(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`nn.functional.embedding` with the table first."""
    return embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def _embedding_bag_of(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: Any = 2,
    scale_grad_by_freq: Any = False,
    mode: Any = "mean",
    sparse: Any = False,
    per_sample_weights: Any = None,
    include_last_offset: Any = False,
    padding_idx: Any = None,
) -> Any:
    kind = _BAG_MODES.get(mode, 0) if isinstance(mode, str) else 0
    given = (weight, input, weight, scale_grad_by_freq, kind, sparse, per_sample_weights)
    return "torch", "embedding_bag", (*given, include_last_offset, padding_idx), {}


@hands_on(_embedding_bag_of)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of bags of rows: the rows of a 2-D `input`, or parts of a 1-D one that start at
    `offsets`."""
    if weight._ag_raw.dtype == np.int64 and input._ag_raw.dtype.kind in "fc":
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    _dense(sparse, "embedding_bag")
    if not isinstance(mode, str) or mode not in _BAG_MODES:
        raise refused(ValueError, "mode has to be one of sum, mean or max")
    if per_sample_weights is not None:
        _check_sample_weights(input, per_sample_weights, mode)
    if weight.ndim != 2:
        raise refused(ValueError, f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        input, offsets, per_sample_weights = _bags_of_rows(input, offsets, per_sample_weights)
    starts = _checked_offsets(input, offsets, include_last_offset)
    if max_norm is not None:
        renorm(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and per_sample_weights._ag_raw.dtype != weight._ag_raw.dtype:
        kinds = [dtypes.type_name(x.dtype) for x in (weight, per_sample_weights)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {kinds[0]} does not equal {kinds[1]} (while checking arguments for "
            "embedding_bag)"
        )
    padding = -1 if padding_idx is None else _padding(padding_idx, weight._ag_raw.shape[0])
    result: Tensor = bag_op(
        weight,
        input,
        starts,
        scale_grad_by_freq,
        _BAG_MODES[mode],
        False,
        per_sample_weights,
        include_last_offset,
        padding,
    )[0]
    return result


def _check_sample_weights(input: Tensor, weights: Tensor, mode: str) -> None:
    if weights._ag_raw.shape != input._ag_raw.shape:
        raise refused(
            ValueError,
            f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})",
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )


def _bags_of_rows(input: Tensor, offsets: Any, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The rows of a 2-D input as bags of one length: indices, offsets and weights in one dimension."""
    if offsets is not None:
        raise refused(
            ValueError,
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}",
        )
    bags, length = input._ag_raw.shape
    starts = arange(0, bags * length, length) if length else make(input._ag_raw[:, :0].sum(1))
    starts = index_beside(starts, input)
    flat = (bags * length,)
    return views.reshape(input, flat), starts, None if weights is None else views.reshape(weights, flat)


def _checked_offsets(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Tensor:
    if input.ndim != 1:
        raise refused(ValueError, f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise refused(ValueError, "offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise refused(ValueError, "offsets has to be a 1D Tensor")
    if include_last_offset and offsets._ag_raw.size == 0:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if readable(offsets._ag_raw) and offsets._ag_raw[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {offsets._ag_raw[0]}"
        )
    if readable(offsets._ag_raw) and offsets._ag_raw.size:
        if (last := offsets._ag_raw[-1]) > (n := input._ag_raw.shape[0]):
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {last}")
        if offsets._ag_raw.min() < 0 or offsets._ag_raw.max() > n:
            raise refused(IndexError, "index out of range in self")
    return offsets


def _classes(raw: Any, numbers: Any, given: int) -> int:
    """Return how many classes there are, as `given` or as the largest of indices asks for; a RuntimeError if one is no
    class."""
    if readable(numbers) and numbers.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    count = int(raw.max()) + 1 if given == -1 else given
    if readable(numbers) and int(numbers.max()) >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return count


@cannot_batch("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """A 1 at each index along a new last dimension, 0 elsewhere; as many classes as the largest index asks for, or
    given."""
    raw = input._ag_raw
    if raw.dtype != dtypes.int64.numpy:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if raw.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    numbers = whole(raw)
    plain = numbers.__class__ is np.ndarray and numbers.size and num_classes > 0
    if not plain or not all_below(numbers, num_classes):
        num_classes = _classes(raw, numbers, num_classes)
    return one_hot_op(input, num_classes)
