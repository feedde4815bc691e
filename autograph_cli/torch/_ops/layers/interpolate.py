"""Images at other positions: resizing, sampling by a grid, pixel shuffles."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import hands_on
from ..._core.arguments.parsing import parser
from ..._core.base.caching import cached
from ..._core.base.dtype_checks import refuse, same_scalar
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.size import Size
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import camel, operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ..._kernels.layers.interpolate import RESIZINGS
from ..pointwise.arithmetic import no_derivative
from . import average_pooling
from .convolution import wanted

Sizes = tuple[int, ...]

# ---------------------------------------------------------------- resizing


def _scale(position: int) -> Any:
    return lambda scales: scales[position]


def _resizing(name: str) -> Any:
    """An operation that resizes, and its adjoint."""
    node = camel(name.replace("1d", "1D").replace("2d", "2D").replace("3d", "3D"))
    dims = int(next(filter(str.isdigit, name)))
    shown: dict[str, Any] = {"output_size": "output_size"} | ({"align_corners": None} if "nearest" in name else {})
    shown |= {"scales": lambda scales: scales[0]} if dims == 1 else {"scales": None}
    if dims > 1:
        shown |= {f"scales_{axis}": _scale(i) for i, axis in enumerate("dhw"[-dims:])}
    run = operation(
        f"{name}(Tensor self, int[] output_size, bool align_corners, float[]? scales)",
        node=f"{node}Backward0",
        saved=shown,
        linear=True,
        memory_format="channels_last" if dims > 1 and not name.endswith("_aa") else "",
        batch=batching.folded,
        self=lambda f, grad, self_sizes, align_corners, scales: getattr(f, f"{name}_backward")(
            grad, self_sizes, align_corners, scales
        ),
    )
    operation(
        f"{name}_backward(Tensor grad_output, int[] input_size, bool align_corners, float[]? scales)",
        node=f"{node}BackwardBackward0",
        linear=True,
        batch=batching.folded,
        grad_output=lambda f, grad, grad_output_sizes, align_corners, scales: getattr(f, name)(
            grad, grad_output_sizes[2:], align_corners, scales
        ),
    )
    return run


resizings = {(mode, int(next(filter(str.isdigit, name)))): _resizing(name) for name, mode in RESIZINGS.items()}
_MODES = {
    "nearest": ("nearest", (1, 2, 3)),
    "nearest-exact": ("nearest_exact", (1, 2, 3)),
    "linear": ("linear", (1,)),
    "bilinear": ("linear", (2,)),
    "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)),
}
_ALL = ("", (1, 2, 3))
_COMPILED = {(mode, int(next(filter(str.isdigit, name)))): name for name, mode in RESIZINGS.items()}
_REFUSING = {
    ("nearest", 1): "compute_indices_weights_nearest",
    ("nearest-exact", 1): "compute_indices_weights_nearest",
    ("linear", 1): "compute_indices_weights_linear",
    ("nearest", 3): "compute_indices_weights_nearest",
    ("nearest-exact", 3): "compute_indices_weights_nearest",
    ("nearest", 2): "upsample_nearest2d_channels_last",
    ("nearest-exact", 2): "upsample_nearest2d_channels_last",
    ("trilinear", 3): "compute_indices_weights_linear",
    ("bilinear", 2): "upsample_bilinear2d_channels_last",
    ("bicubic", 2): "compute_indices_weights_cubic",
}
"""The kernels that lack integers, where they go by another name than the function."""


def _output_size(shape: Sizes, size: Any, scale_factor: Any, recompute: Any) -> tuple[Any, Any]:
    """The spatial shape to give, or the scales that it follows from; the other one is None."""
    dims = len(shape) - 2
    if size is not None and scale_factor is not None:
        raise refused(ValueError, "only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise refused(ValueError, "either size or scale_factor should be defined")
    given, what = (scale_factor, "scale_factor of shape") if size is None else (size, "output size of")
    if not isinstance(given, (tuple, list)):
        given = [given] * max(dims, 0)
    elif len(given) != dims:
        form = "scale_factor in (s1, s2, ...,sK)" if size is None else "output size in (o1, o2, ...,oK)"
        raise refused(
            ValueError,
            f"Input and {what.split()[0] if size is None else 'output'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {list(shape[2:])} and {what} {given}. "
            f"Please provide input tensor in (N, C, d1, d2, ...,dK) format and {form} format.",
        )
    elif size is not None and not all(
        isinstance(n, (int, np.integer)) or (isinstance(n, Tensor) and not n.is_floating_point()) for n in given
    ):
        raise refused(
            TypeError,
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {[type(n) for n in given]}",
        )
    if size is not None and recompute:
        raise refused(ValueError, "recompute_scale_factor is not meaningful with an explicit size.")
    if size is not None:
        return given, None
    if recompute:
        return [math.floor(n * s) for n, s in zip(shape[2:], given, strict=True)], None
    return None, given


def _check_dimensions(rank: int, mode: Any) -> None:
    """NotImplementedError where images of so many dimensions cannot be resized in this way."""
    needed = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode) if isinstance(mode, str) else None
    if needed == rank or (needed is None and mode in ("area", *_MODES) and rank - 2 in _MODES.get(mode, _ALL)[1]):
        return
    if needed is not None and rank in (3, 4, 5):
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {needed}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported"
        f" (got {rank}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
        f"nearest-exact (got {mode})"
    )


def _check_sizes(shape: Sizes, output: Sizes) -> None:
    if min(output) > 0 and 0 not in shape[2:]:
        return
    shown = [
        ", ".join(f"{axis}: {n}" for axis, n in zip("DHW"[-len(output) :], sizes, strict=True))
        for sizes in (shape[2:], output)
    ]
    between = " and output" if len(output) == 1 else " output"
    raise RuntimeError(
        f"Input and output sizes should be greater than 0, but got input ({shown[0]}){between} ({shown[1]})"
    )


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Tensor:
    """Images (N, C, ...) resized to `size` or by `scale_factor`.

    `mode`: nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area. ValueError for arguments that do not
    fit.

    >>> from autograph_cli import torch
    >>> torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2, mode="bilinear").shape
    torch.Size([1, 1, 4, 4])
    """
    dims, shape = input._ag_raw.ndim - 2, input._ag_raw.shape
    listed = size.__class__ in _LISTS or scale_factor.__class__ in _LISTS
    fitting = _fitting if listed else _kept_fitting
    kind, given, scales, output = fitting(
        shape, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )
    if mode == "area":
        return _area(input, given)
    if output is None:
        corners = () if kind.startswith("nearest") else (False if align_corners is None else align_corners,)
        compiled = parser("nn", _COMPILED[kind, dims])
        assert compiled is not None
        compiled.check((input, given, *corners, scales), {})
        output = _output(shape, given and [int(n) for n in given], scales)
    number = input._ag_raw.dtype
    if not input.is_floating_point() and (number != "uint8" or mode in ("linear", "trilinear")):
        kernel = _REFUSING.get((mode, dims), f"upsample_{mode}{dims}d")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{cpp_name(number)}'")
    result: Tensor = resizings[kind, dims](
        input, output, bool(align_corners), (None,) * dims if scales is None else tuple(map(float, scales))
    )
    return result


_LISTS = frozenset((tuple, list, Size))
"""Classes of arguments whose elements' classes matter, which `kept` does not tell apart."""


