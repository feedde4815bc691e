"""Convolutions of a GPU: windows are views of the image, which are copied in pieces and multiplied by cuBLAS.

The pieces, of several images or of lines of one, take half as much memory as image and result, or `WORKSPACE`
where that is more: all windows would take that of the image once for each element of the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._arrays import Array
from ..half_precision import NARROW
from ..layers.convolution import Convolution, Sizes
from ..variants import unwidened

WORKSPACE = 1 << 26
"""Bytes that a piece may always take: as with cuDNN, small images are computed in one."""
Piece = tuple[slice, list[slice]]
"""Images and lines of windows that are computed together."""


class ConvolutionByPieces(Convolution):
    """Convolutions on a GPU, where they differ from those on the CPU."""

    number: Any
    convolution = unwidened(Convolution.convolution)  # products of 16 bits are the card's
    convolution_backward = unwidened(Convolution.convolution_backward)

    def _correlate(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        o, c = weight.shape[0], a.shape[1]
        if groups == o > 1 and weight.shape[1] == 1:
            return super()._correlate(a, weight, size, stride, padding, dilation, groups)
        rows = weight.reshape(groups, o // groups, math.prod(weight.shape[1:]))
        out = self.xp.empty((a.shape[0], o, *size), a.dtype)
        for images, pieces in self._pieces(a, out, c * math.prod(weight.shape[2:]), size):
            windows = self._windows_first(a[images], weight.shape[2:], stride, padding, dilation, size)
            for lines in pieces:
                there = out[images, :, lines]
                flat = _lines(windows, lines).reshape(groups, rows.shape[2], there.size // o)
                there[...] = self._product(rows, flat).reshape(o, len(there), *there.shape[2:]).swapaxes(0, 1)
                del flat
            del windows
        return out

    def _spread(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        o, kernel = weight.shape[0], weight.shape[2:]
        c = weight.shape[1] * groups
        if groups == o > 1 and c == o:
            return super()._spread(a, weight, size, stride, padding, dilation, groups)
        columns = weight.reshape(groups, o // groups, math.prod(weight.shape[1:])).swapaxes(1, 2)
        out = self.xp.empty((a.shape[0], c, *size), a.dtype)
        inside = (..., *(slice(p, p + m) for p, m in zip(padding, size, strict=True)))
        for images, pieces in self._pieces(a, out, c * math.prod(kernel), a.shape[2:]):
            padded = (m + 2 * p for m, p in zip(size, padding, strict=True))
            image = self.xp.zeros((len(a[images]), c, *padded), _wide(a.dtype))
            for lines in pieces:
                part = a[images, :, lines]
                flat = part.swapaxes(0, 1).reshape(groups, o // groups, part.size // o)
                spread = self._product(columns, flat).reshape(c, *kernel, len(part), *part.shape[2:])
                for position in itertools.product(*map(range, kernel)):
                    starts = [k * d for k, d in zip(position, dilation, strict=True)]
                    starts[0] += lines.start * stride[0]
                    steps = zip(starts, part.shape[2:], stride, strict=True)
                    window = image[(..., *(slice(i, i + (m - 1) * s + 1, s) for i, m, s in steps))]
                    window += spread[(slice(None), *position)].swapaxes(0, 1)
                del flat, spread
            out[images] = image[inside]
            del image
        return out

    def _weights(
        self, a: Array, grad: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        if groups == sizes[0] > 1 and sizes[1] == 1:
            return super()._weights(a, grad, sizes, stride, padding, dilation, groups)
        kernel, size, o = sizes[2:], grad.shape[2:], sizes[0]
        total = self.xp.zeros((groups, o // groups, math.prod(sizes[1:])), _wide(grad.dtype))
        for images, pieces in self._pieces(a, grad, a.shape[1] * math.prod(kernel), size):
            windows = self._windows_first(a[images], kernel, stride, padding, dilation, size)
            for lines in pieces:
                part = grad[images, :, lines]
                flat = part.swapaxes(0, 1).reshape(groups, o // groups, part.size // o)
                here = _lines(windows, lines).reshape(groups, total.shape[2], flat.shape[2])
                total += self._product(flat, here.swapaxes(1, 2))
                del flat, here
            del windows
        return total.reshape(sizes).astype(grad.dtype, copy=False)

    def _pieces(self, a: Array, b: Array, each: int, size: Sizes) -> Iterator[Piece]:
        """Images, and lines of windows, whose windows of `each` numbers take half the memory of `a` and `b`, or the
        workspace, less that of a copy of the image in its frame; one line at least."""
        room, image = max((a.nbytes + b.nbytes) // 2, WORKSPACE), max(a.nbytes, b.nbytes) // max(a.shape[0], 1)
        line = max(each * a.itemsize * math.prod(size[1:]), 1)
        images = max(room // (line * size[0] + image), 1)
        lines = size[0] if line * size[0] <= room - image else max((room - image) // line, room // 4 // line, 1)
        together = [slice(top, min(top + lines, size[0])) for top in range(0, size[0], lines)]
        for first in range(0, a.shape[0] if b.size else 0, images):
            yield slice(first, first + images), together

    def _windows_first(
        self, a: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes
    ) -> Any:
        """A view of all windows: (C, kernel elements..., N, lines, positions in a line)."""
        windows, dims = self.kernel_windows(a, kernel, stride, padding, dilation, size), len(kernel)
        return windows.transpose(*range(1, 2 + dims), 0, *range(2 + dims, 2 + 2 * dims))

    def _product(self, a: Array, b: Array) -> Any:
        """Products of matrices, one for each group."""
        return self.matmul(a[0], b[0])[None] if len(a) == 1 else self.matmul(a, b)


def _lines(windows: Any, lines: slice) -> Any:
    """Some lines of windows that stand as `_windows_first` leaves them."""
    return windows[(slice(None),) * (windows.ndim // 2 + 1) + (lines,)]


def _wide(dtype: Any) -> Any:
    """The dtype to add up in."""
    return np.dtype(np.float32) if dtype in NARROW else dtype
