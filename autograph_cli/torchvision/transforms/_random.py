"""The first API's transforms at random; drawn as torchvision draws, so the same seed gives the same pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor, nn

from . import functional as F
from ._classic import two
from ._modes import InterpolationMode, mode_of


def drawn(low: float, high: float) -> float:
    """A number from `low` to `high`."""
    return float(torch.empty(1).uniform_(float(low), float(high)).item())


def below(limit: int) -> int:
    """An integer from 0 to `limit` - 1."""
    return int(torch.randint(0, limit, size=(1,)).item())


class RandomCrop(nn.Module):
    """A part of the picture, wherever; `padding` is added first, and with `pad_if_needed` what is missing."""

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        self.size = two(size)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """(top, left, height, width); ValueError where the picture is smaller."""
        _, h, w = F.get_dimensions(img)
        high, wide = output_size
        if h < high or w < wide:
            raise ValueError(f"Required crop size {(high, wide)} is larger than input image size {(h, w)}")
        if (h, w) == (high, wide):
            return 0, 0, h, w
        return below(h - high + 1), below(w - wide + 1), high, wide

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            for axis in (2, 1):
                missing = self.size[axis - 1] - F.get_dimensions(img)[axis]
                if missing > 0:
                    img = F.pad(img, [missing, 0] if axis == 2 else [0, missing], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, (self.size[0], self.size[1])))

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """A part of the picture of a drawn area and shape, in the wanted size."""

    def __init__(
        self,
        size: Any,
        scale: Any = (0.08, 1.0),
        ratio: Any = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = two(size)
        for name, value in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(value, Sequence):
                raise TypeError(f"{name} should be a sequence")
        self.scale, self.ratio, self.antialias = scale, ratio, antialias
        self.interpolation = mode_of(interpolation)

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """(top, left, height, width): ten tries, then the largest part in the middle."""
        _, height, width = F.get_dimensions(img)
        logs = torch.log(torch.tensor(ratio))
        for _ in range(10):
            area = height * width * drawn(scale[0], scale[1])
            shape = torch.exp(torch.empty(1).uniform_(logs[0].item(), logs[1].item())).item()
            w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < w <= width and 0 < h <= height:
                return below(height - h + 1), below(width - w + 1), h, w
        w, h = width, height
        if width / height < min(ratio):
            h = round(width / min(ratio))
        elif width / height > max(ratio):
            w = round(height * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Any) -> Any:
        part = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *part, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(x, 4) for x in pair) for pair in (self.scale, self.ratio))
        detail = f"interpolation={self.interpolation.value}, antialias={self.antialias}"
        return f"RandomResizedCrop(size={self.size}, scale={scale}, ratio={ratio}, {detail})"


class _WithChance(nn.Module):
    """A change that is made with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        raise NotImplementedError

    def forward(self, img: Any) -> Any:
        return self.change(img) if torch.rand(1) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_WithChance):
    """Left and right exchanged, with probability `p`."""

    def change(self, img: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(_WithChance):
    """Top and bottom exchanged, with probability `p`."""

    def change(self, img: Any) -> Any:
        return F.vflip(img)


class RandomGrayscale(_WithChance):
    """The picture without its colours, with probability `p`; as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def change(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, num_output_channels=F.get_image_num_channels(img))


class RandomErasing(_WithChance):
    """A part of the tensor overwritten with `value` (a number, one per channel, or "random"), with probability `p`."""

    def __init__(
        self, p: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0, inplace: bool = False
    ) -> None:
        super().__init__(p)
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    @staticmethod
    def get_params(img: Tensor, scale: Any, ratio: Any, value: list[float] | None = None) -> tuple[Any, ...]:
        """(top, left, height, width, what to write): ten tries, then the whole tensor as it is."""
        channels, height, width = img.shape[-3], img.shape[-2], img.shape[-1]
        logs = torch.log(torch.tensor(ratio))
        for _ in range(10):
            area = height * width * drawn(scale[0], scale[1])
            shape = torch.exp(torch.empty(1).uniform_(logs[0].item(), logs[1].item())).item()
            h, w = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if h >= height or w >= width:
                continue
            new = torch.empty([channels, h, w]).normal_() if value is None else torch.tensor(value)[:, None, None]
            return below(height - h + 1), below(width - w + 1), h, w, new
        return 0, 0, height, width, img

    def change(self, img: Any) -> Any:
        value: Any = None
        if not isinstance(self.value, str):
            value = [float(x) for x in self.value] if isinstance(self.value, (tuple, list)) else [float(self.value)]
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {img.shape[-3]} (number of input "
                "channels)"
            )
        top, left, height, width, new = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, top, left, height, width, new, inplace=self.inplace)

    def __repr__(self) -> str:
        return (
            f"RandomErasing(p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
            f"inplace={self.inplace})"
        )


def turns(degrees: Any) -> list[float]:
    """The angles to draw between: of a number, it to both sides; ValueError for a negative one or another length."""
    if isinstance(degrees, (int, float)):
        if degrees < 0:
            raise ValueError("If degrees is a single number, it must be positive.")
        return [float(-degrees), float(degrees)]
    if len(degrees) != 2:
        raise ValueError("degrees should be a sequence of length 2.")
    return [float(d) for d in degrees]


class RandomRotation(nn.Module):
    """The picture turned by an angle between `degrees` (of a number: to both sides)."""

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = turns(degrees)
        self.interpolation, self.expand, self.center = mode_of(interpolation), expand, center
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """An angle."""
        return drawn(degrees[0], degrees[1])

    def forward(self, img: Any) -> Any:
        fill = self.fill
        if isinstance(img, Tensor):
            fill = (
                [float(f) for f in fill]
                if isinstance(fill, (tuple, list))
                else [float(fill)] * F.get_dimensions(img)[0]
            )
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        detail = "" if self.center is None else f", center={self.center}"
        fill = "" if self.fill is None else f", fill={self.fill}"
        return (
            f"RandomRotation(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{detail}{fill})"
        )


def _range(value: Any, name: str, center: float = 1.0, bound: tuple[float, float] = (0, float("inf"))) -> Any:
    """Between which factors to draw: of a number, so far to both sides; None where nothing would change."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = [center - float(value), center + float(value)]
        value[0] = max(value[0], 0.0) if center else value[0]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        value = [float(value[0]), float(value[1])]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {value}.")
    return None if value[0] == value[1] == center else tuple(value)


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue changed by drawn factors, in a drawn order."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness = _range(brightness, "brightness")
        self.contrast = _range(contrast, "contrast")
        self.saturation = _range(saturation, "saturation")
        self.hue = _range(hue, "hue", center=0, bound=(-0.5, 0.5))

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple[Any, ...]:
        """(order, the four factors; None for what stays)."""
        order = torch.randperm(4)
        return (order, *(None if pair is None else drawn(*pair) for pair in (brightness, contrast, saturation, hue)))

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return jittered(img, order.tolist(), factors)

    def __repr__(self) -> str:
        names = ("brightness", "contrast", "saturation", "hue")
        return f"ColorJitter({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def jittered(img: Any, order: Sequence[int], factors: Sequence[float | None], by: Any = F) -> Any:
    """The picture with these changes, in this order; `by` has the functions."""
    changes = (by.adjust_brightness, by.adjust_contrast, by.adjust_saturation, by.adjust_hue)
    for i in order:
        factor = factors[i]
        if factor is not None:
            img = changes[i](img, factor)
    return img
