"""Brightness, contrast, saturation and hue of pictures of both kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor

from .._pillow import is_picture, pillow
from . import _tensors
from ._conversion import convert_image_dtype, largest

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation"]

_NO_HUE = ("L", "1", "I", "F")


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """The picture as bright as a factor says: 0 is black, 1 leaves it. ValueError for a tensor and a negative
    factor."""
    if not _is_tensor(img, "brightness_factor", brightness_factor):
        return pillow("ImageEnhance").Brightness(img).enhance(brightness_factor)
    return _blend(img, torch.zeros_like(img), brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """The picture with as much contrast as a factor says: 0 is gray, 1 leaves it. ValueError for a tensor and a
    negative factor."""
    if not _is_tensor(img, "contrast_factor", contrast_factor):
        return pillow("ImageEnhance").Contrast(img).enhance(contrast_factor)
    gray = _tensors.to_gray(img, 1) if img.shape[-3] == 3 else img
    kind = img.dtype if img.dtype.is_floating_point else torch.float32
    return _blend(img, torch.mean(gray.to(kind), dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """The picture as colourful as a factor says: 0 has no colours, 1 leaves it. ValueError for a tensor and a negative
    factor."""
    if not _is_tensor(img, "saturation_factor", saturation_factor):
        return pillow("ImageEnhance").Color(img).enhance(saturation_factor)
    return img if img.shape[-3] == 1 else _blend(img, _tensors.to_gray(img, 1), saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The picture's colours moved round the circle by a part of it, from -0.5 to 0.5 (ValueError for others)."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if not _is_tensor(img):
        return _turned(img, int(hue_factor * 255))
    if img.shape[-3] == 1:
        return img
    hue, saturation, value = _to_hsv(convert_image_dtype(img, torch.float32) if not img.is_floating_point() else img)
    moved = _from_hsv((hue + hue_factor) % 1.0, saturation, value)
    return convert_image_dtype(moved, img.dtype)


def _is_tensor(img: Any, name: str = "", factor: float = 0.0) -> bool:
    """Return whether it is a tensor, and no picture of PIL; an error where it is neither, or a tensor with a negative
    factor."""
    if is_picture(img):
        return False
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be PIL Image. Got {type(img)}")
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    _tensors.check_channels(img, (1, 3))
    return True


def _blend(first: Tensor, second: Tensor, ratio: float) -> Tensor:
    mixed = float(ratio) * first + (1.0 - float(ratio)) * second
    return mixed.clamp(0, largest(first.dtype)).to(first.dtype)


def _turned(img: Any, steps: int) -> Any:
    if img.mode in _NO_HUE:
        return img
    hue, saturation, value = img.convert("HSV").split()
    moved = pillow().fromarray(np.asarray(hue) + np.uint8(steps % 256))
    return pillow().merge("HSV", (moved, saturation, value)).convert(img.mode)


def _to_hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value, each from 0 to 1."""
    red, green, blue = img.unbind(dim=-3)
    high, low = torch.max(img, dim=-3).values, torch.min(img, dim=-3).values
    span, gray = high - low, high == low
    one = torch.ones_like(high)
    saturation, divisor = span / torch.where(gray, one, high), torch.where(gray, one, span)
    r, g, b = ((high - part) / divisor for part in (red, green, blue))
    by_red, by_green = high == red, (high == green) & (high != red)
    hue = by_red * (b - g) + by_green * (2.0 + r - b) + (~by_red & (high != green)) * (4.0 + g - r)
    return torch.fmod(hue / 6.0 + 1.0, 1.0), saturation, high


def _from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sector = torch.floor(hue * 6.0)
    part = hue * 6.0 - sector
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * part)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - part))).clamp(0.0, 1.0)
    number = (sector.to(torch.int32) % 6).to(torch.int64).unsqueeze(0)
    orders = ((value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q))
    result: Tensor = torch.stack([torch.stack(order).gather(0, number).squeeze(0) for order in orders], dim=-3)
    return result
