"""`torchvision.io`: files as tensors of bytes, and images as tensors, read and written by Pillow."""

from __future__ import annotations

import io
from enum import Enum
from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.atomic_files import atomic_write

from ._pillow import pillow

__all__ = [
    "ImageReadMode", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png", "read_file",
    "read_image", "write_file", "write_jpeg", "write_png",
]  # fmt: skip


class ImageReadMode(Enum):
    """The channels of an image that is read; UNCHANGED: those that it has."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {"GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}
"""Pillow's names for them."""


def read_file(path: str) -> Any:
    """The bytes of a file, as uint8."""
    return torch.from_numpy(np.fromfile(path, np.uint8))


def write_file(filename: str, data: Any) -> None:
    """Write a tensor of bytes to a file."""
    if data.dtype is not torch.uint8 or data.ndim != 1:
        raise RuntimeError("Input tensor must be a 1-dimensional tensor of uint8")
    with atomic_write(filename) as file:
        file.write(data.numpy().tobytes())


def decode_image(input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Any:
    """The image in a tensor of bytes, or in the file of that name: uint8, (channels, height, width)."""
    return _decoded(input, mode, apply_exif_orientation, ("PNG", "JPEG", "GIF", "WEBP"))


def decode_png(input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Any:
    """The image in the bytes of a PNG file."""
    return _decoded(input, mode, apply_exif_orientation, ("PNG",))


def decode_jpeg(input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Any:
    """The image in the bytes of a JPEG file."""
    return _decoded(input, mode, apply_exif_orientation, ("JPEG",))


read_image = decode_image


def _decoded(input: Any, mode: Any, turned: bool, formats: tuple[str, ...]) -> Any:
    Image, ImageOps = pillow("Image"), pillow("ImageOps")
    if not isinstance(input, torch.Tensor):
        input = read_file(str(input))
    if input.dtype is not torch.uint8 or input.ndim != 1 or not input.numel():
        raise RuntimeError("Expected a non empty 1-dimensional tensor of uint8")
    name = (ImageReadMode[mode.upper()] if isinstance(mode, str) else mode).name
    try:
        image: Any = Image.open(io.BytesIO(input.numpy().tobytes()), formats=formats)
        image.load()
    except OSError as error:
        raise RuntimeError(f"the bytes are no image of the kinds {', '.join(formats)}: {error}") from None
    if image.mode[0] in "IF":
        raise NotImplementedError(
            f"images of mode {image.mode} (16 bits and more) are not available in autograph's engine yet"
        )
    image = ImageOps.exif_transpose(image) if turned else image
    wanted = _MODES.get(name) or {"P": "RGBA" if "transparency" in image.info else "RGB", "1": "L"}.get(image.mode)
    array = np.array(image if wanted is None else image.convert(wanted))
    return torch.from_numpy(np.ascontiguousarray(np.atleast_3d(array).transpose(2, 0, 1)))


def encode_png(input: Any, compression_level: int = 6) -> Any:
    """The bytes of a PNG file of an image: uint8, 1 or 3 channels first."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input: Any, quality: int = 75) -> Any:
    """The bytes of a JPEG file of an image: uint8, 1 or 3 channels first."""
    if not 1 <= quality <= 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    return _encoded(input, "JPEG", quality=quality)


def _encoded(input: Any, kind: str, **options: int) -> Any:
    if input.dtype is not torch.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if input.ndim != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor")
    if input.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {input.shape[0]}")
    pixels = np.ascontiguousarray(input.numpy().transpose(1, 2, 0))
    file = io.BytesIO()
    pillow("Image").fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(file, kind, **options)
    return torch.from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def write_png(input: Any, filename: str, compression_level: int = 6) -> None:
    """Write an image as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Any, filename: str, quality: int = 75) -> None:
    """Write an image as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
