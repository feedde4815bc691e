"""Boxes in pictures, as rows of left, top, right, bottom."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import arange, cat, empty, int64, max, min, stack, tensor, where, zeros


def box_area(boxes: Any) -> Any:
    """The area of each box, shape [N]."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _shared(boxes1: Any, boxes2: Any) -> tuple[Any, Any]:
    """The areas of the intersections and of the unions of all pairs, both [N, M]."""
    upper = max(boxes1[:, None, :2], boxes2[:, :2])
    lower = min(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (lower - upper).clamp(min=0)
    shared = sides[:, :, 0] * sides[:, :, 1]
    return shared, box_area(boxes1)[:, None] + box_area(boxes2) - shared


def box_iou(boxes1: Any, boxes2: Any, fmt: str = "xyxy") -> Any:
    """Intersection over union of all pairs, shape [N, M]."""
    if fmt != "xyxy":
        boxes1, boxes2 = box_convert(boxes1, fmt, "xyxy"), box_convert(boxes2, fmt, "xyxy")
    shared, union = _shared(boxes1, boxes2)
    return shared / union


def generalized_box_iou(boxes1: Any, boxes2: Any) -> Any:
    """Intersection over union, less the part of the box around both that neither fills, shape [N, M]."""
    shared, union = _shared(boxes1, boxes2)
    upper = min(boxes1[:, None, :2], boxes2[:, :2])
    lower = max(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (lower - upper).clamp(min=0)
    around = sides[:, :, 0] * sides[:, :, 1]
    return shared / union - (around - union) / around


def box_convert(boxes: Any, in_fmt: str, out_fmt: str) -> Any:
    """Boxes [..., 4] in another of the forms `xyxy`, `xywh` (left, top, width, height), `cxcywh` (middle, size)."""
    for form in (in_fmt, out_fmt):
        if form not in ("xyxy", "xywh", "cxcywh"):
            raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack((a, b, c, d), dim=-1)


def clip_boxes_to_image(boxes: Any, size: tuple[int, int]) -> Any:
    """Boxes cut off at the borders of a picture of this height and width."""
    height, width = size
    x = boxes[..., 0::2].clamp(min=0, max=width)
    y = boxes[..., 1::2].clamp(min=0, max=height)
    return stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


def remove_small_boxes(boxes: Any, min_size: float) -> Any:
    """The indices of boxes with both sides at least so long."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return where((width >= min_size) & (height >= min_size))[0]


def masks_to_boxes(masks: Any) -> Any:
    """The boxes around masks [N, H, W], shape [N, 4]."""
    if masks.numel() == 0:
        return zeros((0, 4), device=masks.device)
    rows = []
    for mask in masks:
        y, x = where(mask != 0)
        rows.append(stack([x.min(), y.min(), x.max(), y.max()]).float())
    return stack(rows)


def nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    """The indices of boxes, the best score first, that no better one overlaps by more than the threshold."""
    if boxes.numel() == 0:
        return empty((0,), dtype=int64)
    order = scores.sort(dim=0, descending=True, stable=True)[1].tolist()
    overlaps = (box_iou(boxes, boxes) > iou_threshold).tolist()
    kept: list[int] = []
    for number in order:
        if not any(overlaps[other][number] for other in kept):
            kept.append(number)
    return tensor(kept, dtype=int64)


def batched_nms(boxes: Any, scores: Any, idxs: Any, iou_threshold: float) -> Any:
    """`nms` for each class in `idxs` by itself."""
    kept = [where(idxs == label)[0] for label in idxs.unique()]
    kept = [its[nms(boxes[its], scores[its], iou_threshold)] for its in kept]
    every = cat(kept) if kept else arange(0)
    return every[scores[every].sort(descending=True)[1]]
