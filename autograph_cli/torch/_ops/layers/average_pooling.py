"""Pooling by means and by norms of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import hands_on
from ..._core.base.memory_format import as_input, suggests_channels_last
from ..._core.operations.operation import operation
from ..._core.operations.registry import functions
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..pointwise import unary
from ..reducing import reductions
from .pooling import adaptive_of, adaptive_size, along_line, several, windows, with_height


def _averaging(dims: int, traits: Mapping[str, Any], adaptive_traits: Mapping[str, Any]) -> Any:
    name, node = f"avg_pool{dims}d", f"AvgPool{dims}D"
    arguments = (
        "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override"
    )
    run = operation(
        f"{name}(Tensor self, {arguments})",
        node=f"{node}Backward0",
        linear=True,
        batch=batching.folded,
        **traits,
        self=lambda f, grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
            getattr(f, f"{name}_backward")(
                grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
            )
        ),
    )
    operation(
        f"{name}_backward(Tensor grad_output, Tensor self, {arguments})",
        memory_format=as_input,
        node=f"{node}BackwardBackward0",
        batch=batching.folded,
        saves_all=True,
        grad_output=lambda f, grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
            getattr(f, name)(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        ),
        self=lambda f, self: f.zeros_of(self.shape, self),
    )
    adaptive, adaptive_node = f"_adaptive_avg_pool{dims}d", f"AdaptiveAvgPool{dims}DBackward"
    adapted = operation(
        f"{adaptive}(Tensor self, int[] output_size)",
        node=f"{adaptive_node}0",
        linear=True,
        batch=batching.folded,
        **adaptive_traits,
        self=lambda f, grad, self: getattr(f, f"{adaptive}_backward")(grad, self),
    )
    operation(
        f"{adaptive}_backward(Tensor grad_output, Tensor self)",
        memory_format=as_input,
        node=f"{adaptive_node}Backward0",
        batch=batching.folded,
        saves_all=True,
        grad_output=lambda f, grad, grad_output_sizes: getattr(f, adaptive)(grad, grad_output_sizes[-dims:]),
        self=lambda f, self: f.zeros_of(self.shape, self),
    )
    return run, adapted


def _but_int64(name: str) -> Callable[..., str | None]:
    """For integers, the kernel that lacks all but those of 64 bits."""
    return lambda a, *_: None if a.dtype == np.int64 else name


average = {
    2: _averaging(
        2,
        {"refuses": {"buc": "avg_pool2d", "i": _but_int64("avg_pool2d")}, "memory_format": "channels_last"},
        {"refuses": {"biuc": "adaptive_avg_pool2d"}, "memory_format": "channels_last"},
    ),
    3: _averaging(
        3,
        {"autocast": "fp32", "refuses": {"buce": "avg_pool3d_out_frame", "i": _but_int64("avg_pool3d_out_frame")}},
        {"refuses": {"biuc": "adaptive_avg_pool3d_cpu"}},
    ),
}


def _avg_pool(
    dims: int, input: Tensor, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any
) -> Tensor:
    kernel, stride, padding, _ = windows(input, dims, f"avg_pool{dims}d", kernel, stride, padding, 1, ceil)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    result: Tensor = average[dims][0](input, kernel, stride, padding, ceil, include, divisor)
    return result


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of a line."""
    if input._ag_raw.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for avg_pool1d)"
        )
    stride = kernel_size if stride is None or stride == [] or stride == () else stride
    given = (("kernel_size", kernel_size, 1), ("stride", stride, 1), ("padding", padding, 0))
    kernel, step, pad = (with_height(x, fill, "avg_pool1d", what) for what, x, fill in given)
    result: Tensor = along_line(lambda x: _avg_pool(2, x, kernel, step, pad, ceil_mode, count_include_pad, None), input)
    return result


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Tensor:
    """The mean of each window of an image."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@autocasts("fp32")
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Tensor:
    """The mean of each window of a volume."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg(dims: int, input: Tensor, output_size: Any) -> Tensor:
    size = adaptive_size(input, output_size, dims, f"adaptive_avg_pool{dims}d")
    if min(size) < 0:
        shown = f"{{{size[0]}, {','.join(map(str, size[1:]))}}}"
        raise RuntimeError(
            f"adaptive_avg_pool{dims}d: elements of output_size must be greater than or equal to 0 but received {shown}"
        )
    if size == (1,) * dims:
        mean = reductions.mean(input, tuple(range(-1, -dims - 1, -1)), True)
        return _with_channels_last(mean) if suggests_channels_last(input._ag_raw) else mean
    result: Tensor = average[dims][1](input, size)
    return result


def _with_channels_last(mean: Tensor) -> Tensor:
    """The same numbers, strides told as where channels are last: PyTorch writes that down as a node."""
    n, c, *rest = mean._ag_raw.shape
    laid: Tensor = mean.as_strided_((n, c, *rest), (c, 1, *(c for _ in rest)))
    return laid


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` bins."""
    size = (1, *adaptive_size(input, output_size, 1, "adaptive_avg_pool1d"))
    result: Tensor = along_line(lambda x: _adaptive_avg(2, x, size), input)
    return result


@hands_on(adaptive_of("adaptive_avg_pool2d"))
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows chosen so that planes of (C, H, W) or (N, C, H, W) get `output_size`; None keeps a size."""
    return _adaptive_avg(2, input, output_size)


@hands_on(adaptive_of("adaptive_avg_pool3d"))
@autocasts("fp32")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows chosen so that volumes of (C, D, H, W) or (N, C, D, H, W) get `output_size`; None keeps a
    size.
    """
    return _adaptive_avg(3, input, output_size)


def _powers(input: Tensor, norm: float, mean: Tensor, count: int) -> Tensor:
    """(count * mean of the powers) ** (1 / norm), 0 where the mean is not positive."""
    return ((unary.sign(mean) * unary.relu(unary.abs(mean))) * count) ** (1.0 / norm)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window."""
    mean = avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _powers(input, norm_type, mean, kernel_size if isinstance(kernel_size, int) else kernel_size[0])


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm (`norm_type`) of each window of planes, (C, H, W) or (N, C, H, W)."""
    kernel = several(kernel_size, 2, "lp_pool2d", "kernel_size")
    mean = avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _powers(input, norm_type, mean, math.prod(kernel))


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of a volume."""
    kernel = several(kernel_size, 3, "lp_pool3d", "kernel_size")
    mean = avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _powers(input, norm_type, mean, math.prod(kernel))


functions.update(avg_pool1d=avg_pool1d, adaptive_avg_pool1d=adaptive_avg_pool1d)
