"""The boxes with which a search for objects begins: of several sizes and shapes around each point of a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograph_cli.torch import arange, as_tensor, cat, device as device_of, float32, int32, meshgrid, nn, stack, tensor

from .image_list import ImageList

CPU = device_of("cpu")


class AnchorGenerator(nn.Module):
    """For each map of features, boxes of these sizes and of these ratios of height to width."""

    def __init__(self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)) -> None:
        super().__init__()
        self.sizes = sizes if isinstance(sizes[0], (list, tuple)) else tuple((size,) for size in sizes)
        several = isinstance(aspect_ratios[0], (list, tuple))
        self.aspect_ratios = aspect_ratios if several else (aspect_ratios,) * len(self.sizes)
        self.cell_anchors = [self.generate_anchors(*pair) for pair in zip(self.sizes, self.aspect_ratios, strict=True)]

    def generate_anchors(
        self, scales: Sequence[int], aspect_ratios: Sequence[float], dtype: Any = float32, device: Any = CPU
    ) -> Any:
        """The boxes around the point 0, one row for each ratio and size."""
        sizes = as_tensor(scales, dtype=dtype, device=device)
        tall = as_tensor(aspect_ratios, dtype=dtype, device=device).sqrt()
        widths = ((1 / tall)[:, None] * sizes[None, :]).view(-1)
        heights = (tall[:, None] * sizes[None, :]).view(-1)
        return (stack([-widths, -heights, widths, heights], dim=1) / 2).round()

    def set_cell_anchors(self, dtype: Any, device: Any) -> None:
        """Cast the boxes around 0 to the dtype and the device of the features."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """Return how many boxes there are around each point, for each map."""
        return [len(sizes) * len(ratios) for sizes, ratios in zip(self.sizes, self.aspect_ratios, strict=True)]

    def grid_anchors(self, grid_sizes: Sequence[Any], strides: Sequence[Any]) -> list[Any]:
        """The boxes around the points of grids, whose points are `strides` apart."""
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different sizes "
                "and aspect ratios. There needs to be a match between the number of feature maps passed and the number "
                "of sizes / aspect ratios specified."
            )
        found = []
        for (height, width), (down, right), around in zip(grid_sizes, strides, self.cell_anchors, strict=True):
            rows = arange(0, height, dtype=int32, device=around.device) * down
            columns = arange(0, width, dtype=int32, device=around.device) * right
            y, x = (at.reshape(-1) for at in meshgrid(rows, columns, indexing="ij"))
            points = stack((x, y, x, y), dim=1)
            found.append((points.view(-1, 1, 4) + around.view(1, -1, 4)).reshape(-1, 4))
        return found

    def forward(self, image_list: ImageList, feature_maps: list[Any]) -> list[Any]:
        height, width = image_list.tensors.shape[-2:]
        grids = [tuple(each.shape[-2:]) for each in feature_maps]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        anchors = self.grid_anchors(grids, [(height // rows, width // columns) for rows, columns in grids])
        return [cat(anchors) for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The boxes of a single-shot detector (Liu et al., 2015): two squares, and two boxes for each ratio."""

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios, self.steps, self.clip = aspect_ratios, steps, clip
        count = len(aspect_ratios)
        if scales is None and count > 1:
            scales = [min_ratio + (max_ratio - min_ratio) * number / (count - 1.0) for number in range(count)] + [1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = [self._pairs(number) for number in range(count)]

    def _pairs(self, number: int) -> Any:
        """The widths and heights of one map, as parts of the picture's."""
        scale = self.scales[number]
        between = math.sqrt(scale * self.scales[number + 1])
        pairs = [[scale, scale], [between, between]]
        for ratio in self.aspect_ratios[number]:
            long, short = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
            pairs += [[long, short], [short, long]]
        return as_tensor(pairs, dtype=float32)

    def num_anchors_per_location(self) -> list[int]:
        """Return how many boxes there are around each point, for each map."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid(self, number: int, size: Any, image_size: Any, dtype: Any) -> Any:
        """The middles and sizes of all boxes of one map, as parts of the picture."""
        rows, columns = size
        tall, wide = size if self.steps is None else (side / self.steps[number] for side in image_size)
        y, x = meshgrid(
            ((arange(0, rows) + 0.5) / tall).to(dtype), ((arange(0, columns) + 0.5) / wide).to(dtype), indexing="ij"
        )
        pairs = self._wh_pairs[number].clamp(min=0, max=1) if self.clip else self._wh_pairs[number]
        middles = stack((x.reshape(-1), y.reshape(-1)) * len(pairs), dim=-1).reshape(-1, 2)
        return cat((middles, pairs.repeat(rows * columns, 1)), dim=1)

    def forward(self, image_list: ImageList, feature_maps: list[Any]) -> list[Any]:
        size, first = image_list.tensors.shape[-2:], feature_maps[0]
        grids = [
            self._grid(number, each.shape[-2:], size, first.dtype).to(first.device)
            for number, each in enumerate(feature_maps)
        ]
        middles, sizes = cat(grids)[:, :2], cat(grids)[:, 2:]
        whole = tensor([size[1], size[0]], device=first.device)
        boxes = cat([(middles - 0.5 * sizes) * whole, (middles + 0.5 * sizes) * whole], -1)
        return [boxes for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
            f"steps={self.steps})"
        )
