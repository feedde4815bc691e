"""The second API's transforms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor, nn

from ... import tv_tensors
from ..._pillow import is_picture
from .. import _classic, _random, functional
from .._modes import mode_of
from . import functional as F
from ._transform import Transform, WithChance, parts, rebuilt, size_of

# ---------------------------------------------------------------- containers


class Compose(Transform):
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence of callables")
        if not transforms:
            raise ValueError("Pass at least one transform")
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        return _in_turn(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform}" for transform in self.transforms)


def _in_turn(transforms: Any, inputs: tuple[Any, ...]) -> Any:
    several = len(inputs) > 1
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if several else (outputs,)
    return inputs if several else inputs[0]


class RandomApply(Transform):
    """All of the transforms with probability `p`, or none."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, (Sequence, nn.ModuleList)):
            raise TypeError("Argument transforms should be a sequence of callables or a `nn.ModuleList`")
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.transforms, self.p = transforms, p

    def forward(self, *inputs: Any) -> Any:
        if torch.rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return _in_turn(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform}" for transform in self.transforms)


class RandomChoice(Transform):
    """One of the transforms, with the probabilities `p` (equal ones by default)."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], p: list[float] | None = None) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence of callables")
        p = [1] * len(transforms) if p is None else p
        if len(p) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}")
        super().__init__()
        self.transforms = transforms
        self.p = [x / sum(p) for x in p]

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))](*inputs)


class RandomOrder(Transform):
    """All of the transforms, in an order that is drawn."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence of callables")
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        return _in_turn([self.transforms[i] for i in torch.randperm(len(self.transforms)).tolist()], inputs)


# ---------------------------------------------------------------- one kind into another


class ToImage(Transform):
    """Pictures of PIL, arrays and tensors as `Image`, their numbers unchanged."""

    takes = staticmethod(lambda x: isinstance(x, (np.ndarray, tv_tensors.Image)) or is_picture(x))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_image(inpt)


class PILToTensor(Transform):
    """Pictures of PIL as tensors of their own numbers."""

    takes = staticmethod(is_picture)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pil_to_tensor(inpt) if is_picture(inpt) else inpt


class ToTensor(Transform):
    """Deprecated: pictures of PIL and arrays as tensors of numbers from 0 to 1."""

    takes = staticmethod(lambda x: isinstance(x, np.ndarray) or is_picture(x))

    def __init__(self) -> None:
        warnings.warn(
            "The transform `ToTensor()` is deprecated and will be removed in a future release. Instead, please use "
            "`v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])`."
            "Output is equivalent up to float precision.",
            stacklevel=2,
        )
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if isinstance(inpt, Tensor) else F.to_tensor(inpt)


class ToPILImage(Transform):
    """Tensors and arrays as pictures of PIL."""

    takes = staticmethod(lambda x: isinstance(x, (np.ndarray, tv_tensors.Image)))

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """`Image` as a plain tensor."""

    takes = staticmethod(lambda x: isinstance(x, tv_tensors.TVTensor))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt.as_subclass(Tensor)


class Identity(Transform):
    """Nothing."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """A function of one's own, of the parts of a sample that are of `types` (all by default)."""

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        return rebuilt(sample, (self.lambd(x) if isinstance(x, self.types) else x for x in parts(sample)))

    def extra_repr(self) -> str:
        name = getattr(self.lambd, "__name__", "")
        return ", ".join([*([name] if name else []), f"types={[kind.__name__ for kind in self.types]}"])


class ToDtype(Transform):
    """Pictures in another dtype; with `scale`, white stays white. A dict says the dtype by kind, "others" included."""

    takes = staticmethod(lambda x: isinstance(x, tv_tensors.TVTensor))

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, torch.dtype)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype: Any = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        dtype = self.dtype
        if isinstance(dtype, dict):
            if type(inpt) not in dtype and "others" not in dtype:
                raise ValueError(
                    f"No dtype was specified for type {type(inpt)}. If you only need to convert the dtype of images or "
                    "videos, you can just pass e.g. dtype=torch.float32."
                )
            dtype = dtype.get(type(inpt), dtype.get("others"))
        return inpt if dtype is None else F.to_dtype(inpt, dtype=dtype, scale=self.scale)


