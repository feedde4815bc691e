"""Pooling: the largest element of each window; what all pooling asks of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..._core.arguments.arg_check import hands_on
from ..._core.base import dims as dim_sizes
from ..._core.base.caching import cached
from ..._core.base.dtype_checks import refuse
from ..._core.base.errors import refused
from ..._core.base.layout import channels_last, channels_last_3d, contiguous_format
from ..._core.base.memory_format import as_input
from ..._core.base.state import thread_state
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor, inference_result, make
from ..._core.transforms import batching
from ..._kernels.layers.pooling import pooled_size
from ..shaping import views
from ..tensors.conversion import contiguous, has_format

Sizes = tuple[int, ...]
RESULTS = "-> (Tensor result, Tensor indices)"


def picked_again(f: Any, grad: Any, indices: Any, dims: int) -> Any:
    """The elements of `grad` at flat positions of each plane."""
    shape = tuple(indices.shape)
    lead = shape[:-dims]
    planes = f.view(f.contiguous_as(grad, indices), (*lead, math.prod(grad.shape[-dims:])))
    flat = f.gather(planes, len(lead), f.reshape(indices, (*lead, math.prod(shape[len(lead) :]))))
    return f.view(flat, shape)


def contiguous_as(grad: Tensor, like: Tensor) -> Tensor:
    """`grad` with its channels last in memory where those of `like` are, row by row otherwise."""
    wanted = {4: channels_last, 5: channels_last_3d}.get(like.ndim, contiguous_format)
    plain = like._ag_raw.flags.c_contiguous or not has_format(like._ag_raw, wanted)
    return contiguous(grad, memory_format=contiguous_format if plain else wanted)


operations.contiguous_as = contiguous_as


def _picking(name: str, node: str, arguments: str, dims: int, shown: tuple[str, ...] = (), **traits: Any) -> Any:
    """An operation that picks the largest element of each window, and its backward, which puts gradients back."""
    run = operation(
        f"{name}(Tensor self, {arguments}) {RESULTS}",
        node=f"{node}Backward0",
        nondifferentiable=("indices",),
        **traits,
        saved={"indices": None, "result1": "indices", **{name: name for name in shown}},
        self=lambda f, grad, self, indices: getattr(f, f"{name}_backward")(grad, self, indices),
    )
    operation(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor indices)",
        memory_format=as_input if "memory_format" in traits else "",
        node=f"{node}BackwardBackward0",
        saved={"self": None},
        batch=batching.folded,
        saves_all=True,
        grad_output=lambda f, grad, indices: picked_again(f, grad, indices, dims),
        self=lambda f, self: f.zeros_of(self.shape, self),
    )
    return run


_WINDOW = "int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"
_SHOWN = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
maximal = {
    n: _picking(
        f"max_pool{n}d_with_indices",
        f"MaxPool{n}DWithIndices",
        _WINDOW,
        n,
        _SHOWN,
        batch=batching.folded,
        refuses={"bc": f"max_pool{n}d"},
        memory_format="channels_last",
    )
    for n in (2, 3)
}
adaptive_maximal = {
    2: _picking(
        "adaptive_max_pool2d",
        "AdaptiveMaxPool2D",
        "int[] output_size",
        2,
        batch=batching.folded,
        refuses={"biuc": "adaptive_max_pool2d"},
        memory_format="channels_last",
    ),
    3: _picking(
        "adaptive_max_pool3d",
        "AdaptiveMaxPool3D",
        "int[] output_size",
        3,
        batch=batching.folded,
        autocast="fp32",
        refuses={"biuc": "adaptive_max_pool3d_cpu"},
    ),
}
fractional = {
    n: _picking(
        f"fractional_max_pool{n}d",
        f"FractionalMaxPool{n}D",
        "int[] kernel_size, int[] output_size, Tensor random_samples",
        n,
        ("kernel_size", "output_size"),
        autocast="fp32",
        refuses={"biuc": f"fractional_max_pool{n}d_out_frame"},
    )
    for n in (2, 3)
}


# ---------------------------------------------------------------- arguments


def several(x: Any, dims: int, name: str, what: str) -> Sizes:
    """One number for every dimension, or one for each."""
    if isinstance(x, int):
        return (x,) * dims
    found = tuple(int(n) for n in x)
    if len(found) not in (1, dims):
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {'two' if dims == 2 else 'three'} ints"
        )
    return dim_sizes.given_sizes(found * dims, found) if len(found) == 1 < dims else found


Windows = tuple[Sizes, Sizes, Sizes, Sizes]


def windows(
    input: Tensor, dims: int, name: str, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Windows:
    """Kernel, stride, padding and dilation of windows over `input`, a number of each for each dimension; RuntimeError
    for what does not fit."""
    return _windows(input._ag_raw.shape, dims, name, kernel, stride, padding, dilation, ceil)


@cached
def _windows(
    shape: Sizes, dims: int, name: str, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Windows:
    kernel = several(kernel, dims, name, "kernel_size")
    # An empty stride stands for the size of the kernel.
    stride = (
        dim_sizes.given_sizes(kernel, ())
        if stride is None or (not isinstance(stride, int) and len(stride) == 0)
        else several(stride, dims, name, "stride")
    )
    padding = several(padding, dims, name, "padding")
    dilation = several(dilation, dims, name, "dilation")
    if not -(2**31) <= min(*kernel, *stride, *padding, *dilation) <= max(*kernel, *stride, *padding, *dilation) < 2**31:
        raise RuntimeError("value cannot be converted to type int without overflow")
    if len(shape) not in (dims + 1, dims + 2):
        if name == "avg_pool2d" and dim_sizes.wrap(-3, len(shape)) is not None:
            _empty(shape, dims, name)
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    _check_sizes(shape, dims, name, kernel, stride, padding, dilation, ceil)
    return kernel, stride, padding, dilation


def _shown(letter: str, sizes: Sizes) -> str:
    """`kH: 1 kW: 2`, as messages have the sizes of each dimension."""
    return " ".join(f"{letter}{axis}: {n}" for axis, n in zip("THW"[-len(sizes) :], sizes, strict=True))


def _check_sizes(
    shape: Sizes, dims: int, name: str, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool
) -> None:
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int(((k - 1) * d + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    for letter, what, sizes in (
        ("k", "kernel size", kernel),
        ("d", "stride", stride),
        ("dilation", "dilation", dilation),
    ):
        if any(n <= 0 for n in sizes):
            raise RuntimeError(f"{what} should be greater than zero, but got {_shown(letter, sizes)}")
    size = shape[-dims:]
    if 0 in shape[-dims - 1 :]:
        _empty(shape, dims, name)
    out = pooled_size(size, kernel, stride, padding, dilation, ceil)
    if min(out) < 1:
        shown = ["x".join(map(str, (shape[-dims - 1], *each))) for each in (size, out)]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )


def _empty(sizes: Sizes, dims: int, name: str) -> None:
    shape = list(sizes)
    if dims == 3:
        raise RuntimeError(
            f"{name}_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive length, "
            f"but input has a shape of {shape} and non-batch dimension "
            f"{shape[-dims - (len(shape) == dims + 1) :].index(0)} has length zero!"
        )
    raise RuntimeError(
        f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
    )


def along_line(run: Any, input: Tensor) -> Any:
    """A pooling of one dimension as one of two: the line becomes an image of height 1."""
    found = run(views.unsqueeze(input, -2))
    flat: Callable[[Tensor], Tensor] = lambda t: views.squeeze(t, -2)  # noqa: E731
    return tuple(map(flat, found)) if isinstance(found, tuple) else flat(found)


def with_height(x: Any, fill: int, name: str = "max_pool1d", what: str = "kernel_size") -> Sizes:
    if not isinstance(x, int) and len(x) != 1:
        raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(x)})")
    return (fill, *several(x, 1, name, what))


# ---------------------------------------------------------------- the largest


def _max_pool(dims: int, input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    sizes = windows(input, dims, f"max_pool{dims}d", kernel, stride, padding, dilation, ceil)
    return maximal[dims](input, *sizes, ceil)


def _check_length(input: Tensor) -> None:
    shape = input._ag_raw.shape
    if input._ag_raw.ndim not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(shape)}"
        )


def _check_line(input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> None:
    """Refuse arguments of a pooling of one dimension that PyTorch refuses, in its words."""
    _check_length(input)
    stride = kernel if stride is None or stride == [] or stride == () else stride
    kernel, stride, padding, dilation = (
        several(x, 1, "max_pool1d", "kernel_size")[0] for x in (kernel, stride, padding, dilation)
    )
    for name, x in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if x <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {x}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )
    out = pooled_size(input._ag_raw.shape[-1:], (kernel,), (stride,), (padding,), (dilation,), ceil)[0]
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")


@composite(method=False)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The largest element of each window of a line, and its position."""
    stride = kernel_size if stride is None or stride == [] or stride == () else stride
    _check_length(input)
    given = (("kernel_size", kernel_size, 1), ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1))
    kernel, step, pad, spread = (with_height(x, fill, "max_pool1d", what) for what, x, fill in given)
    return along_line(lambda x: _max_pool(2, x, kernel, step, pad, spread, ceil_mode), input)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a line."""
    if not return_indices:
        _check_line(input, kernel_size, stride, padding, dilation, ceil_mode)
        refuse("max_pool1d_impl", input._ag_raw, "biu")
    result = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    if return_indices:
        return result
    return (
        result[0]
        if (thread_state.grad and input.requires_grad) or thread_state.levels
        else inference_result(make(result[0]._ag_raw))
    )


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of an image; with `return_indices` also its position in the flattened
    image."""
    found = _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@autocasts("fp32")
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a volume."""
    found = _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


def adaptive_of(name: str) -> Any:
    """Return what a pooling to a given size hands on: the size, with that of the input for None."""

    def hands(input: Tensor, output_size: Any, *_: Any, **__: Any) -> Any:
        given = output_size
        if not isinstance(given, int):
            have = input.size()
            if len(have) <= len(given):
                raise refused(ValueError, f"Input dimension should be at least {len(given) + 1}")
            given = [m if n is None else n for n, m in zip(given, have[-len(given) :], strict=False)]
        return "nn", name, (input, given), {}

    return hands


def adaptive_size(input: Tensor, size: Any, dims: int, name: str) -> Sizes:
    """The size of the result for each dimension; RuntimeError for one that does not fit `input`."""
    return _adaptive_size(input._ag_raw.shape, size, dims, name)


@cached
def _adaptive_size(shape: Sizes, size: Any, dims: int, name: str) -> Sizes:
    given = (size,) * dims if isinstance(size, int) else tuple(size)
    rank = len(shape)
    if rank not in (2, 3) and dims == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
    if dims == 1 and len(given) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})")
    if dims > 1 and rank <= len(given) and not isinstance(size, int):
        raise refused(ValueError, f"Input dimension should be at least {len(given) + 1}")
    if dims > 1 and given == (1,) * dims and "avg" in name:
        return given  # the mean, which takes what it can
    if rank not in (dims + 1, dims + 2):
        colon = ":" * ("max" in name)
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}")
    if len(given) != dims:
        wrong = "output_size must be" if "avg" in name else "internal error: output_size.size() must be"
        raise RuntimeError(f"{name}{': ' if 'avg' in name else '(): '}{wrong} {dims}")
    if 0 in shape[-dims - (rank == dims + 2) :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(shape)}"
        )
    return tuple([have if n is None else int(n) for n, have in zip(given, shape[-dims:], strict=True)])


def _adaptive_max(dims: int, input: Tensor, size: Sizes) -> Any:
    negative = next((n for n in size if n < 0), None)
    if negative is not None:
        shape = [*input._ag_raw.shape[:-dims], *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {shape}")
    return adaptive_maximal[dims](input, size)


@hands_on(lambda input, output_size, *_, **__: ("torch", "adaptive_max_pool1d", (input, output_size), {}))
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` bins."""
    size = (1, *adaptive_size(input, output_size, 1, "adaptive_max_pool1d"))
    found = along_line(lambda x: _adaptive_max(2, x, size), input)
    return found if return_indices else found[0]


