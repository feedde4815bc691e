"""Parts of maps brought to one size: the means of points between points (He et al., 2017)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import Tensor, arange, cat, einsum, full_like, nn, no_grad, where


def roi_align(
    input: Any,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Any:
    """The parts of maps [N, C, H, W] in boxes, [K, C, height, width]; no gradient reaches the boxes.

    The boxes are rows [K, 5] of the number in the batch and a box, or a list with boxes [L, 4] for each of the batch.
    Interpolation works on rows and columns alike, so the mean of each cell is a product with two matrices. Where
    torchvision has one node of its own, the graph has those of the product.
    """
    rois = boxes if isinstance(boxes, Tensor) else with_numbers(boxes)
    if rois.dim() != 2 or rois.size(1) != 5:
        raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    with no_grad():
        scaled = rois[:, 1:].to(input.dtype) * spatial_scale - (0.5 if aligned else 0.0)
        x, y, right, below = scaled.unbind(1)
        least = None if aligned else 1.0
        weights = [
            _weights(start, (end - start).clamp(min=least) if least else end - start, bins, sampling_ratio, length)
            for start, end, bins, length in ((y, below, size[0], input.size(2)), (x, right, size[1], input.size(3)))
        ]
        rows = [where(rois[:, 0] == number)[0] for number in range(input.size(0))]
    parts = [
        einsum("kpi,cij,kqj->kcpq", weights[0][its], input[number], weights[1][its]) for number, its in enumerate(rows)
    ]
    if len(parts) == 1:
        return parts[0]
    order = cat(rows)
    ascending = bool((order[1:] > order[:-1]).all())
    return cat(parts) if ascending else cat(parts)[order.argsort()]


def with_numbers(boxes: list[Any]) -> Any:
    """Boxes of several pictures as rows of the picture's number and the box."""
    if any(each.size(1) != 4 for each in boxes):
        raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    return cat([cat([full_like(each[:, :1], number), each], dim=1) for number, each in enumerate(boxes)])


def _weights(start: Any, length: Any, bins: int, sampling_ratio: int, size: int) -> Any:
    """Return how much each of `size` points counts in each bin, [K, bins, size]: the mean of samples between points."""
    width = length / bins
    count = full_like(width, sampling_ratio) if sampling_ratio > 0 else width.ceil()
    most = max(int(count.max()), 1) if count.numel() else 1
    sample = arange(most)
    inside = arange(bins)[None, :, None] + (sample + 0.5) / count.clamp(min=1)[:, None, None]
    at = start[:, None, None] + inside * width[:, None, None]
    counts = (at >= -1) & (at <= size) & (sample < count[:, None, None])
    near = (1 - (at.clamp(0, size - 1)[..., None] - arange(size)).abs()).clamp(min=0)
    return (near * counts[..., None]).sum(2) / count.clamp(min=1)[:, None, None]


class RoIAlign(nn.Module):
    """`roi_align` as a layer."""

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Any, rois: Any) -> Any:
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"
        )
