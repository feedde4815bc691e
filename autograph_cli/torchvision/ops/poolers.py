"""Boxes cut out of a feature pyramid: each out of the map that fits its size (Lin et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

from autograph_cli.torch import cat, int64, log2, nn, sqrt, tensor, where, zeros

from .boxes import box_area
from .roi_align import roi_align, with_numbers


class LevelMapper:
    """The map, from `k_min` to `k_max` halvings, that boxes are cut out of."""

    def __init__(
        self, k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4, eps: float = 1e-6
    ) -> None:
        self.k_min, self.k_max = k_min, k_max
        self.s0, self.lvl0, self.eps = canonical_scale, canonical_level, eps

    def __call__(self, boxlists: list[Any]) -> Any:
        side = sqrt(cat([box_area(boxes) for boxes in boxlists]))
        level = (self.lvl0 + log2(side / self.s0) + tensor(self.eps, dtype=side.dtype)).floor()
        return level.clamp(min=self.k_min, max=self.k_max).to(int64) - self.k_min


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` on the maps of these names, each box on the one that its size belongs to."""

    def __init__(
        self,
        featmap_names: list[str],
        output_size: Any,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def _measure(self, maps: list[Any], shapes: list[Any]) -> tuple[list[float], LevelMapper]:
        """Return how much smaller than the pictures the maps are, as powers of two; told by the first call."""
        if not shapes:
            raise ValueError("images list should not be empty")
        height = max(shape[0] for shape in shapes)
        halvings = [-round(math.log2(each.shape[-2] / height)) for each in maps]
        mapper = LevelMapper(halvings[0], halvings[-1], self.canonical_scale, self.canonical_level)
        return [2.0**-count for count in halvings], mapper

    def forward(self, x: dict[str, Any], boxes: list[Any], image_shapes: list[Any]) -> Any:
        maps = [value for name, value in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self.scales, self.map_levels = self._measure(maps, image_shapes)
        rois = with_numbers(boxes)
        if len(maps) == 1:
            return roi_align(maps[0], rois, self.output_size, self.scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes)
        result = zeros((len(rois), maps[0].shape[1], *self.output_size), dtype=maps[0].dtype, device=maps[0].device)
        for level, (each, scale) in enumerate(zip(maps, self.scales, strict=True)):
            its = where(levels == level)[0]
            cut = roi_align(each, rois[its], self.output_size, scale, self.sampling_ratio)
            result[its] = cut.to(result.dtype)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio})"
        )
