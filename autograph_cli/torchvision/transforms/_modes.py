"""The ways to read a picture between its pixels."""

from __future__ import annotations

from enum import Enum
from typing import Any


class InterpolationMode(Enum):
    """The ways to interpolate; `BOX`, `HAMMING` and `LANCZOS` are for pictures of PIL only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


PILLOW_NUMBERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5, "nearest-exact": 0}


def mode_of(interpolation: Any, names: bool = False) -> InterpolationMode:
    """The mode that is meant: itself, Pillow's number or, where allowed, its name; TypeError or ValueError for
    others."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if type(interpolation) is int:
        numbers = {number: name for name, number in reversed(PILLOW_NUMBERS.items())}
        if interpolation not in numbers:
            raise ValueError(f"{interpolation} is not one of Pillow's numbers for interpolation (0 to 5)")
        return InterpolationMode(numbers[interpolation])
    if names and isinstance(interpolation, str):
        return InterpolationMode(interpolation)
    raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant")
