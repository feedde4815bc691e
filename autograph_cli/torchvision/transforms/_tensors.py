"""Geometry of pictures that are tensors: `[..., C, H, W]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor
from autograph_cli.torch.nn import functional as nn

from ._modes import InterpolationMode

_SAMPLED = (torch.float32, torch.float64)
_ROUNDED = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
GRAY = (0.2989, 0.587, 0.114)
"""The brightness of red, green and blue to the eye."""
_PADDED = {"edge": "replicate", "reflect": "reflect", "constant": "constant"}


def dimensions(image: Tensor) -> tuple[int, int, int]:
    """(channels, height, width); TypeError for what is no picture."""
    if image.ndim < 2:
        raise TypeError("Tensor is not a torch image.")
    return (1 if image.ndim == 2 else image.shape[-3]), image.shape[-2], image.shape[-1]


def _sampled(image: Tensor, sample: Any, kinds: Sequence[Any] = _SAMPLED) -> Tensor:
    """`sample` of the picture as a batch of a dtype that it takes; the result as the picture was."""
    work = image if image.dtype in kinds else image.to(torch.float32)
    result: Tensor = sample(work.unsqueeze(0) if image.ndim < 4 else work)
    result = result.squeeze(0) if image.ndim < 4 else result
    if result.dtype == image.dtype:
        return result
    return (result.round() if image.dtype in _ROUNDED else result).to(image.dtype)


def resize(
    image: Tensor, size: Sequence[int], mode: InterpolationMode, antialias: bool, kinds: Any = _SAMPLED
) -> Tensor:
    """The picture in another size; other dtypes than `kinds` go by float32, and integers are rounded."""
    smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    options: dict[str, Any] = {"align_corners": False, "antialias": antialias} if smooth else {}

    def sample(work: Tensor) -> Tensor:
        result = nn.interpolate(work, size=list(size), mode=mode.value, **options)
        bounded = mode is InterpolationMode.BICUBIC and image.dtype == torch.uint8
        return result.clamp(min=0, max=255) if bounded else result

    return _sampled(image, sample, kinds)


def crop(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A part of the picture; zeros where it reaches beyond."""
    _, h, w = dimensions(image)
    bottom, right = top + height, left + width
    if left < 0 or top < 0 or right > w or bottom > h:
        part = image[..., max(top, 0) : bottom, max(left, 0) : right]
        missing = (
            max(min(right, 0) - left, 0),
            max(right - max(w, left), 0),
            max(min(bottom, 0) - top, 0),
            max(bottom - max(h, top), 0),
        )
        return nn.pad(part, list(missing), mode="constant", value=0.0)
    return image[..., top:bottom, left:right]


def pad(image: Tensor, sides: Sequence[int], fill: Any, mode: str) -> Tensor:
    """Pixels added at (left, top, right, bottom); negative numbers take pixels away."""
    left, top, right, bottom = sides
    if mode == "symmetric":
        return _mirror(image, sides)
    if mode == "constant":
        if isinstance(fill, (tuple, list)):
            return _fill_around(image, sides, fill)
        kinds: Sequence[Any] = (image.dtype,)
        return _sampled(image, lambda work: nn.pad(work, [left, right, top, bottom], value=float(fill)), kinds)
    kinds = (torch.float16, torch.bfloat16, *_SAMPLED)
    return _sampled(image, lambda work: nn.pad(work, [left, right, top, bottom], mode=_PADDED[mode]), kinds)


def _fill_around(image: Tensor, sides: Sequence[int], fill: Sequence[float]) -> Tensor:
    left, top, right, bottom = sides
    inside = nn.pad(torch.ones_like(image[..., :1, :, :]), [left, right, top, bottom])
    colour = torch.tensor(list(fill), dtype=image.dtype).view(-1, 1, 1)
    return nn.pad(image, [left, right, top, bottom]).where(inside.to(torch.bool), colour)


def _mirror(image: Tensor, sides: Sequence[int]) -> Tensor:
    """The picture with its own edge mirrored around it, the outermost pixels included."""
    left, top, right, bottom = sides
    if min(sides) < 0:
        image = image[
            ..., max(-top, 0) : image.shape[-2] - max(-bottom, 0), max(-left, 0) : image.shape[-1] - max(-right, 0)
        ]
        left, top, right, bottom = (max(side, 0) for side in sides)
    across, down = _mirrored(left, image.shape[-1], right), _mirrored(top, image.shape[-2], bottom)
    return image[..., torch.tensor(down)[:, None], torch.tensor(across)[None, :]]


def _mirrored(before: int, length: int, after: int) -> list[int]:
    if max(before, after) > length:
        raise ValueError(f"{max(before, after)} pixels cannot be mirrored of a picture that has {length}")
    inside = list(range(length))
    return [*reversed(inside[:before]), *inside, *reversed(inside[length - after :])]


