"""Convolutions and transposed convolutions over one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any

from ... import _namespace as torch
from .. import functional as F, init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [f"{lazy}{kind}{n}d" for lazy in ("", "Lazy") for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _tuple(x: Any, n: int) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


class _ConvNd(Module):
    """The base of convolutions: a weight, (out, in / groups, *kernel), transposed (in, out / groups, *kernel), and a
    bias."""

    __constants__ = """
        stride padding dilation groups padding_mode output_padding in_channels out_channels kernel_size
    """.split()
    _ag_dimensions = 0
    _ag_transposed = False
    bias: Any

    def _ag_set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        n = self._ag_dimensions
        self._ag_check(in_channels, out_channels, groups, stride, padding, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = _tuple(kernel_size, n), _tuple(stride, n), _tuple(dilation, n)
        self.padding: Any = padding if isinstance(padding, str) else _tuple(padding, n)
        self.transposed, self.output_padding = self._ag_transposed, _tuple(output_padding, n)
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._ag_paddings()
        self.weight = Parameter(torch.empty(self._ag_weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _ag_check(
        self, in_channels: int, out_channels: int, groups: int, stride: Any, padding: Any, padding_mode: str
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in _tuple(stride, self._ag_dimensions)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            modes = ", ".join(repr(mode) for mode in _PADDING_MODES)
            raise ValueError(f"padding_mode must be one of {{{modes}}}, but got padding_mode={padding_mode!r}")

    def _ag_paddings(self) -> list[int]:
        """Return what `pad` is to add before and after each dimension, the last one first."""
        if self.padding == "valid":
            return [0, 0] * self._ag_dimensions
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def _ag_weight_shape(self) -> tuple[int, ...]:
        outer, inner = (
            (self.in_channels, self.out_channels) if self._ag_transposed else (self.out_channels, self.in_channels)
        )
        return (outer, inner // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within 1 / sqrt(elements of one kernel)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        n = self._ag_dimensions
        unless = {"padding": (0,) * n, "dilation": (1,) * n, "output_padding": (0,) * n, "groups": 1}
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        shown += [f"{name}={getattr(self, name)}" for name, usual in unless.items() if getattr(self, name) != usual]
        if self.bias is None:
            shown.append("bias=False")
        if self.padding_mode != "zeros":
            shown.append(f"padding_mode={self.padding_mode}")
        return ", ".join(shown)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._ag_set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        convolve = getattr(F, f"conv{self._ag_dimensions}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = _tuple(0, self._ag_dimensions)
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of (N, C, L) or (C, L)."""

    _ag_dimensions = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W) or (C, H, W).

    >>> from autograph_cli import torch
    >>> torch.nn.Conv2d(1, 6, 5)
    Conv2d(1, 6, kernel_size=(5, 5), stride=(1, 1))
    """

    _ag_dimensions = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W)."""

    _ag_dimensions = 3


class _ConvTransposeNd(_ConvNd):
    _ag_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__()
        self._ag_set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Any, output_size: Any = None) -> Any:
        convolve = getattr(F, f"conv_transpose{self._ag_dimensions}d")
        more = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _output_padding(self, input: Any, wanted: list[int]) -> tuple[int, ...]:
        """Return what has to be added for an output of the wanted size; ValueError where nothing does."""
        n, dims = self._ag_dimensions, input.dim()
        if len(wanted) == dims:
            wanted = wanted[dims - n :]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {dims}D input, output_size must have {n} or {dims} elements (got "
                f"{len(wanted)})"
            )
        least = [
            (input.size(dims - n + d) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        most = [least[d] + self.stride[d] - 1 for d in range(n)]
        if not all(low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` by its input, as a layer."""

    _ag_dimensions = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` by its input, as a layer."""

    _ag_dimensions = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` by its input, as a layer."""

    _ag_dimensions = 3


class _LazyConv(LazyModuleMixin):
    """A convolution that takes `in_channels` from its first input."""

    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: Any,
        *args: Any,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        position = 5  # of bias among the arguments after kernel_size, counting from 0: 4 of Conv, 4 of ConvTranspose
        if len(args) >= position:
            args, bias = (*args[: position - 1], *args[position:]), args[position - 1]
            kwargs.update(
                zip(
                    ("padding_mode",) if not self._ag_transposed else ("dilation", "padding_mode"),
                    args[position - 1 :],
                    strict=False,
                )
            )
            args = args[: position - 1]
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Initialize the parameters; nothing happens before their shape is known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *_: Any, **__: Any) -> None:
        if not self.has_uninitialized_params():
            return
        n = self._ag_dimensions
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._ag_weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


for _eager in (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d):
    _name = f"Lazy{_eager.__name__}"
    globals()[_name] = type(
        _name,
        (_LazyConv, _eager),
        {
            "cls_to_become": _eager,
            "__module__": __name__,
            "__doc__": f"`{_eager.__name__}` that takes `in_channels` from its first input.",
        },
    )
