"""Channels to pixels, pixels to channels, channels among themselves."""

from __future__ import annotations

from ._layer import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Layer, call="pixel_shuffle"):
    """(*, C r^2, H, W) to (*, C, H r, W r)."""

    upscale_factor: int


class PixelUnshuffle(Layer, call="pixel_unshuffle"):
    """(*, C, H r, W r) to (*, C r^2, H, W)."""

    downscale_factor: int
