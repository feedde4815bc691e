"""Pictures of several sizes in one tensor."""

from __future__ import annotations

from typing import Any


class ImageList:
    """Pictures padded to one size, [N, C, H, W], and the size that each had."""

    def __init__(self, tensors: Any, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors, self.image_sizes = tensors, image_sizes

    def to(self, device: Any) -> ImageList:
        """The same pictures on a device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
