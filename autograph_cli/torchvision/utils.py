"""`torchvision.utils`: many pictures as one, and pictures as files."""

from __future__ import annotations

from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor

from ._pillow import pillow

__all__ = ["make_grid", "save_image"]


@torch.no_grad()
def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Pictures [B, C, H, W], or a list of equal ones, beside each other: `nrow` in a row, `padding` pixels between
    them.

    `normalize` brings the numbers (of `value_range`, or their own range; with `scale_each`, of each picture) to 0 to 1.
    TypeError for what is no tensor, or a range that is no tuple.

    >>> from autograph_cli import torch
    >>> make_grid(torch.zeros(5, 3, 4, 4), nrow=3).shape
    torch.Size([3, 14, 20])
    """
    pictures = _batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        pictures = pictures.clone()
        for part in pictures if scale_each else (pictures,):
            low, high = value_range or (float(part.min()), float(part.max()))
            part.clamp_(min=low, max=high).sub_(low).div_(max(high - low, 1e-5))
    if pictures.size(0) == 1:
        return pictures.squeeze(0)
    count, channels, height, width = pictures.shape
    across = min(nrow, count)
    down = -(-count // across)
    height, width = height + padding, width + padding
    grid = pictures.new_full((channels, height * down + padding, width * across + padding), pad_value)
    for i in range(count):
        top, left = i // across * height + padding, i % across * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = pictures[i]
    return grid


def _batch(tensor: Any) -> Tensor:
    """Pictures [B, C, H, W], C three where it was one."""
    if not isinstance(tensor, Tensor):
        if not isinstance(tensor, list):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        for part in tensor:
            if not isinstance(part, Tensor):
                raise TypeError(f"tensor or list of tensors expected, got a list containing {type(part)}")
        tensor = torch.stack(tensor, dim=0)
    batch: Tensor = tensor
    while batch.dim() < 4:
        batch = batch.unsqueeze(0)
    return torch.cat((batch, batch, batch), 1) if batch.size(1) == 1 else batch


@torch.no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write a picture, or a grid of pictures (see `make_grid`), of numbers from 0 to 1 to a path or a file object."""
    grid = make_grid(tensor, **kwargs)
    array = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to(torch.uint8).numpy()
    pillow().fromarray(array).save(fp, format=format)
