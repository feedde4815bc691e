"""The same for pictures of PIL; Pillow does the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._pillow import pillow
from ._modes import PILLOW_NUMBERS, InterpolationMode


def dimensions(image: Any) -> tuple[int, int, int]:
    """(channels, height, width)."""
    return len(image.getbands()), image.height, image.width


def resize(image: Any, size: Sequence[int], mode: InterpolationMode, antialias: bool = True) -> Any:
    """The picture in another size; Pillow always smooths what it makes smaller."""
    return image.resize(tuple(size[::-1]), PILLOW_NUMBERS[mode.value])


def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part of the picture; black where it reaches beyond."""
    return image.crop((left, top, left + width, top + height))


def pad(image: Any, sides: Sequence[int], fill: Any, mode: Any) -> Any:
    """Pixels added at (left, top, right, bottom); negative numbers take pixels away."""
    if mode == "constant":
        colour = _colour(fill, image, "fill")
        if image.mode != "P":
            return pillow("ImageOps").expand(image, border=tuple(sides), fill=colour)
        padded = pillow("ImageOps").expand(image, border=tuple(sides), fill=fill)
        padded.putpalette(image.getpalette())
        return padded
    left, top, right, bottom = sides
    if min(sides) < 0:
        image = image.crop((max(-left, 0), max(-top, 0), image.width - max(-right, 0), image.height - max(-bottom, 0)))
        left, top, right, bottom = (max(side, 0) for side in sides)
    pixels = np.asarray(image)
    around = ((top, bottom), (left, right), (0, 0))[: pixels.ndim]
    padded = pillow().fromarray(np.pad(pixels, around, mode=mode))
    if image.mode == "P":
        padded = padded.convert("P")
        padded.putpalette(image.getpalette())
    return padded


def _colour(fill: Any, image: Any, name: str) -> Any:
    """A colour that has a value for each band of the picture."""
    bands = len(image.getbands())
    values = list(fill) if isinstance(fill, (tuple, list)) else [fill]
    if len(values) == 1:
        values *= bands
    elif len(values) != bands:
        raise ValueError(
            f"The number of elements in '{name}' does not match the number of channels of the image ({len(values)} != "
            f"{bands})"
        )
    if image.mode != "F":
        values = [int(value) for value in values]
    return tuple(values) if bands > 1 else values[0]


def hflip(image: Any) -> Any:
    """Left and right exchanged."""
    return image.transpose(pillow().Transpose.FLIP_LEFT_RIGHT)


def vflip(image: Any) -> Any:
    """Top and bottom exchanged."""
    return image.transpose(pillow().Transpose.FLIP_TOP_BOTTOM)


def to_gray(image: Any, channels: int) -> Any:
    """Return how bright each pixel is, in one band or three equal ones; ValueError for another number of bands."""
    if channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    gray = image.convert("L")
    return pillow().fromarray(np.dstack([np.asarray(gray)] * 3)) if channels == 3 else gray


def rotate(image: Any, angle: float, mode: InterpolationMode, expand: bool, center: Any, fill: Any) -> Any:
    """The picture turned counter-clockwise by an angle in degrees."""
    colour = _colour(0 if fill is None else fill, image, "fill")
    return image.rotate(angle, PILLOW_NUMBERS[mode.value], expand, center, fillcolor=colour)
