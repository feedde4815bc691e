"""`torch.types`: names for annotations."""

from __future__ import annotations

from typing import Any, Union

from ._core.base.device import device
from ._core.base.size import Size
from ._core.tape.tensor import Tensor

Number = Union[int, float, bool]  # noqa: UP007
Device = Union[device, str, int, None]  # noqa: UP007
_size = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_TensorOrTensors = Union[Tensor, tuple[Tensor, ...]]  # noqa: UP007
_device, _int, _float, _bool = Union[device, str, None], int, float, bool  # noqa: UP007
__all__ = ["Any", "Device", "Number", "Size"]
