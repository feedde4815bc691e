"""Windows of images as columns, and their sum: `unfold` and `fold`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..._core.arguments.arg_check import Handed, hands_on
from ..._core.base import dims
from ..._core.operations.operation import operation
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..._kernels.layers.convolution import output_size

Sizes = tuple[int, ...]

im2col = operation(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
    node="Im2ColBackward0",
    saved={
        "self_sizes": None,
        "self_sym_argsize_minus_1": lambda self_sizes: self_sizes[-1],
        "self_sym_argsize_minus_2": lambda self_sizes: self_sizes[-2],
    },
    linear=True,
    refuses={"iu": "im2col_out_cpu"},
    batch=batching.folded,
    self=lambda f, grad, self_sizes, kernel_size, dilation, padding, stride: f.col2im(
        grad, self_sizes[-2:], kernel_size, dilation, padding, stride
    ),
)
col2im = operation(
    "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
    node="Col2ImBackward0",
    linear=True,
    batch=batching.folded,
    self=lambda f, grad, kernel_size, dilation, padding, stride: f.im2col(grad, kernel_size, dilation, padding, stride),
)


def _unfold_of(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Handed:
    sizes = (kernel_size, dilation, padding, stride)
    given = (list(x) if isinstance(x, Iterable) and not isinstance(x, str) else [x] * 2 for x in sizes)
    return "nn", "im2col", (input, *given), {}


def _pair(name: str, x: Any) -> Sizes:
    """One number for both dimensions, or two."""
    result = (x, x) if isinstance(x, int) else tuple(int(n) for n in x)
    if len(result) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(result)}")
    return result


def _check_positive(what: str, name: str, sizes: Sizes) -> None:
    if min(sizes) <= 0:
        raise RuntimeError(
            f"{what} should be greater than zero, but got {name}_height: {sizes[0]} {name}_width: {sizes[1]}"
        )


def _check_steps(kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    for what, letters, sizes in (("kernel size", "kernel", kernel), ("dilation", "dilation", dilation)):
        _check_positive(what, letters, sizes)
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    _check_positive("stride", "stride", stride)


@hands_on(_unfold_of)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of the images as a column: (N, C * kernel elements, window numbers)."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, dilation, padding, stride = [(x, x) if x.__class__ is int else _pair(name, x) for name, x in given.items()]
    _check_steps(kernel, dilation, padding, stride)
    size = output_size(_spatial(input), kernel, stride, padding, dilation)
    if min(size) < 1:
        raise RuntimeError(
            f"Given input with spatial size {input._ag_raw.shape[-2:]}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {size}, but its components must be "
            "at least one."
        )
    return im2col(input, kernel, dilation, padding, stride)


def _spatial(input: Tensor) -> Sizes:
    """Height and width of images that `unfold` takes."""
    shape = input._ag_raw.shape
    for dim in (1, 2):
        dims.wrap(dim, len(shape), False)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(shape)}"
        )
    return tuple(shape[-2:])


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sum of all columns at the positions that `unfold` takes them from."""
    given = {"output_size": output_size, "kernel_size": kernel_size}
    given |= {"dilation": dilation, "padding": padding, "stride": stride}
    size, kernel, dilation, padding, stride = [_pair(name, x) for name, x in given.items()]
    _check_steps(kernel, dilation, padding, stride)
    _check_columns(input._ag_raw.shape, size, kernel, dilation, padding, stride)
    return col2im(input, size, kernel, dilation, padding, stride)


def _check_columns(shape: Sizes, size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    """RuntimeError for what is not the columns of such images."""
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    rows, columns = shape[-2:]
    if rows % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={kernel}."
        )
    blocks = output_size(size, kernel, stride, padding, dilation)
    told = f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
    if math.prod(blocks) != columns:
        raise RuntimeError(
            f"{told}expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{blocks[0]} * {blocks[1]} = {math.prod(blocks)}, but got input.size(2)={columns}."
        )
    if min(blocks) < 1:
        raise RuntimeError(
            f"{told}calculated shape of the array of sliding blocks as {blocks}, which is too small (non-positive)"
        )
