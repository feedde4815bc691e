"""Convolutions, and the windows that they are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..._core.base import dtypes
from ..._core.base.caching import cached
from ..._core.base.dims import WHOLE, given_sizes
from ..._core.base.dtypes import c_name, cpp_name
from ..._core.base.memory_format import channels_last
from ..._core.base.user_warnings import warn_once
from ..._core.operations import flops
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_layers
from ..pointwise.arithmetic import mul_scalar
from ..pointwise.complexes import view_as_real
from ..pointwise.unary import resolve_conj
from ..shaping import views
from .padding import constant_pad

Sizes = tuple[int, ...]

convolution = operation(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
    "transposed, int[] output_padding, int groups)",
    doc=(
        "A convolution of any number of spatial dimensions, with every option: what `conv1d` to "
        "`conv_transpose3d` call.\n\n"
        "Shapes: input (N, C_in, *), weight (C_out, C_in / groups, *) or, if `transposed`, (C_in, C_out / "
        "groups, *); the result is\n"
        "(N, C_out, *). RuntimeError if they do not fit."
    ),
    saved={"bias_sym_sizes_opt": lambda bias_sizes: bias_sizes or (0,)},
    memory_format=lambda result, image, weight, *_: channels_last(result, image, weight),
    batch=batching_layers.convolution,
    flops=flops.convolution,
    joint={
        (
            "input",
            "weight",
            "bias",
        ): lambda f, grad, input, weight, stride, padding, dilation, transposed, output_padding, groups, mask: wanted(
            mask,
            f.convolution_backward(
                grad, input, weight, stride, padding, dilation, transposed, output_padding, groups, mask
            ),
        )
    },
)


def convolution_twice(
    f: Any,
    grads: Any,
    grad_output: Any,
    input: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: Any,
    mask: Any,
) -> Any:
    """The gradients of a convolution's own gradients: it is linear in the image and in the weight."""
    by_input, by_weight, by_bias = grads
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    none = (None, None, None)
    outer = None
    if mask[0]:
        parts = []
        if by_input is not None:
            parts.append(f.convolution(by_input, weight, None, *geometry))
        if by_weight is not None:
            parts.append(f.convolution(input, by_weight, None, *geometry))
        if by_bias is not None:
            shape = (1, by_bias.shape[0], *[1] * (grad_output.ndim - 2))
            parts.append(f.expand(f.reshape(by_bias, shape), tuple(grad_output.shape)))
        outer = parts[0] if parts else None
        for part in parts[1:]:
            outer = outer + part
    image = (
        none
        if by_weight is None or not mask[1]
        else f.convolution_backward(grad_output, input, by_weight, *geometry, (True, False, False))
    )
    kernel = (
        none
        if by_input is None or not mask[2]
        else f.convolution_backward(grad_output, by_input, weight, *geometry, (False, True, False))
    )
    return outer, image[0], kernel[1]


convolution_backward = operation(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] "
    "dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    node="ConvolutionBackwardBackward0",
    batch=batching_layers.convolution_backward,
    memory_format=lambda result, grad, image, weight, *_: channels_last(result, image, weight),
    flops=flops.convolution_backward,
    joint={
        (
            "grad_output",
            "input",
            "weight",
        ): convolution_twice
    },
)


def wanted(mask: Any, results: Any) -> tuple[Any, ...]:
    """The results that were asked for, None in place of the others."""
    return tuple(result if want else None for want, result in zip(mask, results, strict=True))


# ---------------------------------------------------------------- functions


def sizes_of(x: Any, dim: int, what: str) -> Sizes:
    """One number for every dimension, or one for each."""
    if isinstance(x, int):
        return (x,) * dim
    result = x if x.__class__ is tuple and WHOLE.issuperset(map(type, x)) else tuple([int(n) for n in x])
    if len(result) == 1:
        return result * dim
    if len(result) != dim:
        raise RuntimeError(
            f"expected {what} to be a single integer value or a list of {dim} values to match the convolution "
            f"dimensions, but got {what}={list(result)}"
        )
    return result


def in_c(tensor: Tensor) -> str:
    """The element type as C++ calls it, as PyTorch's message does."""
    return c_name(tensor._ag_raw.dtype)


Kinds = tuple[Any, Any, Any]
Given = tuple[Any, ...]