@hands_on(adaptive_of("adaptive_max_pool2d"))
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` (height, width) bins."""
    found = _adaptive_max(2, input, adaptive_size(input, output_size, 2, "adaptive_max_pool2d"))
    return found if return_indices else found[0]


@hands_on(adaptive_of("adaptive_max_pool3d"))
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` (depth, height, width) bins."""
    found = _adaptive_max(3, input, adaptive_size(input, output_size, 3, "adaptive_max_pool3d"))
    return found if return_indices else found[0]


def _fractional(
    dims: int, input: Tensor, kernel: Any, size: Any, ratio: Any, return_indices: bool, samples: Any
) -> Any:
    size = _fractional_size(dims, input, size, ratio)
    batch = 1 if input.dim() == dims + 1 else input.size(0)
    channels = input.size(-dims - 1)
    if samples is None:
        samples = functions["rand"](batch, channels, dims, dtype=input.dtype, device=input.device)
    kernel, size = _check_fractions(dims, input, kernel, size)
    samples = _fitting_samples(samples, batch, channels, dims)
    found = fractional[dims](input, kernel, size, samples)
    return found if return_indices else found[0]


def _fractional_size(dims: int, input: Tensor, size: Any, ratio: Any) -> Any:
    """The size of the result, as it is given or by the ratio to that of the input."""
    name = f"fractional_max_pool{dims}d"
    if size is None and ratio is None:
        raise refused(ValueError, f"{name} requires specifying either an output_size or an output_ratio")
    if size is not None:
        return size
    if dims == 2 and len(ratio) > 2:
        raise refused(ValueError, f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    ratios = tuple(ratio) if isinstance(ratio, Iterable) else (ratio,) * dims
    return [int(input.size(d - dims) * ratios[d]) for d in range(dims)]


def _fractional_of(dims: int) -> Any:
    def hands(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *_: Any, **__: Any
    ) -> Any:
        size = _fractional_size(dims, input, output_size, output_ratio)
        input.dim()
        return "nn", f"fractional_max_pool{dims}d", (input, kernel_size, size, input), {}

    return hands


def _check_fractions(dims: int, input: Tensor, kernel: Any, size: Any) -> tuple[Sizes, Sizes]:
    """Raise PyTorch's errors for sizes that do not go together; both as tuples."""
    name = f"fractional_max_pool{dims}d"
    found = [(x,) * dims if isinstance(x, int) else tuple(x) for x in (kernel, size)]
    for what, sizes in zip(("kernel_size", "output_size"), found, strict=True):
        if len(sizes) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {'three ' * (dims == 3)}Ints")
    out = f"{name}{'_out' * (dims == 3)}()"
    if input._ag_raw.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{out}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input._ag_raw.shape)}")
    for axis, k, m, n in zip(("time", "height", "width")[-dims:], *found, input._ag_raw.shape[-dims:], strict=True):
        if m + k - 1 > n - (dims == 3):
            raise RuntimeError(f"{out}: pool {axis} {k} too large relative to input {axis} {n}")
    if min(found[1]) < 0:
        negative = next(n for n in found[1] if n < 0)
        shape = [*input._ag_raw.shape[:-dims], *found[1]]
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {shape}")
    return found[0], found[1]


def _fitting_samples(samples: Tensor, batch: int, channels: int, dims: int) -> Any:
    """The numbers for a batch, of which more may be given; RuntimeError where there are too few."""
    given = samples._ag_raw.shape
    if given[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if given[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if given[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {given[2]}.")
    return samples[:batch]


@hands_on(_fractional_of(2))
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest element of windows at random distances."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@hands_on(_fractional_of(3))
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest element of windows at random distances in a volume, (C, D, H, W) or (N, C, D, H, W).

    The result has `output_size`, or `output_ratio` times the sizes of the input; one of both must be given.
    B. Graham, Fractional Max-Pooling, 2014.
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


_pools: tuple[Any, ...] = (max_pool1d, max_pool2d, max_pool3d)
functions.update((_pool.__name__, _pool) for _pool in _pools)


def _adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """`nn.functional.adaptive_max_pool1d` and the indices of what it takes: (values, indices)."""
    return adaptive_max_pool1d(input, output_size, True)


functions["adaptive_max_pool1d"] = _adaptive_max_pool1d
