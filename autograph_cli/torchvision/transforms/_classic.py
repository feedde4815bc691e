"""The first API's transforms: callables on one picture, a tensor or one of PIL."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor, nn

from . import functional as F
from ._modes import InterpolationMode, mode_of

# ---------------------------------------------------------------- containers


class Compose:
    """One transform after the other.

    >>> Compose([ToTensor(), Normalize([0.5], [0.5])])
    Compose(
        ToTensor()
        Normalize(mean=[0.5], std=[0.5])
    )
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listed(self, self.transforms)


def listed(of: Any, transforms: Any) -> str:
    """A class's name, and its parts a line each."""
    return "\n".join((f"{type(of).__name__}(", *(f"    {transform}" for transform in transforms), ")"))


class _OfSeveral:
    """Transforms of which some are taken; the numbers are those of Python's `random`."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __repr__(self) -> str:
        return listed(self, self.transforms)


class RandomApply(nn.Module):
    """All of the transforms with probability `p`, or none."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n".join(("RandomApply(", f"    p={self.p}", *(f"    {t}" for t in self.transforms), ")"))


class RandomChoice(_OfSeveral):
    """One of the transforms, with the probabilities `p` (equal ones by default)."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class RandomOrder(_OfSeveral):
    """All of the transforms, in an order that is drawn."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


# ---------------------------------------------------------------- one kind into another


class _Plain:
    """A transform that is its name."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToTensor(_Plain):
    """A picture of PIL or an array [H, W, C] as a tensor [C, H, W]; bytes become numbers from 0 to 1."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


class PILToTensor(_Plain):
    """A picture of PIL as a tensor of its own numbers."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage:
    """A tensor or an array as a picture of PIL."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"ToPILImage({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda(_Plain):
    """A function of one's own."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class ConvertImageDtype(nn.Module):
    """The picture in another dtype, white staying white."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)

    def __repr__(self) -> str:
        return "ConvertImageDtype()"


class Normalize(nn.Module):
    """`(tensor - mean) / std`, channel by channel."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


# ---------------------------------------------------------------- size


def two(size: Any) -> tuple[int, ...]:
    """(height, width), of a number or a sequence; ValueError for a longer one."""
    if isinstance(size, (int, float)):
        return int(size), int(size)
    if len(size) not in (1, 2):
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return (size[0], size[0]) if len(size) == 1 else tuple(size)


class Resize(nn.Module):
    """The picture in another size: (height, width), or a number for the shorter edge."""

    def __init__(
        self,
        size: Any,
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = mode_of(interpolation)

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        detail = f"interpolation={self.interpolation.value}, max_size={self.max_size}, antialias={self.antialias}"
        return f"Resize(size={self.size}, {detail})"


class CenterCrop(nn.Module):
    """The middle of the picture; black is added where it is smaller."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = two(size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size})"


class Pad(nn.Module):
    """Pixels added around the picture."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        F.sides(padding)
        if not isinstance(fill, (int, float, tuple, list)):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"Pad(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class FiveCrop(nn.Module):
    """The four corners and the middle."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = two(size)

    def forward(self, img: Any) -> Any:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"FiveCrop(size={self.size})"


class TenCrop(nn.Module):
    """The four corners and the middle, of the picture and of its mirror image."""

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = two(size), vertical_flip

    def forward(self, img: Any) -> Any:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"TenCrop(size={self.size}, vertical_flip={self.vertical_flip})"


class Grayscale(nn.Module):
    """Returns the brightness of each pixel, in one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, num_output_channels=self.num_output_channels)

    def __repr__(self) -> str:
        return f"Grayscale(num_output_channels={self.num_output_channels})"