def _fitted(geometry: Any, dim: int, input: Tensor, weight: Tensor, bias: Tensor | None, *given: Any) -> Any:
    """`geometry` of a convolution, which follows from shapes and dtypes alone; RuntimeError for what does not fit."""
    shapes = input._ag_raw.shape, weight._ag_raw.shape, None if bias is None else bias._ag_raw.shape
    kinds = input._ag_raw.dtype, weight._ag_raw.dtype, None if bias is None else bias._ag_raw.dtype
    return geometry(dim, *shapes, kinds, *given)


def _check_dimensions(dim: int, size: Sizes, kernel: Sizes, groups: int, name: str) -> None:
    if len(size) not in (dim + 1, dim + 2):
        raise RuntimeError(
            f"Expected {dim + 1}D (unbatched) or {dim + 2}D (batched) input to {name}, but got input of size: "
            f"{list(size)}"
        )
    if len(kernel) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(kernel) != dim + 2:
        size = size if len(size) == dim + 2 else (1, *size)
        raise RuntimeError(
            f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight {list(kernel)}, "
            f"but got {dim + 2}-dimensional input of size {list(size)} instead"
        )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check(
    dim: int,
    size: Sizes,
    kernel: Sizes,
    bias: Sizes | None,
    kinds: Kinds,
    geometry: Any,
    groups: int,
    transposed: bool,
) -> Any:
    """Stride, padding and dilation for each dimension, of what fits together."""
    _check_dimensions(dim, size, kernel, groups, f"conv{'_transpose' * transposed}{dim}d")
    mine, by, beside = kinds
    if bias is not None and beside != mine and (not transposed or by == mine):
        raise RuntimeError(f"Input type ({c_name(mine)}) and bias type ({c_name(beside)}) should be the same")
    if by != mine:
        raise RuntimeError(_other_kinds(mine, by, size if len(size) == dim + 2 else (1, *size), kernel, groups))
    result = tuple(
        [sizes_of(x, dim, what) for x, what in zip(geometry, ("stride", "padding", "dilation"), strict=True)]
    )
    _check_signs(*result)
    _check_channels(size[-dim - 1], kernel, transposed, groups, size if len(size) == dim + 2 else (1, *size))
    channels = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and bias != (channels,):
        raise RuntimeError(
            f"Given {'transposed=1, ' * transposed}weight of size {list(kernel)}, expected bias to be "
            f"1-dimensional with {channels} elements, but got bias of size {list(bias)} instead"
        )
    return result


def _other_kinds(mine: Any, by: Any, size: Sizes, kernel: Sizes, groups: int) -> str:
    """The words of the library that computes the convolution in PyTorch: MKLDNN takes all but small ones in float32."""
    first, second = (dtypes.type_name(dtypes.NAMED[kind.name]) for kind in (mine, by))
    said = f"Input type ({first}) and weight type ({second}) should be the same"
    large = size[0] > 1 or groups > 1 or min(kernel[-2:]) > 3 or math.prod(size) > 20480
    if mine.name in ("float16", "bfloat16") or (mine.name == "float32" and large):
        return f"{said} or input should be a MKLDNN tensor and weight is a dense tensor"
    return said if mine.kind == "c" else f"expected scalar type {cpp_name(mine)} but found {cpp_name(by)}"


def _check_channels(have: int, shape: Sizes, transposed: bool, groups: int, size: Sizes) -> None:
    if not transposed and shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(shape)} instead"
        )
    if not transposed and shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {list(shape)} instead"
        )
    want = shape[0] if transposed else shape[1] * groups
    if have != want:
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(shape)}, expected "
            f"input{list(size)} to have {want} channels, but got {have} channels instead"
        )


