"""Tensors that say what they hold: `Image`. Operations on them give plain tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor

from ._pillow import is_picture

__all__ = ["Image", "TVTensor", "wrap"]


class TVTensor(Tensor):
    """A tensor of a kind."""

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        tensor = cls._tensor(data)
        if dtype is not None or device is not None:
            tensor = tensor.to(device=device, dtype=dtype)
        return wrap(tensor, like=cls)

    def __init__(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> None:
        if requires_grad is not None:
            self.requires_grad_(requires_grad)

    @classmethod
    def _tensor(cls, data: Any) -> Tensor:
        return data if isinstance(data, Tensor) else torch.as_tensor(data)

    def __repr__(self, **_: Any) -> str:
        shown = repr(self.as_subclass(Tensor)).removeprefix("tensor(").removesuffix(")")
        closing = shown.rindex("]") + 1 if "]" in shown else len(shown)
        values, rest = shown[:closing], shown[closing:].lstrip(",").strip()
        lines = values.replace("\n       ", "\n      ")
        return f"{type(self).__name__}({lines}, {f'{rest}, ' if rest else ''})"


class Image(TVTensor):
    """A picture, or a batch of them: `[..., C, H, W]`; from a tensor, a picture of PIL, or anything that is data.

    ValueError for fewer than two dimensions.

    >>> from autograph_cli import torch
    >>> Image(torch.zeros(2, 2)).shape
    torch.Size([1, 2, 2])
    """

    @classmethod
    def _tensor(cls, data: Any) -> Tensor:
        if is_picture(data):
            from .transforms.functional import pil_to_tensor  # transforms are of these tensors

            return pil_to_tensor(data)
        tensor = (
            data if isinstance(data, Tensor) else torch.as_tensor(np.asarray(data) if hasattr(data, "shape") else data)
        )
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return tensor.unsqueeze(0) if tensor.ndim == 2 else tensor


def wrap(wrappee: Tensor, *, like: Any, **_: Any) -> Any:
    """The tensor as an instance of the class of `like`, its memory and history included."""
    return wrappee.as_subclass(like if isinstance(like, type) else type(like))
