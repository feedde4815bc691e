"""`torchvision.transforms.v2.functional`: each function gives what it takes: a picture of PIL, an `Image` or a
tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor

from ... import tv_tensors
from ..._pillow import is_picture
from .. import _conversion, _tensors, functional as first
from .._modes import InterpolationMode, mode_of

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "center_crop",
    "convert_image_dtype", "crop", "erase", "five_crop", "get_dimensions", "get_image_num_channels", "get_image_size",
    "get_num_channels", "get_size", "hflip", "horizontal_flip", "normalize", "pad", "pil_to_tensor", "resize",
    "resized_crop", "rgb_to_grayscale", "rotate", "ten_crop", "to_dtype", "to_grayscale", "to_image", "to_pil_image",
    "to_tensor", "vertical_flip", "vflip",
]  # fmt: skip

_RESIZED = (torch.uint8, torch.float32, torch.float64)
get_dimensions, get_image_num_channels = first.get_dimensions, first.get_image_num_channels
get_num_channels, to_tensor, to_pil_image = first.get_image_num_channels, first.to_tensor, first.to_pil_image
to_grayscale, pil_to_tensor, five_crop, ten_crop = (
    first.to_grayscale,
    first.pil_to_tensor,
    first.five_crop,
    first.ten_crop,
)


def _of_pictures(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for pictures of every kind: the kind stays. TypeError for what is no picture."""

    @functools.wraps(function)
    def call(inpt: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(inpt, Tensor) and not is_picture(inpt):
            raise TypeError(
                f"Functional F.{function.__name__} supports inputs of type Tensor, Image and PIL.Image.Image, "
                f"but got {type(inpt)} instead."
            )
        result = function(inpt, *args, **options)
        return tv_tensors.wrap(result, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else result

    return call


def get_size(inpt: Any) -> list[int]:
    """[height, width]."""
    return first.get_dimensions(inpt)[1:]


def get_image_size(inpt: Any) -> list[int]:
    """[width, height]."""
    return first.get_image_size(inpt)


@_of_pictures
def horizontal_flip(inpt: Any) -> Any:
    """Left and right exchanged."""
    return first.hflip(inpt)


@_of_pictures
def vertical_flip(inpt: Any) -> Any:
    """Top and bottom exchanged."""
    return first.vflip(inpt)


hflip, vflip = horizontal_flip, vertical_flip


@_of_pictures
def resize(
    inpt: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The picture in another size: (height, width), or a number for the shorter edge."""
    return _resized(inpt, size, interpolation, max_size, antialias)


def _resized(inpt: Any, size: Any, interpolation: Any, max_size: int | None, antialias: bool | None) -> Any:
    """Bytes stay bytes on the way, where the first API takes floats."""
    mode = mode_of(interpolation, names=True)
    if not isinstance(inpt, Tensor):
        return first.resize(inpt, size, mode, max_size, antialias)
    goal = first.goal_size(inpt, size, max_size)
    if goal is None:
        return inpt
    return _as_batch(inpt, lambda work: _tensors.resize(work, goal, mode, bool(antialias), _RESIZED))


def _as_batch(inpt: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """`change` of a batch [N, C, H, W] of all pictures."""
    if inpt.ndim < 3:
        return change(inpt)
    shape = inpt.shape
    result = change(inpt.reshape(-1, *shape[-3:]))
    return result.reshape(*shape[:-3], *result.shape[-3:])


@_of_pictures
def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of the picture that begins at (top, left); black where it reaches beyond."""
    return first.crop(inpt, top, left, height, width)


@_of_pictures
def center_crop(inpt: Any, output_size: Any) -> Any:
    """The middle of the picture; black is added where it is smaller."""
    return first.center_crop(inpt, output_size)


@_of_pictures
def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A part of the picture in another size."""
    return _resized(first.crop(inpt, top, left, height, width), size, interpolation, None, antialias)


@_of_pictures
def pad(inpt: Any, padding: Any, fill: Any = None, padding_mode: str = "constant") -> Any:
    """Pixels added around the picture: `fill` (0), or its own, continued (`edge`, `reflect`, `symmetric`)."""
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or `'symmetric'`, but got "
            f"`'{padding_mode}'`."
        )
    fill = 0 if fill is None else fill
    if isinstance(inpt, Tensor):
        return _as_batch(inpt, lambda work: _tensors.pad(work, first.sides(padding), fill, padding_mode))
    return first.pad(inpt, padding, fill, padding_mode)


@_of_pictures
def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """The picture turned counter-clockwise by an angle in degrees; what comes from outside is `fill` (0)."""
    angle = angle % 360
    if isinstance(inpt, Tensor) and center is None:
        square = inpt.shape[-1] == inpt.shape[-2]
        if angle in (0, 180):
            return inpt.flip((-1, -2)) if angle else inpt.clone()
        if angle in (90, 270) and (expand or square):
            return inpt.transpose(-1, -2).flip(-2 if angle == 90 else -1)
    mode = mode_of(interpolation, names=True)
    if not isinstance(inpt, Tensor):
        return first.rotate(inpt, angle, mode, expand, center, fill)
    return _as_batch(inpt, lambda work: first.rotate(work, angle, mode, expand, center, fill))


@_of_pictures
def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Return how bright each pixel is, in one channel or three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    if not isinstance(inpt, Tensor) or inpt.shape[-3] != 3:
        return first.rgb_to_grayscale(inpt, num_output_channels)
    gray = _gray(inpt).to(inpt.dtype)
    return gray.expand(*inpt.shape[:-3], 3, *inpt.shape[-2:]) if num_output_channels == 3 else gray


def _gray(image: Tensor) -> Tensor:
    """Return how bright each pixel is; floats, whatever the picture has."""
    red, green, blue = image.unbind(dim=-3)
    return (
        red.mul(_tensors.GRAY[0])
        .add_(green, alpha=_tensors.GRAY[1])
        .add_(blue, alpha=_tensors.GRAY[2])
        .unsqueeze(dim=-3)
    )


def _blend(image: Tensor, other: Tensor, ratio: float) -> Tensor:
    white = _conversion.largest(image.dtype)
    return image.mul(float(ratio)).add_(other, alpha=1.0 - float(ratio)).clamp_(0, white).to(image.dtype)


@_of_pictures
def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """The picture as bright as a factor says: 0 is black, 1 leaves it."""
    if not isinstance(inpt, Tensor):
        return first.adjust_brightness(inpt, brightness_factor)
    _check(inpt, "brightness_factor", brightness_factor)
    return inpt.mul(brightness_factor).clamp_(0, _conversion.largest(inpt.dtype)).to(inpt.dtype)


def _check(image: Tensor, name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    _tensors.check_channels(image, (1, 3))


@_of_pictures
def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """The picture with as much contrast as a factor says: 0 is gray, 1 leaves it."""
    if not isinstance(inpt, Tensor):
        return first.adjust_contrast(inpt, contrast_factor)
    _check(inpt, "contrast_factor", contrast_factor)
    gray = _gray(inpt) if inpt.shape[-3] == 3 else inpt if inpt.is_floating_point() else inpt.to(torch.float32)
    gray = gray if inpt.is_floating_point() else gray.floor_()
    return _blend(inpt, torch.mean(gray, dim=(-3, -2, -1), keepdim=True), contrast_factor)


@_of_pictures
def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """The picture as colourful as a factor says: 0 has no colours, 1 leaves it."""
    if not isinstance(inpt, Tensor):
        return first.adjust_saturation(inpt, saturation_factor)
    _check(inpt, "saturation_factor", saturation_factor)
    if inpt.shape[-3] == 1:
        return inpt
    gray = _gray(inpt)
    return _blend(inpt, gray if inpt.is_floating_point() else gray.floor_(), saturation_factor)


@_of_pictures
def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """The picture's colours moved round the circle by a part of it, from -0.5 to 0.5."""
    return first.adjust_hue(inpt, hue_factor)


@_of_pictures
def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """`(inpt - mean) / std`, channel by channel; TypeError for what is no tensor of floats, ValueError for a std of
    0."""
    if not all(std):
        raise ValueError("std evaluated to zero, leading to division by zero.")
    plain = inpt.as_subclass(Tensor) if isinstance(inpt, tv_tensors.TVTensor) else inpt
    first.check_normal(plain)
    centre, spread = (torch.as_tensor(x, dtype=plain.dtype) for x in (mean, std))
    centre, spread = (x.view(-1, 1, 1) if x.ndim == 1 else x for x in (centre, spread))
    return (plain.sub_(centre) if inplace else plain.sub(centre)).div_(spread)


@_of_pictures
def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Any:
    """The tensor with `v` in the part that begins at (i, j)."""
    return first.erase(inpt, i, j, h, w, v, inplace)


def to_image(inpt: Any) -> Any:
    """A picture of PIL, an array [H, W, C] or a tensor as an `Image`; TypeError for anything else."""
    if isinstance(inpt, np.ndarray):
        inpt = torch.from_numpy(np.atleast_3d(inpt)).permute((2, 0, 1)).contiguous()
    elif is_picture(inpt):
        inpt = first.pil_to_tensor(inpt)
    elif not isinstance(inpt, Tensor):
        raise TypeError(
            f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead."
        )
    return tv_tensors.Image(inpt)


@_of_pictures
def to_dtype(inpt: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
    """The picture in another dtype; with `scale`, white stays white (see `convert_image_dtype`)."""
    if not isinstance(inpt, Tensor):
        raise TypeError(
            f"Functional F.to_dtype supports inputs of type Tensor and Image, but got {type(inpt)} instead."
        )
    plain = inpt.as_subclass(Tensor) if isinstance(inpt, tv_tensors.TVTensor) else inpt
    kinds = {plain.dtype, dtype}
    if scale and len(kinds) > 1 and torch.bool in kinds and not any(kind.is_floating_point for kind in kinds):
        raise TypeError("Number of value bits is only defined for integer dtypes, but got torch.bool.")
    if scale and plain.is_floating_point():
        _conversion.check_digits(plain.dtype, dtype, "conversion")
    return _conversion.convert_image_dtype(plain, dtype) if scale and plain.dtype != dtype else plain.to(dtype)


def convert_image_dtype(image: Any, dtype: Any = torch.float32) -> Any:
    """The picture in another dtype, white staying white."""
    return to_dtype(image, dtype, scale=True)