def _check_signs(stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _of_numbers(input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Any) -> Tensor:
    """The convolution; of complex numbers by three of real ones (Gauss)."""
    if input._ag_raw.dtype.kind != "c":
        result: Tensor = convolution(input, weight, bias, *geometry)
        return result
    (x, xi), (w, wi) = _parts(input), _parts(weight)
    b, bi = (None, None) if bias is None else _parts(bias)
    real, imaginary = convolution(x, w, b, *geometry), convolution(xi, wi, None, *geometry)
    biases = None if b is None else b + bi  # C++ works out the last argument first
    weights = w + wi
    both = convolution(x + xi, weights, biases, *geometry)
    beside = mul_scalar(both - real - imaginary, 1j)
    return real - imaginary + beside


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    pairs = view_as_real(resolve_conj(x))
    return views.select(pairs, -1, 0), views.select(pairs, -1, 1)


def _same(kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Sizes, Sizes]:
    """The padding that keeps a size, and what is odd of it, to be added to the right beforehand, as `pad` has it."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    extra = tuple([x for t in reversed(total) for x in (0, t % 2)])
    return tuple([t // 2 for t in total]), extra if any(extra) else ()


@cached
def _geometry(
    dim: int,
    size: Sizes,
    kernel: Sizes,
    bias: Sizes | None,
    kinds: Kinds,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> tuple[Given, Sizes]:
    """Return what the operation is given after its tensors, and what is added to the images beforehand."""
    named, none = isinstance(padding, str), (0,) * dim
    extra: Sizes = ()
    given = (stride, 0 if named else padding, dilation)
    stride, frame, dilation = _check(dim, size, kernel, bias, kinds, given, groups, False)
    if named and padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "valid":
        frame = none = given_sizes(none, (0,))
    elif padding == "same":
        frame, extra = _same(kernel[2:], stride, dilation)
    whole = [n + more for n, more in zip(size[-dim:], extra[::-2] or none, strict=True)]
    _check_size(whole, kernel[2:], frame, dilation)
    return (stride, frame, dilation, False, none, groups), extra


def _convolve(
    dim: int, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    given, extra = _fitted(_geometry, dim, input, weight, bias, stride, padding, dilation, groups)
    if input._ag_raw.ndim != dim + 2:
        image = views.unsqueeze_op(input, 0)
        return views.squeeze_dim(_of_numbers(_widened(image, extra) if extra else image, weight, bias, given), 0)
    return _of_numbers(_widened(input, extra) if extra else input, weight, bias, given)


def _widened(input: Tensor, extra: Sizes) -> Tensor:
    warn_once(
        "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
        "input be created"
    )
    return constant_pad(input, extra, 0)


def _check_size(size: Iterable[int], kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if any(n + 2 * p < d * (k - 1) + 1 for n, p, k, d in zip(size, padding, kernel, dilation, strict=True)):
        padded = " x ".join(str(n + 2 * p) for n, p in zip(size, padding, strict=True))
        shown = " x ".join(str(d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({padded}). Kernel size: ({shown}). Kernel size can't be "
            "greater than actual input size"
        )


@cached
def _geometry_back(
    dim: int,
    size: Sizes,
    kernel: Sizes,
    bias: Sizes | None,
    kinds: Kinds,
    stride: Any,
    padding: Any,
    dilation: Any,
    output_padding: Any,
    groups: int,
) -> Given:
    """Return what the operation is given after its tensors, for a transposed convolution."""
    sizes = (stride, padding, dilation)
    stride, padding, dilation = _check(dim, size, kernel, bias, kinds, sizes, groups, True)
    extra = sizes_of(output_padding, dim, "output_padding")
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError("output padding must be smaller than either stride or dilation")
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    return stride, padding, dilation, True, extra, groups


def _convolve_back(
    dim: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    given = _fitted(_geometry_back, dim, input, weight, bias, stride, padding, dilation, output_padding, groups)
    if input._ag_raw.ndim != dim + 2:
        return views.squeeze_dim(_of_numbers(views.unsqueeze_op(input, 0), weight, bias, given), 0)
    return _of_numbers(input, weight, bias, given)


def _published(dim: int, run: Any, of: str, doc: str) -> Any:
    """Publish a convolution under its name, `conv2d` or `conv_transpose2d` for two dimensions."""
    run.__name__ = run.__qualname__ = f"conv{of}{dim}d"
    run.__doc__ = doc
    return composite(method=False)(autocasts("lower_precision_fp")(run))


def _forwards(dim: int, doc: str) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        return _convolve(dim, input, weight, bias, stride, padding, dilation, groups)

    return _published(dim, conv, "", doc)


def _backwards(dim: int, shape: str) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        return _convolve_back(dim, input, weight, bias, stride, padding, output_padding, groups, dilation)

    return _published(dim, conv, "_transpose", f"The adjoint of `conv{dim}d`; `weight` is (in, out / groups, {shape}).")


conv1d = _forwards(1, "Slide `weight` (out, in / groups, k) over signals (N, in, length).")
conv2d = _forwards(
    2,
    """Slide `weight` (out, in / groups, kh, kw) over images (N, in, height, width).

    >>> from autograph_cli import torch
    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """,
)
conv3d = _forwards(3, "Slide `weight` over volumes (N, in, depth, height, width).")
conv_transpose1d, conv_transpose2d = _backwards(1, "k"), _backwards(2, "kh, kw")
conv_transpose3d = _backwards(3, "kd, kh, kw")