class ConvertImageDtype(Transform):
    """Pictures in another dtype, white staying white."""

    takes = staticmethod(lambda x: isinstance(x, tv_tensors.TVTensor))

    def __init__(self, dtype: Any = torch.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_dtype(inpt, dtype=self.dtype, scale=True)


class Normalize(Transform):
    """`(picture - mean) / std`, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = list(mean), list(std), inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if any(map(is_picture, flat_inputs)):
            raise TypeError("Normalize() does not support PIL images.")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.normalize(inpt, mean=self.mean, std=self.std, inplace=self.inplace)


class Grayscale(Transform):
    """Returns the brightness of each pixel, in one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(inpt, num_output_channels=self.num_output_channels)


# ---------------------------------------------------------------- size


class Resize(Transform):
    """Pictures in another size: (height, width), or a number for the shorter edge."""

    def __init__(
        self, size: Any, interpolation: Any = "bilinear", max_size: int | None = None, antialias: bool | None = True
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise ValueError(f"size can be an integer, or a sequence of one or two integers, but got {size} instead.")
        self.size = [size] if isinstance(size, int) else list(size)
        self.interpolation, self.max_size, self.antialias = interpolation, max_size, antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, self.size, self.interpolation, max_size=self.max_size, antialias=self.antialias)


class CenterCrop(Transform):
    """The middle of pictures; black is added where they are smaller."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = _classic.two(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.center_crop(inpt, output_size=list(self.size))


class Pad(Transform):
    """Pixels added around pictures."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        _check_padding(padding)
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pad(inpt, self.padding, fill_of(self.fill, inpt), self.padding_mode)


def _check_padding(padding: Any) -> None:
    if not isinstance(padding, int) and not (isinstance(padding, (tuple, list)) and len(padding) in (1, 2, 4)):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")


def fill_of(fill: Any, inpt: Any) -> Any:
    """Return what a picture is filled with: a dict says it by kind, "others" included."""
    return fill.get(type(inpt), fill.get("others")) if isinstance(fill, dict) else fill


class RandomCrop(Transform):
    """A part of pictures, wherever; `padding` is added first, and with `pad_if_needed` what is missing."""

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        self.size = _classic.two(size)
        if padding is not None:
            _check_padding(padding)
            padding = functional.sides(padding)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        (height, width), (high, wide) = size_of(flat_inputs), self.size
        left, top, right, bottom = self.padding or (0, 0, 0, 0)
        height, width = height + top + bottom, width + left + right
        if self.pad_if_needed:
            down, across = max(high - height, 0), max(wide - width, 0)
            top, bottom, left, right = top + down, bottom + down, left + across, right + across
            height, width = height + 2 * down, width + 2 * across
        if height < high or width < wide:
            padded = "" if self.padding is None else "padded "
            raise ValueError(
                f"Required crop size {(high, wide)} is larger than {padded}input image size {(height, width)}."
            )
        sides = [left, top, right, bottom]
        begin = [_random.below(has - wants + 1) if has > wants else 0 for has, wants in ((height, high), (width, wide))]
        return {"sides": sides if any(sides) else None, "begin": begin}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if params["sides"]:
            inpt = F.pad(inpt, params["sides"], fill_of(self.fill, inpt), self.padding_mode)
        return F.crop(inpt, *params["begin"], *self.size)


class RandomResizedCrop(Transform):
    """A part of pictures of a drawn area and shape, in the wanted size."""

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = _classic.two(size)
        for name, value in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(value, Sequence):
                raise TypeError(f"{name} should be a sequence of two floats.")
        self.scale, self.ratio, self.interpolation, self.antialias = scale, ratio, interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        size_of(flat_inputs)
        return {"part": _random.RandomResizedCrop.get_params(flat_inputs[0], self.scale, self.ratio)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resized_crop(inpt, *params["part"], self.size, self.interpolation, self.antialias)


# ---------------------------------------------------------------- at random


class RandomHorizontalFlip(WithChance):
    """Left and right exchanged, with probability `p`."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.horizontal_flip(inpt)


class RandomVerticalFlip(WithChance):
    """Top and bottom exchanged, with probability `p`."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.vertical_flip(inpt)


class RandomGrayscale(WithChance):
    """Pictures without their colours, with probability `p`; as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(inpt, num_output_channels=F.get_num_channels(inpt))


class RandomRotation(Transform):
    """Pictures turned by an angle between `degrees` (of a number: to both sides)."""

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = "nearest",
        expand: bool = False,
        center: list[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = _random.turns(degrees)
        self.interpolation, self.expand, self.fill = interpolation, expand, fill
        mode_of(interpolation, names=True)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"angle": _random.drawn(*self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = fill_of(self.fill, inpt)
        return F.rotate(inpt, params["angle"], self.interpolation, self.expand, self.center, fill)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed by drawn factors, in a drawn order."""

    def __init__(self, brightness: Any = None, contrast: Any = None, saturation: Any = None, hue: Any = None) -> None:
        super().__init__()
        drawn = _random.ColorJitter(brightness or 0, contrast or 0, saturation or 0, hue or 0)
        self.brightness, self.contrast, self.saturation, self.hue = (
            drawn.brightness,
            drawn.contrast,
            drawn.saturation,
            drawn.hue,
        )

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        order, *factors = _random.ColorJitter.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": factors}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return _random.jittered(inpt, params["order"], params["factors"], F)


class RandomErasing(WithChance):
    """A part of tensors overwritten with `value` (a number, one per channel, or "random"), with probability `p`."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        _random.RandomErasing(p, scale, ratio, value, inplace)
        self.scale, self.ratio = scale, ratio
        self.value: list[float] | None = None
        if not isinstance(value, str):
            self.value = [float(x) for x in value] if isinstance(value, (tuple, list)) else [float(value)]
        self.inplace = inplace

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        channels = F.get_num_channels(flat_inputs[0])
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of inpt channels)"
            )
        return {"part": _random.RandomErasing.get_params(flat_inputs[0], self.scale, self.ratio, self.value)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if params["part"][-1] is inpt else F.erase(inpt, *params["part"], inplace=self.inplace)
