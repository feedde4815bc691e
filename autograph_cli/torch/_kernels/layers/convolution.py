"""Convolutions as strided windows and one matrix product per group."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array
from ..half_precision import widened

Sizes = tuple[int, ...]
_PART = 1 << 22
"""Bytes of windows that are made and multiplied at a time, while they are in a cache of the processor."""


def output_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """The spatial shape that a convolution gives."""
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each])


def transposed_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, extra: Sizes) -> Sizes:
    """The spatial shape that a transposed convolution gives."""
    each = zip(size, kernel, stride, padding, dilation, extra, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in each)


class Convolution:
    """Convolutions of any number of spatial dimensions. Images are (N, C, ...), weights (out, in / groups, ...)."""

    xp: Any
    matmul: Any
    channel_sums: Any
    framed: Any

    @widened
    def convolution(
        self,
        a: Array,
        weight: Array,
        bias: Array,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        transposed: bool,
        output_padding: Sizes,
        groups: int,
    ) -> Any:
        if transposed:
            kernel = weight.shape[2:]
            size = transposed_size(a.shape[2:], kernel, stride, padding, dilation, output_padding)
            out = self._spread(a, weight, size, stride, padding, dilation, groups)
        else:
            size = output_size(a.shape[2:], weight.shape[2:], stride, padding, dilation)
            out = self._correlate(a, weight, size, stride, padding, dilation, groups)
        if bias is not None:
            out += bias.reshape(-1, *[1] * (a.ndim - 2))
        return out

    @widened
    def convolution_backward(
        self,
        grad: Array,
        a: Array,
        weight: Array,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        transposed: bool,
        output_padding: Sizes,
        groups: int,
        mask: Array,
    ) -> Any:
        """The gradients of image, weight and bias; an empty array for each that `mask` does not ask for."""
        geometry = (stride, padding, dilation, groups)
        nothing = self.xp.empty(0, grad.dtype)
        image, weights = self._small_gradients(grad, a, weight, *geometry[:3], transposed, groups, mask)
        if mask[0] and image is None:
            image = (
                self._correlate(grad, weight, a.shape[2:], *geometry)
                if transposed
                else self._spread(grad, weight, a.shape[2:], *geometry)
            )
        if mask[1] and weights is None:
            inner, outer = (grad, a) if transposed else (a, grad)
            weights = self._weights(inner, outer, weight.shape, *geometry)
        by_bias = self.channel_sums(grad) if mask[2] else nothing
        return nothing if image is None else image, nothing if weights is None else weights, by_bias

    def _small_gradients(self, *_: Any) -> tuple[Any, Any]:
        """The gradients of image and weight where a loop of their own is faster than products: none in Python."""
        return None, None

    def columns(
        self, a: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes | None = None
    ) -> Any:
        """Every window of the padded image, or the first `out` of them: (N, C, kernel elements, window numbers)."""
        out = output_size(a.shape[2:], kernel, stride, padding, dilation) if out is None else out
        return self._copied_windows(a, kernel, stride, padding, dilation, out)

    def _copied_windows(
        self, a: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
    ) -> Any:
        windows = self.kernel_windows(a, kernel, stride, padding, dilation, out)
        columns = windows.reshape(*a.shape[:2], math.prod(kernel), math.prod(out))
        # Windows of lines overlap in memory, of which BLAS makes no product.
        return columns if math.prod(kernel) == 1 else self.xp.ascontiguousarray(columns)

    def kernel_windows(
        self, a: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
    ) -> Any:
        """A view of the first `out` windows of the padded image: (N, C, kernel elements..., window numbers...)."""
        a = self._padded(a, padding)
        steps = a.strides[2:]
        shape = (*a.shape[:2], *kernel, *out)
        strides = (
            *a.strides[:2],
            *(t * d for t, d in zip(steps, dilation, strict=True)),
            # A stride beyond the image leads to no second window, and would overflow.
            *(t * min(s, n) for t, s, n in zip(steps, stride, a.shape[2:], strict=True)),
        )
        if a.__class__ is np.ndarray and a.flags.c_contiguous:
            return np.ndarray(shape, a.dtype, a, 0, strides)  # as_strided without its overhead
        return self.xp.lib.stride_tricks.as_strided(a, shape, strides)

    def images(
        self, columns: Any, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
    ) -> Any:
        """The sum of all `out` windows at their positions: the adjoint of `columns`. One addition per element of the
        kernel."""
        n, c = columns.shape[:2]
        columns = columns.reshape(n, c, *kernel, *out)
        image = self.xp.zeros((n, c, *(m + 2 * p for m, p in zip(size, padding, strict=True))), columns.dtype)
        for position in itertools.product(*map(range, kernel)):
            starts = [k * d for k, d in zip(position, dilation, strict=True)]
            window = (..., *(slice(i, i + (m - 1) * s + 1, s) for i, m, s in zip(starts, out, stride, strict=True)))
            part = (slice(None), slice(None), *position)
            image[window] += columns[part]
        inside = (..., *(slice(p, p + m) for p, m in zip(padding, size, strict=True)))
        return self.xp.ascontiguousarray(image[inside])

    def _correlate(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        n, o, kernel = a.shape[0], weight.shape[0], weight.shape[2:]
        if groups == o > 1 and weight.shape[1] == 1:
            return self._correlate_planes(a, weight, size, stride, padding, dilation)
        rows = weight.reshape(groups, o // groups, math.prod(weight.shape[1:]))

        def multiply(part: slice) -> Any:
            columns = self._grouped(self.columns(a[part], kernel, stride, padding, dilation, size), groups)
            return self.matmul(rows, columns)

        return self._by_parts(multiply, a, a.shape[1], kernel, size).reshape(n, o, *size)

    def _by_parts(self, run: Callable[[slice], Any], a: Array, channels: int, kernel: Sizes, windows: Sizes) -> Any:
        """`run(part)` of all images of `a`, as many at a time as have windows of some MiB."""
        step = max(_PART // max(math.prod((a.itemsize, channels, *kernel, *windows)), 1), 1)
        if a.__class__ is not np.ndarray or len(a) <= step or math.prod(kernel) == 1:
            return run(slice(None))
        first = run(slice(step))
        result = self.xp.empty((len(a), *first.shape[1:]), first.dtype)
        result[:step] = first
        for start in range(step, len(a), step):
            part = slice(start, start + step)
            result[part] = run(part)
        return result

    def _spread(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        o, kernel = weight.shape[0], weight.shape[2:]
        c = weight.shape[1] * groups
        if groups == o > 1 and c == o:
            return self._spread_planes(a, weight, size, stride, padding, dilation)
        rows = weight.reshape(groups, o // groups, math.prod(weight.shape[1:])).swapaxes(1, 2)

        def multiply(part: slice) -> Any:
            some = a[part]
            if set(stride) == {1}:
                return self._spread_densely(some, rows, c, size, kernel, padding, dilation)
            flat = self.xp.ascontiguousarray(some).reshape(len(some), groups, o // groups, math.prod(a.shape[2:]))
            columns = self.matmul(rows, flat).reshape(len(some), c, math.prod(kernel), flat.shape[3])
            return self.images(columns, size, kernel, stride, padding, dilation, a.shape[2:])

        return self._by_parts(multiply, a, c, kernel, a.shape[2:])

    def _spread_densely(
        self, a: Array, rows: Any, c: int, size: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes
    ) -> Any:
        """`_spread` for stride 1: with lines as wide as the image's, an element of the kernel is one shift of a whole
        plane."""
        n, o = a.shape[:2]
        wide = tuple(m + 2 * p for m, p in zip(size, padding, strict=True))
        lines = self.xp.zeros((n, o, a.shape[2], *wide[1:]), a.dtype)
        inside = (..., *map(slice, a.shape[3:]))
        lines[inside] = a
        flat = lines.reshape(n, rows.shape[0], rows.shape[2], math.prod(lines.shape[2:]))
        length = flat.shape[3]
        columns = self.matmul(rows, flat).reshape(n, c, math.prod(kernel), length)
        return self._shifted_images(columns, size, kernel, padding, dilation, a.shape[2:])

    def _shifted_images(
        self, columns: Any, size: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes, lines: Sizes
    ) -> Any:
        """`images` of windows that are `lines` as wide as the padded image."""
        n, c, _, length = columns.shape
        wide = tuple(m + 2 * p for m, p in zip(size, padding, strict=True))
        steps = [d * math.prod(wide[i + 1 :]) for i, d in enumerate(dilation)]
        reach = sum((k - 1) * step for k, step in zip(kernel, steps, strict=True))
        image = self.xp.zeros((n, c, max(length + reach, math.prod(wide))), columns.dtype)
        for i, position in enumerate(itertools.product(*map(range, kernel))):
            start = sum(k * step for k, step in zip(position, steps, strict=True))
            image[:, :, start : start + length] += columns[:, :, i]
        inside = (..., *(slice(p, p + m) for p, m in zip(padding, size, strict=True)))
        return self.xp.ascontiguousarray(image[:, :, : math.prod(wide)].reshape(n, c, *wide)[inside])

    def _weights(
        self, a: Array, grad: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        kernel = sizes[2:]
        if groups == sizes[0] > 1 and sizes[1] == 1:
            return self._plane_weights(a, grad, sizes, stride, padding, dilation)
        n, o = grad.shape[:2]
        flat = self.xp.ascontiguousarray(grad).reshape(n, groups, o // groups, math.prod(grad.shape[2:]))

        def multiply(part: slice) -> Any:
            columns = self._grouped(self.columns(a[part], kernel, stride, padding, dilation, grad.shape[2:]), groups)
            # The longer matrix first: BLAS takes up to twice as long the other way round.
            return self.matmul(columns, flat[part].swapaxes(2, 3))

        products = self._by_parts(multiply, a, a.shape[1], kernel, grad.shape[2:])
        return self.xp.ascontiguousarray(products.sum(0).swapaxes(1, 2)).reshape(sizes)

    # ---------------------------------------------------------------- one plane each: every channel its own group

    def _padded(self, a: Array, padding: Sizes) -> Any:
        return self.framed(a, [(0, 0), (0, 0), *((p, p) for p in padding)]) if any(padding) else a

    def _plane_windows(self, kernel: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
        """For each element of the kernel: its position in a weight (C, 1, ...), and the slices that it meets."""
        for position in itertools.product(*map(range, kernel)):
            starts = (k * d for k, d in zip(position, dilation, strict=True))
            tap = (slice(None), 0, *position)
            yield tap, (..., *(slice(i, i + (m - 1) * s + 1, s) for i, m, s in zip(starts, size, stride, strict=True)))

    def _correlate_planes(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
    ) -> Any:
        padded = self._padded(a, padding)
        out = self.xp.zeros((*a.shape[:2], *size), a.dtype)
        one = (-1, *[1] * len(size))
        for tap, window in self._plane_windows(weight.shape[2:], size, stride, dilation):
            out += padded[window] * weight[tap].reshape(one)
        return out

    def _spread_planes(
        self, a: Array, weight: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
    ) -> Any:
        image = self._padded(self.xp.zeros((*a.shape[:2], *size), a.dtype), padding)
        one = (-1, *[1] * len(size))
        for tap, window in self._plane_windows(weight.shape[2:], a.shape[2:], stride, dilation):
            image[window] += a * weight[tap].reshape(one)
        inside = (..., *(slice(p, p + m) for p, m in zip(padding, size, strict=True)))
        return self.xp.ascontiguousarray(image[inside])

    def _plane_weights(
        self, a: Array, grad: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
    ) -> Any:
        padded, out = self._padded(a, padding), self.xp.empty(sizes, grad.dtype)
        axes = (0, *range(2, grad.ndim))
        for tap, window in self._plane_windows(sizes[2:], grad.shape[2:], stride, dilation):
            out[tap] = self.xp.add.reduce(padded[window] * grad, axis=axes)
        return out

    def _grouped(self, columns: Any, groups: int) -> Any:
        n, c, k, length = columns.shape
        return columns.reshape(n, groups, c // groups * k, length)

    def im2col(self, a: Array, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
        batch = a.ndim == len(kernel) + 2
        columns = self.columns(a if batch else a[None], kernel, stride, padding, dilation)
        n, c, k, length = columns.shape
        found = columns.reshape(n, c * k, length).copy()
        return found if batch else found[0]

    def col2im(self, a: Array, size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
        rows, length = a.shape[-2:]
        k = math.prod(kernel)
        out = output_size(size, kernel, stride, padding, dilation)
        found = self.images(a.reshape(-1, rows // k, k, length), size, kernel, stride, padding, dilation, out)
        return found if a.ndim == 3 else found[0]
