"""Segments of a dimension, each reduced to one element."""

from __future__ import annotations

from typing import Any

from ..._arrays.meta import readable
from ..._core.base import dims
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..pointwise.arithmetic import no_derivative

segment_reduce_op = operation(
    "segment_reduce(Tensor data, str reduce, Tensor? lengths, Tensor? offsets, int axis, Scalar? initial)",
    refuses={"biuc": "_segment_reduce_cpu"},
    data=lambda f, grad, result, data, reduce, lengths, offsets, axis, initial: f._segment_reduce_backward(
        grad, result, data, reduce, lengths, offsets, axis, initial
    ),
)
operation(
    "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, Tensor? lengths, Tensor? offsets, "
    "int axis, Scalar? initial)",
    has_derivative=False,
    saves_all=True,
    grad=no_derivative("_segment_reduce_backward"),
    output=no_derivative("_segment_reduce_backward"),
    data=no_derivative("_segment_reduce_backward"),
)


@composite(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Segments of a dimension, of given lengths or between offsets, each reduced to one element."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    axis = dims.wrap(axis, data.ndim)
    if lengths is not None and not unsafe and readable(lengths._ag_raw):
        if (lengths._ag_raw < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (lengths._ag_raw.sum(axis=-1) != data._ag_raw.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                "!unsafe."
            )
    return segment_reduce_op(data, reduce, lengths, None if lengths is not None else offsets, axis, initial)


composite(method=False, name="_segment_reduce")(segment_reduce)