def to_gray(image: Tensor, channels: int) -> Tensor:
    """Return how bright each pixel is, in one channel or three equal ones."""
    check_channels(image, (1, 3))
    if image.shape[-3] == 3:
        red, green, blue = image.unbind(dim=-3)
        gray = (GRAY[0] * red + GRAY[1] * green + GRAY[2] * blue).to(image.dtype).unsqueeze(dim=-3)
    else:
        gray = image.clone()
    return gray.expand((*image.shape[:-3], 3, *image.shape[-2:])) if channels == 3 else gray


def check_channels(image: Tensor, allowed: Sequence[int]) -> None:
    """TypeError for a picture of another number of channels."""
    if image.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {image.ndim}")
    channels = dimensions(image)[0]
    if channels not in allowed:
        raise TypeError(f"Input image tensor permitted channel values are {list(allowed)}, but found {channels}")


# ---------------------------------------------------------------- rotation


def rotate(image: Tensor, angle: float, mode: InterpolationMode, expand: bool, center: Any, fill: Any) -> Tensor:
    """The picture turned counter-clockwise by an angle in degrees; what comes from outside is `fill`."""
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"Interpolation mode '{mode.value}' is unsupported with Tensor input")
    _, height, width = dimensions(image)
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = _inverse_rotation(middle, -angle)
    size = _turned_size(matrix, width, height) if expand else (width, height)
    grid = _grid(matrix, (width, height), size, image.dtype if image.dtype.is_floating_point else torch.float32)
    return _sampled(image, lambda work: _look_up(work, grid.to(work.dtype), mode.value, fill))


def _inverse_rotation(center: tuple[float, float], angle: float) -> list[float]:
    """Return where a pixel of the result comes from: two rows of three, about `center`."""
    turn = math.radians(angle)
    cos, sin = math.cos(turn), math.sin(turn)
    x, y = center
    return [cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y]


def _turned_size(matrix: list[float], width: int, height: int) -> tuple[int, int]:
    """The size of the smallest picture that holds the whole turned one."""
    half_w, half_h = 0.5 * width, 0.5 * height
    corners = torch.tensor(
        [[-half_w, -half_h, 1.0], [-half_w, half_h, 1.0], [half_w, half_h, 1.0], [half_w, -half_h, 1.0]]
    )
    moved = torch.matmul(corners, torch.tensor(matrix).reshape(2, 3).T)
    offset = torch.tensor((half_w, half_h))
    low = torch.trunc((moved.min(dim=0)[0] + offset) / 1e-4) * 1e-4
    high = torch.trunc((moved.max(dim=0)[0] + offset) / 1e-4) * 1e-4
    size = torch.ceil(high) - torch.floor(low)
    return int(size[0]), int(size[1])


def _grid(matrix: list[float], source: tuple[int, int], size: tuple[int, int], dtype: Any) -> Tensor:
    """For each pixel of the result, its position in the source, from -1 to 1."""
    width, height = size
    base: Tensor = torch.empty(1, height, width, 3, dtype=dtype)
    base[..., 0] = torch.linspace(-width * 0.5 + 0.5, width * 0.5 - 0.5, steps=width)
    base[..., 1] = torch.linspace(-height * 0.5 + 0.5, height * 0.5 - 0.5, steps=height).unsqueeze(-1)
    base[..., 2] = 1.0
    theta = torch.tensor(matrix, dtype=dtype).reshape(1, 2, 3)
    scaled = theta.transpose(1, 2) / torch.tensor([0.5 * source[0], 0.5 * source[1]], dtype=dtype)
    return base.view(1, height * width, 3).bmm(scaled).view(1, height, width, 2)


def _look_up(image: Tensor, grid: Tensor, mode: str, fill: Any) -> Tensor:
    batch = image.shape[0]
    grid = grid.expand(batch, *grid.shape[1:]) if batch > 1 else grid
    if fill is None:
        return nn.grid_sample(image, grid, mode=mode, padding_mode="zeros", align_corners=False)
    inside = torch.ones((batch, 1, *image.shape[-2:]), dtype=image.dtype)
    both: Tensor = nn.grid_sample(
        torch.cat((image, inside), dim=1), grid, mode=mode, padding_mode="zeros", align_corners=False
    )
    result: Tensor = both[:, :-1]
    mask: Tensor = both[:, -1:].expand_as(result)
    colours = list(fill) if isinstance(fill, (tuple, list)) else [float(fill)]
    colour: Tensor = torch.tensor(colours, dtype=image.dtype).view(1, len(colours), 1, 1).expand_as(result)
    if mode == "nearest":
        outside = mask < 0.5
        result[outside] = colour[outside]
        return result
    return result * mask + (1.0 - mask) * colour