def _fitting(
    shape: Sizes, size: Any, scale_factor: Any, mode: Any, align_corners: Any, recompute: Any, antialias: bool
) -> tuple[str, Any, Any, Sizes | None]:
    """The kind of operation, the spatial shape or the scales, and the spatial shape of the result: None where the
    operation is to look at the arguments."""
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise refused(
            ValueError,
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear",
        )
    given, scales = _output_size(shape, size, scale_factor, recompute or (mode == "area" and size is None))
    if antialias and not (mode in ("bilinear", "bicubic") and len(shape) == 4):
        raise refused(
            ValueError,
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input",
        )
    _check_dimensions(len(shape), mode)
    if mode == "area":
        return "", given, scales, None
    kind = _MODES[mode][0] + "_aa" * antialias
    if not all(type(n) in (int, float) for n in given or scales) or not isinstance(align_corners, (bool, NoneType)):
        return kind, given, scales, None
    return kind, given, scales, _output(shape, given, scales)


_kept_fitting = cached(_fitting)


def _output(shape: Sizes, given: Any, scales: Any) -> Sizes:
    sizes = (int(n * s) for n, s in zip(shape[2:], scales, strict=True)) if given is None else given
    output = tuple(sizes)
    _check_sizes(shape, output)
    return output


def _area(input: Tensor, size: Sizes) -> Tensor:
    pools = {
        1: average_pooling.adaptive_avg_pool1d,
        2: average_pooling.adaptive_avg_pool2d,
        3: average_pooling.adaptive_avg_pool3d,
    }
    return pools[len(size)](input, size)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Tensor:
    """The former name of `interpolate`."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The former name of `interpolate` with `mode="nearest"`; it warns."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The former name of `interpolate` with `mode="bilinear"` and `align_corners=True`; it warns."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ---------------------------------------------------------------- grids

_INTERPOLATION = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDING = {"zeros": 0, "border": 1, "reflection": 2}


def sampled_twice(results: Any, by_grid: Any, mode: int) -> Any:
    """The three gradients; the image has none where the gradient of the grid does not depend on it."""
    outer, image, positions = results
    return outer, None if by_grid is None or mode == _INTERPOLATION["nearest"] else image, positions


def _grid_sampler(dims: int) -> Any:
    name, node = f"grid_sampler_{dims}d", f"GridSampler{dims}D"
    arguments = "int interpolation_mode, int padding_mode, bool align_corners"
    run = operation(
        f"{name}(Tensor input, Tensor grid, {arguments})",
        "grid_sampler",
        node=f"{node}Backward0",
        autocast="fp32",
        batch=batching.folded,
        joint={
            ("input", "grid"): lambda f, grad, input, grid, interpolation_mode, padding_mode, align_corners, mask: (
                wanted(
                    mask,
                    getattr(f, f"{name}_backward")(
                        grad, input, grid, interpolation_mode, padding_mode, align_corners, mask
                    ),
                )
            )
        },
    )
    operation(
        f"{name}_backward(Tensor grad_output, Tensor input, Tensor grid, {arguments}, bool[2] output_mask) -> (Tensor, "
        "Tensor)",
        "grid_sampler_backward",
        node=f"{node}BackwardBackward0",
        batch=batching.folded,
        joint={
            (
                "grad_output",
                "input",
                "grid",
            ): lambda f, grads, grad_output, input, grid, interpolation_mode, padding_mode, align_corners: (
                sampled_twice(
                    getattr(f, f"{name}_twice")(
                        grads[0], grads[1], grad_output, input, grid, interpolation_mode, padding_mode, align_corners
                    ),
                    grads[1],
                    interpolation_mode,
                )
            )
        },
    )
    tensors = ("by_input", "by_grid", "grad_output", "input", "grid")
    operation(
        f"{name}_twice(Tensor? by_input, Tensor? by_grid, Tensor grad_output, Tensor input, Tensor grid, {arguments}) "
        "-> (Tensor, Tensor, Tensor)",
        "grid_sampler_twice",
        has_derivative=False,
        **{t: no_derivative(f"{name}_double_backward") for t in tensors},
    )
    return run


grid_samplers = {n: _grid_sampler(n) for n in (2, 3)}
for _sampler in grid_samplers.values():
    composite(method=False, name=_sampler.op.name)(_sampler)
affine_grid_op = operation(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners)",
    doc=(
        "`nn.functional.affine_grid` with all arguments given: the points of an image of shape `size` under "
        "the maps `theta`."
    ),
    linear=True,
    autocast="lower_precision_result",
    theta=lambda f, grad, size, align_corners: affine_grid_gradient(f, grad, size, align_corners),
)


def affine_grid_gradient(f: Any, grad: Any, size: Sizes, align_corners: bool) -> Any:
    """The untransformed points times the gradients of the transformed ones."""
    rows = f.affine_base(grad, size, align_corners)
    flat = f.view(grad, (size[0], rows.shape[2], len(size) - 2))
    return f.transpose(f.bmm(rows, flat), 1, 2)


def affine_base(grad: Tensor, size: Sizes, align_corners: bool) -> Tensor:
    return make(kernels(grad._ag_raw).affine_base(grad._ag_raw, size, align_corners))


operations.affine_base = affine_base


def check_grid(input: Tensor, grid: Tensor) -> None:
    """Raise PyTorch's errors for images and a grid that do not go together."""
    if input.size(0) != grid.size(0):
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input._ag_raw.shape)} and grid with sizes {list(grid._ag_raw.shape)}"
        )
    if grid._ag_raw.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid._ag_raw.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input._ag_raw.shape)} and grid with sizes {list(grid._ag_raw.shape)}"
        )
    for i, n in enumerate(input._ag_raw.shape[2:], 2):
        if n <= 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input._ag_raw.shape)} with dimension {i} being empty"
            )
    refuse("grid_sampler_2d_cpu_kernel_impl" if input.ndim == 4 else "grid_sampler3d_cpu", input._ag_raw, "biuc")
    same_scalar(input, grid)


