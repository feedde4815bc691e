"""Between pictures of PIL, arrays and tensors, and from dtype to dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor

from .._pillow import is_picture, pillow

_MODES_OF_PIXELS = {"I": np.int32, "I;16": np.int16, "F": np.float32}
_BY_DTYPE = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}
_MODES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
"""The modes that a picture of so many bands may have, the usual one first."""


def _pixels(pic: Any) -> Any:
    """A picture as an array [H, W, C]."""
    array = np.array(pic, _MODES_OF_PIXELS.get(pic.mode, np.uint8), copy=True)
    return array.reshape(pic.height, pic.width, len(pic.getbands()))


def to_tensor(pic: Any) -> Tensor:
    """A picture of PIL or an array [H, W(, C)] as a tensor [C, H, W]; bytes become numbers from 0 to 1.

    TypeError for anything else, ValueError for an array of other dimensions.

    >>> import numpy as np
    >>> to_tensor(np.array([[0, 255]], dtype=np.uint8))
    tensor([[[0., 1.]]])
    """
    if is_picture(pic):
        array = _pixels(pic)
        if pic.mode == "1":
            array = array * np.uint8(255)
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic[:, :, None] if pic.ndim == 2 else pic
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    tensor: Tensor = torch.from_numpy(array.transpose((2, 0, 1))).contiguous()
    return tensor.to(dtype=torch.get_default_dtype()).div(255) if tensor.dtype == torch.uint8 else tensor


def pil_to_tensor(pic: Any) -> Tensor:
    """A picture of PIL as a tensor [C, H, W] of its own numbers; TypeError for anything else."""
    if not is_picture(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    array = np.array(pic, copy=True)
    tensor: Tensor = torch.as_tensor(array[:, :, None] if array.ndim == 2 else array)
    return tensor.permute((2, 0, 1))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor [C, H, W] or an array [H, W, C] as a picture of PIL; floats from 0 to 1 become bytes.

    TypeError for what is neither or has no such mode, ValueError for other dimensions or more than 4 channels.
    """
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if isinstance(pic, Tensor):
        tensor = pic.unsqueeze(0) if pic.ndim == 2 else pic
        if tensor.is_floating_point() and mode != "F":
            tensor = tensor.mul(255).byte()
        array = np.transpose(tensor.detach().numpy(), (1, 2, 0))
    else:
        array = pic[:, :, None] if pic.ndim == 2 else pic
        if np.issubdtype(array.dtype, np.floating) and mode != "F":
            array = (array * 255).astype(np.uint8)
    if array.shape[-1] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {array.shape[-1]} channels.")
    return _picture(array, mode)


def _picture(array: Any, mode: str | None) -> Any:
    channels = array.shape[2]
    if channels == 1:
        array = array[:, :, 0]
        usual = _BY_DTYPE.get(array.dtype.name)
        if mode is not None and mode != usual:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {array.dtype}. Should be {usual}")
        mode = usual
    else:
        allowed = _MODES[channels]
        if mode is not None and mode not in allowed:
            raise ValueError(f"Only modes {list(allowed)} are supported for {channels}D inputs")
        if mode is None and array.dtype == np.uint8:
            mode = allowed[0]
    if mode is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    height, width = array.shape[:2]
    return pillow().frombytes(mode, (width, height), np.ascontiguousarray(array).tobytes())


def largest(dtype: Any) -> int:
    """The number that stands for white."""
    if dtype.is_floating_point:
        return 1
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max


def convert_image_dtype(image: Tensor, dtype: Any = torch.float32) -> Tensor:
    """The picture in another dtype, white staying white: floats are from 0 to 1, integers from 0 to their largest.

    TypeError for what is no tensor; RuntimeError where the integers have more digits than the floats.

    >>> from autograph_cli import torch
    >>> convert_image_dtype(torch.tensor([[0, 51, 255]], dtype=torch.uint8))
    tensor([[0.0000, 0.2000, 1.0000]])
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    if image.dtype == dtype:
        return image
    white, new_white = largest(image.dtype), largest(dtype)
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        check_digits(image.dtype, dtype)
        return image.mul(new_white + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / white
    if white > new_white:
        return image.div((white + 1) // (new_white + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((new_white + 1) // (white + 1))


def check_digits(source: Any, goal: Any, step: str = "cast") -> None:
    """RuntimeError where the integers `goal` have more digits than the floats `source`."""
    if (source == torch.float32 and goal in (torch.int32, torch.int64)) or (
        source == torch.float64 and goal == torch.int64
    ):
        raise RuntimeError(f"The {step} from {source} to {goal} cannot be performed safely.")
