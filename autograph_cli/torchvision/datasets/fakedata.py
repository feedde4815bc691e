"""Pictures of noise, for a first try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph_cli import torch

from ..transforms.functional import to_pil_image
from .vision import VisionDataset


class FakeData(VisionDataset):
    """`size` pictures of noise with labels, the same each time: each index is the seed of its own picture.

    >>> FakeData(size=3, image_size=(1, 4, 4), num_classes=2)
    Dataset FakeData
        Number of datapoints: 3
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        state = torch.get_rng_state()
        torch.manual_seed(index + self.random_offset)
        picture = torch.randn(*self.image_size)
        target = torch.randint(0, self.num_classes, size=(1,), dtype=torch.long)[0]
        torch.set_rng_state(state)
        picture, target = self.transformed(to_pil_image(picture), target)
        return picture, target.item()

    def __len__(self) -> int:
        return self.size