def _corners(align_corners: Any) -> bool:
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details."
        )
    return bool(align_corners)


def _grid_sample_of(
    input: Any, grid: Any, mode: Any = "bilinear", padding_mode: Any = "zeros", align_corners: Any = None
) -> Any:
    _check_modes(mode, padding_mode)
    corners = False if align_corners is None else align_corners
    return "torch", "grid_sampler", (input, grid, 0, 0, corners), {}


def _check_modes(mode: Any, padding_mode: Any) -> None:
    if mode not in (*_INTERPOLATION,):
        raise refused(
            ValueError,
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'",
        )
    if padding_mode not in (*_PADDING,):
        raise refused(
            ValueError,
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'",
        )


@hands_on(_grid_sample_of)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Tensor:
    """Images (N, C, ...) read at the points (N, ..., 2 or 3) of a grid; -1 and 1 are the edges, x comes first."""
    _check_modes(mode, padding_mode)
    return _sampled(input, grid, mode, padding_mode, _corners(align_corners))


@autocasts("fp32")
def _sampled(input: Tensor, grid: Tensor, mode: str, padding_mode: str, corners: bool) -> Tensor:
    check_grid(input, grid)
    if input.ndim == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    result: Tensor = grid_samplers[input.ndim - 2](input, grid, _INTERPOLATION[mode], _PADDING[padding_mode], corners)
    return result


def affine_grid(theta: Tensor, size: Any, align_corners: Any = None) -> Tensor:
    """The grid for `grid_sample` that transforms images of `size` by matrices `theta` (N, 2, 3) or (N, 3, 4)."""
    if theta._ag_raw.dtype.kind != "f":
        raise refused(ValueError, f"Expected theta to have floating point type, but got {theta.dtype}")
    shape = tuple(int(n) for n in size)
    wanted_theta = {4: (2, 3), 5: (3, 4)}.get(len(shape))
    if wanted_theta is None:
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}"
        )
    if theta.ndim != 3 or theta._ag_raw.shape[1:] != wanted_theta:
        raise refused(
            ValueError,
            f"Expected a batch of {wanted_theta[0]}D affine matrices of shape Nx{wanted_theta[0]}x{wanted_theta[1]} "
            f"for size {size}. Got {theta.shape}.",
        )
    if min(shape) <= 0:
        raise refused(ValueError, f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_op(theta, shape, _corners(align_corners))
