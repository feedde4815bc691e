"""Buckets: the gradients of several parameters side by side in one buffer, which is reduced at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from .. import _namespace as torch

FIRST_BYTES = 2**20
"""The first bucket is small, so that its reduction begins early."""


def assign(tensors: Sequence[Any], limits: Sequence[float], indices: Sequence[int]) -> list[list[int]]:
    """`indices` in buckets: one of each dtype is filled until it holds `limits[0]` bytes, the next until `limits[1]`,
    and so on; the last limit is that of all that follow."""
    made: list[list[int]] = []
    open_ones: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    closed: dict[Any, int] = {}
    for index, tensor in zip(indices, tensors, strict=True):
        key = (tensor.dtype, tensor.device)
        open_ones.setdefault(key, []).append(index)
        sizes[key] = sizes.get(key, 0) + tensor.numel() * tensor.element_size()
        if sizes[key] >= limits[min(closed.get(key, 0), len(limits) - 1)]:
            made.append(open_ones.pop(key))
            sizes[key], closed[key] = 0, closed.get(key, 0) + 1
    return [*made, *open_ones.values()]


def _view(buffer: Any, start: int, parameter: Any) -> Any:
    """A part of a buffer, laid out like a parameter that has no gaps."""
    shape, stride = parameter.shape, parameter.stride()
    reach = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if parameter.numel() and reach == parameter.numel() and min(stride, default=1) > 0:
        return buffer.as_strided(shape, stride, start)
    return buffer[start : start + parameter.numel()].view(shape)


class Bucket:
    """Some parameters, by their `indices`, and the buffer of their gradients with a view for each."""

    def __init__(self, indices: list[int], parameters: list[Any]) -> None:
        self.indices, self.parameters = indices, parameters
        sizes = [p.numel() for p in parameters]
        first = parameters[0]
        with torch.no_grad():
            self.buffer = torch.zeros(sum(sizes), dtype=first.dtype, device=first.device)
            starts = accumulate(sizes[:-1], initial=0)
            self.views = [_view(self.buffer, start, p) for start, p in zip(starts, parameters, strict=True)]
        self.waits = len(indices)
        """The number of gradients that are missing."""
        self.future: Any = None

    def like_zeros(self) -> Bucket:
        """The same without gradients: what a rank gives that has no inputs left."""
        return Bucket(self.indices, self.parameters)

    def take(self, reduced: Any) -> None:
        """Keep what the reduction gave."""
        if reduced.data_ptr() != self.buffer.data_ptr() or reduced.dtype is not self.buffer.dtype:
            self.buffer.copy_(reduced.view(-1))


class GradBucket:
    """The argument of a communication hook: one bucket of gradients, which it may replace."""

    def __init__(self, number: int, count: int, bucket: Bucket) -> None:
        self._number, self._count, self._bucket, self._buffer = number, count, bucket, bucket.buffer

    def index(self) -> int:
        """The place of the bucket in the order in which buckets are reduced."""
        return self._number

    def buffer(self) -> Any:
        """All gradients of the bucket, 1-d."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Let `buffer()` be another tensor."""
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """Each gradient, a part of the buffer."""
        flat, starts = self._buffer, accumulate((p.numel() for p in self._bucket.parameters[:-1]), initial=0)
        return [_view(flat, start, p) for start, p in zip(starts, self._bucket.parameters, strict=True)]

    def parameters(self) -> list[Any]:
        """The parameters of these gradients."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Return whether no bucket is reduced after this one."""
        return self._number == self._count - 1


def flat_groups(tensors: Sequence[Any], limit: int) -> list[list[Any]]:
    """Tensors that are sent together: of one dtype, up to `limit` bytes."""
    return [[tensors[i] for i in found] for found in assign(tensors, [limit], range(len(tensors)))]


def fill(tensors: Sequence[Any], flat: Any) -> None:
    """Spread a flat tensor over others, whose version counters stay as they are."""
    start = 0
    for tensor in tensors:
        size = math.prod(tensor.shape)
        tensor.data.copy_(flat[start : start + size].view(tensor.shape))
        start += size
