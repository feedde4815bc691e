"""Pooling: one number for each window of the last dimensions."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ._layer import Layer
from .module import Module

__all__ = [
    *(
        f"{kind}{n}d"
        for kind in ("AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "LPPool", "MaxPool", "MaxUnpool")
        for n in (1, 2, 3)
    ),
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
]


def _tuple(x: Any, n: int) -> Any:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


class _Pool(Layer):
    """`stride` is `kernel_size` where it is not given."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPoolNd(
    _Pool,
    call="max_pool",
    shows="kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}",
):
    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPoolNd, function="max_pool1d"):
    """The largest element of each window of (N, C, L)."""


class MaxPool2d(_MaxPoolNd, function="max_pool2d"):
    """The largest element of each window of (N, C, H, W)."""


class MaxPool3d(_MaxPoolNd, function="max_pool3d"):
    """The largest element of each window of (N, C, D, H, W)."""


_WINDOW = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


class AvgPool1d(_Pool, call="avg_pool1d", shows=_WINDOW):
    """The mean of each window of (N, C, L)."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kernel_size, self.stride, self.padding = (
            _tuple(x, 1) for x in (self.kernel_size, self.stride, self.padding)
        )


class AvgPool2d(_Pool, call="avg_pool2d", shows=_WINDOW):
    """The mean of each window of (N, C, H, W)."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: Any = None


class AvgPool3d(AvgPool2d, function="avg_pool3d"):
    """The mean of each window of (N, C, D, H, W)."""


class _LPPoolNd(
    _Pool,
    call="lp_pool",
    shows="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}",
):
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Layer.__init__(self, *args, **kwargs)

    def forward(self, input: Any) -> Any:
        return getattr(F, self._ag_function)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPoolNd, function="lp_pool1d"):
    """The p-norm of each window of (N, C, L)."""


class LPPool2d(_LPPoolNd, function="lp_pool2d"):
    """The p-norm of each window of (N, C, H, W)."""


class LPPool3d(_LPPoolNd, function="lp_pool3d"):
    """The p-norm of each window of (N, C, D, H, W)."""


class _AdaptiveAvgPoolNd(Layer, call="adaptive_avg_pool"):
    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool1d"):
    """Means of (N, C, L) over windows that give the wanted length."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool2d"):
    """Means of (N, C, H, W) over windows that give the wanted size."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool3d"):
    """Means of (N, C, D, H, W) over windows that give the wanted size."""


class _AdaptiveMaxPoolNd(Layer, call="adaptive_max_pool", shows="output_size={output_size}"):
    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function="adaptive_max_pool1d"):
    """Largest elements of (N, C, L) in windows that give the wanted length."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function="adaptive_max_pool2d"):
    """Largest elements of (N, C, H, W) in windows that give the wanted size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function="adaptive_max_pool3d"):
    """Largest elements of (N, C, D, H, W) in windows that give the wanted size."""


class _MaxUnpoolNd(Module):
    _ag_dimensions: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._ag_dimensions)
        self.stride = _tuple(kernel_size if stride is None else stride, self._ag_dimensions)
        self.padding = _tuple(padding, self._ag_dimensions)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        unpool = getattr(F, f"max_unpool{self._ag_dimensions}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts what `MaxPool1d` found back into its position, with zeros between."""

    _ag_dimensions = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts what `MaxPool2d` found back into its position, with zeros between."""

    _ag_dimensions = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts what `MaxPool3d` found back into its position, with zeros between."""

    _ag_dimensions = 3


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _ag_dimensions: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        n, name = self._ag_dimensions, type(self).__name__
        if (isinstance(kernel_size, int) and kernel_size <= 0) or (
            isinstance(kernel_size, (tuple, list)) and not all(k > 0 for k in kernel_size)
        ):
            raise ValueError(f"kernel_size must greater than zero, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size, self.return_indices = _tuple(kernel_size, n), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _tuple(output_size, n)
        self.output_ratio = None if output_ratio is None else _tuple(output_ratio, n)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Any) -> Any:
        pool = getattr(F, f"fractional_max_pool{self._ag_dimensions}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Largest elements of (N, C, H, W) in windows whose positions are drawn at random."""

    _ag_dimensions = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Largest elements of (N, C, D, H, W) in windows whose positions are drawn at random."""

    _ag_dimensions = 3
