"""`torchvision.transforms.functional`: each function takes a picture of PIL or a tensor, and gives one of the same
kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor

from .._pillow import is_picture
from . import _pictures, _tensors
from ._colour import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from ._conversion import convert_image_dtype, pil_to_tensor, to_pil_image, to_tensor
from ._modes import InterpolationMode, mode_of

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "center_crop",
    "convert_image_dtype", "crop", "erase", "five_crop", "get_dimensions", "get_image_num_channels", "get_image_size",
    "hflip", "normalize", "pad", "pil_to_tensor", "resize", "resized_crop", "rgb_to_grayscale", "rotate", "ten_crop",
    "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip


def _kind(img: Any) -> Any:
    """The module that works on pictures of this kind; TypeError where there is none."""
    if isinstance(img, Tensor):
        return _tensors
    if is_picture(img):
        return _pictures
    raise TypeError(f"img should be PIL Image. Got {type(img)}")


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width]."""
    if not isinstance(img, Tensor) and not is_picture(img):
        raise TypeError(f"Unexpected type {type(img)}")
    return list(_kind(img).dimensions(img))


def get_image_size(img: Any) -> list[int]:
    """[width, height]."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """The number of channels."""
    return get_dimensions(img)[0]


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """`(tensor - mean) / std`, channel by channel; TypeError for what is no tensor of floats, ValueError for a std of
    0.

    >>> from autograph_cli import torch
    >>> normalize(torch.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    check_normal(tensor)
    result = tensor if inplace else tensor.clone()
    centre, spread = (torch.as_tensor(x, dtype=tensor.dtype) for x in (mean, std))
    if (spread == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    centre, spread = (x.view(-1, 1, 1) if x.ndim == 1 else x for x in (centre, spread))
    return result.sub_(centre).div_(spread)


def check_normal(tensor: Any) -> None:
    """An error for what cannot be normalized: no tensor, no floats, no channels."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )


def resized_size(size: tuple[int, int], wanted: Sequence[int], max_size: int | None = None) -> tuple[int, int]:
    """(height, width) of a picture of `size` whose shorter edge becomes `wanted`, the longer at most `max_size`."""
    short, long = sorted(size)
    goal = wanted[0]
    new_short, new_long = goal, int(goal * long / short)
    if max_size is not None:
        if max_size <= goal:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = "
                f"{wanted}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    height, width = size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def resize(
    img: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The picture in another size: (height, width), or a number for the shorter edge.

    >>> from autograph_cli import torch
    >>> resize(torch.ones(3, 8, 6), 4).shape
    torch.Size([3, 5, 4])
    """
    mode = mode_of(interpolation)
    goal = goal_size(img, size, max_size)
    return img if goal is None else _kind(img).resize(img, goal, mode, bool(antialias))


def goal_size(img: Any, size: Any, max_size: int | None) -> tuple[int, ...] | None:
    """(height, width) as `resize` is asked for; None where the picture has them."""
    wanted = [size] if isinstance(size, int) else list(size)
    if len(wanted) not in (1, 2):
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list, not a {len(wanted)} element tuple/list")
    if max_size is not None and len(wanted) != 1:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1 in torchscript mode."
        )
    _, height, width = get_dimensions(img)
    goal = tuple(wanted) if len(wanted) == 2 else resized_size((height, width), wanted, max_size)
    return None if goal == (height, width) else goal


def sides(padding: Any) -> list[int]:
    """(left, top, right, bottom) as given by one number, by (across, down), or by all four."""
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError("Got inappropriate padding arg")
    numbers = [padding] if isinstance(padding, int) else list(padding)
    if len(numbers) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(numbers)} element tuple")
    return numbers * (4 // len(numbers))


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Pixels added around the picture: `fill`, or its own, continued (`edge`, `reflect`, `symmetric`)."""
    kind = _kind(img)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    if kind is _tensors and not isinstance(fill, (int, float)):
        raise TypeError("Got inappropriate fill arg")
    return kind.pad(img, sides(padding), fill, padding_mode)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of the picture that begins at (top, left); black where it reaches beyond."""
    return _kind(img).crop(img, top, left, height, width)


def center_crop(img: Any, output_size: Any) -> Any:
    """The middle of the picture, (height, width) or a square; black is added where it is smaller."""
    numbers = [int(output_size)] if isinstance(output_size, (int, float)) else list(output_size)
    goal_h, goal_w = numbers * (2 // len(numbers))
    _, height, width = get_dimensions(img)
    if goal_w > width or goal_h > height:
        across, down = max(goal_w - width, 0), max(goal_h - height, 0)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2], fill=0)
        _, height, width = get_dimensions(img)
        if (goal_h, goal_w) == (height, width):
            return img
    return crop(img, round((height - goal_h) / 2.0), round((width - goal_w) / 2.0), goal_h, goal_w)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A part of the picture in another size."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.flip(-1) if _kind(img) is _tensors else _pictures.hflip(img)


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.flip(-2) if _kind(img) is _tensors else _pictures.vflip(img)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return how bright each pixel is, in one channel or three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    return _kind(img).to_gray(img, num_output_channels)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """As `rgb_to_grayscale`, of a picture of PIL."""
    if not is_picture(img):
        raise TypeError("Input should be PIL Image")
    return _pictures.to_gray(img, num_output_channels)


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """The picture turned counter-clockwise by an angle in degrees about `center` (x, y), by default its middle.

    `expand` makes room for all of it; what comes from outside is `fill` (0). TypeError for an angle that is no number.
    """
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    return _kind(img).rotate(img, angle, mode_of(interpolation), expand, center, fill)


def five_crop(img: Any, size: Any) -> tuple[Any, ...]:
    """The four corners and the middle: top left, top right, bottom left, bottom right, centre."""
    numbers = [int(size)] if isinstance(size, (int, float)) else list(size)
    high, wide = numbers * (2 // len(numbers))
    _, height, width = get_dimensions(img)
    if wide > width or high > height:
        raise ValueError(f"Requested crop size {(high, wide)} is bigger than input size {(height, width)}")
    corners = [(top, left) for top in (0, height - high) for left in (0, width - wide)]
    return (*(crop(img, top, left, high, wide) for top, left in corners), center_crop(img, [high, wide]))


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the picture and of its mirror image."""
    return five_crop(img, size) + five_crop((vflip if vertical_flip else hflip)(img), size)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """The tensor with `v` in the part that begins at (i, j); TypeError for what is no tensor."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    result = img if inplace else img.clone()
    result[..., i : i + h, j : j + w] = v
    return result
