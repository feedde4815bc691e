"""Elements put back where pooling took them from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..._arrays.meta import readable
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.operations.operation import operation
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..shaping import views
from .pooling import Sizes, picked_again

unpooled = {
    n: operation(
        f"max_unpool{n}d(Tensor self, Tensor indices, int[] output_size)",
        node=f"MaxUnpool{n}DBackward0",
        linear=True,
        autocast="fp32",
        refuses={"biuc": f"max_unpool{n}d"},
        memory_format="channels_last" if n == 2 else "",
        batch=batching.folded,
        self=(lambda n: lambda f, grad, indices: picked_again(f, grad, indices, n))(n),  # noqa: B023
    )
    for n in (2, 3)
}


def _unpooled_size(input: Tensor, kernel: Any, stride: Any, padding: Any, given: Any) -> Any:
    """The shape of the planes to fill: what windows leave, or a given one that they could have left."""
    dims = len(kernel)
    usual = [(input.shape[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)]
    if given is None:
        return usual
    if len(given) == dims + 2:
        given = given[2:]
    if len(given) != dims:
        raise refused(
            ValueError,
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(given)}'",
        )
    for d in range(dims):
        low, high = usual[d] - stride[d], usual[d] + stride[d]
        if not low < given[d] < high:
            raise refused(ValueError, f'invalid output_size "{given}" (dim {d} must be between {low} and {high})')
    return given


def _each(x: Any, dims: int) -> Any:
    return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,) * dims


def _unpool(
    dims: int, input: Tensor, indices: Tensor, kernel: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    kernel, stride, padding = (_each(x, dims) for x in (kernel, kernel if stride is None else stride, padding))
    size = _unpooled_size(input, kernel, stride, padding, output_size)
    if dims == 1:
        lines = _put_back(2, views.unsqueeze(input, -1), views.unsqueeze(indices, -1), (*size, 1))
        return views.squeeze(lines, -1)
    return _put_back(dims, input, indices, tuple(size))


def _put_back(dims: int, input: Tensor, indices: Tensor, size: Sizes) -> Tensor:
    if indices._ag_raw.dtype != "int64":
        got = f" but got: {cpp_name(indices._ag_raw.dtype)}" if dims == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{input.ndim} dimensions."
        )
    if indices._ag_raw.shape != input._ag_raw.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input._ag_raw.shape)}) but got "
            f"indices tensor with shape: {list(indices._ag_raw.shape)}"
        )
    if readable(indices._ag_raw) and not (
        int(indices._ag_raw.min()) >= 0 and int(indices._ag_raw.max()) < math.prod(size)
    ):
        raise RuntimeError(
            f"Found an invalid max index: {int(indices._ag_raw.max())} (output volumes are of size "
            f"{'x'.join(map(str, size))}"
        )
    result: Tensor = unpooled[dims](input, indices, size)
    return result


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Elements put back where `max_pool1d` took them from, zeros elsewhere."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Elements put back where `max_pool2d` took them from, zeros elsewhere.

    `indices` has the shape of `input`, (C, H, W) or (N, C, H, W). ValueError for an `output_size` that pooling
    could not have had.
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Elements put back where `max_pool3d` took them from, zeros elsewhere.

    `indices` has the shape of `input`, (C, D, H, W) or (N, C, D, H, W). ValueError for an `output_size` that
    pooling could not have had.
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
