"""Normalizations: mean and variance of groups of elements, and their gradients in few passes."""

from __future__ import annotations

import math
from typing import Any

from ..._arrays import Array
from ..half_precision import widened_beside


def folded(shape: tuple[int, ...], dim: int) -> tuple[tuple[int, int], int, tuple[int, ...]]:
    """The shape as a matrix with one row, or column, for each position along the first or last `dim`; which of its
    dimensions to sum over; and the shape with sizes of 1 that lays the sums beside the whole."""
    if dim == 0:
        return (shape[0], math.prod(shape[1:])), 1, (shape[0], *[1] * (len(shape) - 1))
    return (math.prod(shape[:-1]), shape[-1]), 0, (*[1] * (len(shape) - 1), shape[-1])


class Normalization:
    """Kernels of layers that normalize."""

    xp: Any
    sum: Any
    number: Any
    row_sums: Any
    row_products: Any
    column_sums: Any
    channel_sums: Any

    @widened_beside
    def native_layer_norm(self, a: Array, shape: Any, weight: Array, bias: Array, eps: float) -> Any:
        lead = a.ndim - len(shape)
        weight, bias = (None if part is None else part.reshape(-1) for part in (weight, bias))
        out, mean, rstd = self._normalized(self._in_rows(a, lead), eps, weight, bias)
        beside = (*a.shape[:lead], *[1] * len(shape))
        return out.reshape(a.shape), mean.reshape(beside), rstd.reshape(beside)

    def _in_rows(self, a: Array, lead: int) -> Any:
        """The same elements row by row, the first `lead` dimensions folded into one and so the others."""
        count = math.prod(a.shape[lead:])
        return self.xp.ascontiguousarray(a).reshape(-1 if count else math.prod(a.shape[:lead]), count)

    def _affine(self, out: Any, weight: Array, bias: Array) -> Any:
        """`out * weight + bias`, in the memory of `out` where the dtypes allow it."""
        for part, change in ((weight, self.xp.multiply), (bias, self.xp.add)):
            if part is not None:
                out = change(out, part, out=out if part.dtype == out.dtype else None)
        return out

    def _normalized(self, a: Array, eps: float, weight: Array = None, bias: Array = None) -> Any:
        """Return the normal form of each row, times `weight` plus `bias`, its mean and 1 / deviation."""
        count = self.number(max(a.shape[-1], 1), a)
        mean = self.row_sums(a) / count
        out = a - mean
        rstd = self._deviation(self.row_products(out, out), count, eps)
        out *= rstd
        return self._affine(out, weight, bias), mean, rstd

    def _deviation(self, squares: Any, count: Any, eps: float) -> Any:
        """1 / deviation, from sums of squares."""
        squares /= count
        squares += self.number(eps, squares)
        return self.number(1, squares) / self.xp.sqrt(squares)

    def _normalized_back(self, scaled: Any, normal: Any, rstd: Any) -> Any:
        """The gradient by the rows that were normalized, from the gradient `scaled` of the result `normal`."""
        count = self.number(max(normal.shape[-1], 1), normal)
        inner = normal * (self.row_products(scaled, normal) / count)
        inner += self.row_sums(scaled) / count
        self.xp.subtract(scaled, inner, out=inner)
        inner *= rstd
        return inner

    @widened_beside
    def native_layer_norm_backward(
        self, grad: Array, a: Array, shape: Any, mean: Any, rstd: Any, weight: Array, bias: Array, mask: Array
    ) -> Any:
        """The gradients of input, weight and bias; an empty array for each that `mask` does not ask for."""
        lead, none = a.ndim - len(shape), self.xp.empty(0, a.dtype)
        rstd, g = rstd.reshape(-1, 1), self._in_rows(grad, lead)
        normal = self._in_rows(a, lead) - mean.reshape(-1, 1)
        normal *= rstd
        image = none
        if mask[0]:
            image = self._normalized_back(g if weight is None else g * weight.reshape(-1), normal, rstd).reshape(
                a.shape
            )
        return (
            image,
            self.column_sums(self.xp.multiply(g, normal, out=normal)).reshape(shape) if mask[1] else none,
            self.column_sums(g).reshape(shape) if mask[2] else none,
        )

    # ---------------------------------------------------------------- channels

    def _by_channel(self, x: Any, a: Array) -> Any:
        return x if a.ndim == 1 else x.reshape(1, -1, *[1] * (a.ndim - 2))

    @widened_beside
    def native_batch_norm(
        self,
        a: Array,
        weight: Array,
        bias: Array,
        running_mean: Any,
        running_var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> Any:
        """The result, and the mean and 1 / deviation that were used: of the batch while training."""
        if not a.flags.c_contiguous and not (a.ndim > 3 and self.xp.moveaxis(a, 1, -1).flags.c_contiguous):
            a = self.xp.ascontiguousarray(a)  # the result is in this order, unless channels come last
            return self.native_batch_norm(a, weight, bias, running_mean, running_var, training, momentum, eps)
        if training:
            count = self.number(self._each_channel(a), a)
            mean = self.channel_sums(a) / count
            out = a - self._by_channel(mean, a)
            rstd = self._deviation(self.channel_sums(out, out), count, eps)
            out *= self._by_channel(rstd, a)
        else:
            scale = self.number(1, a) / self.xp.sqrt(running_var + self.number(eps, running_var))
            out = (a - self._by_channel(running_mean, a)) * self._by_channel(scale, a)
            mean = rstd = self.xp.empty(0, a.dtype)
        weight, bias = (None if part is None else self._by_channel(part, a) for part in (weight, bias))
        return self._affine(out, weight, bias).astype(a.dtype, copy=False), mean, rstd

    def _batch_norm_with_update(self, *args: Any) -> Any:
        """The results of `native_batch_norm`, and nothing kept for the backward pass."""
        return (*self.native_batch_norm(*args), self.xp.zeros(0, "uint8"))

    def _weight_norm_interface(self, v: Array, g: Array, dim: int) -> Any:
        matrix, over, beside = folded(v.shape, dim)
        norms = self.xp.sqrt(self.sum((v * v).reshape(matrix), (over,), False)).reshape(beside)
        return v * (g / norms), norms

    def _each_channel(self, a: Array) -> int:
        count: int = a.size // a.shape[1] if a.ndim > 1 and a.shape[1] else a.shape[0]
        return max(count, 1)

    @widened_beside
    def native_batch_norm_backward(
        self,
        grad: Array,
        a: Array,
        weight: Array,
        running_mean: Any,
        running_var: Any,
        mean: Any,
        rstd: Any,
        training: bool,
        eps: float,
        mask: Array,
    ) -> Any:
        if a.flags.c_contiguous:
            grad = self.xp.ascontiguousarray(grad)
        none = self.xp.empty(0, a.dtype)
        if not training:
            mean, rstd = running_mean, self.number(1, a) / self.xp.sqrt(running_var + self.number(eps, running_var))
        slope = self._by_channel(rstd if weight is None else rstd * weight, a)
        image = by_weight = by_bias = none
        if mask[2] or (mask[0] and training):
            by_bias = self.channel_sums(grad)
        if mask[1] or (mask[0] and training):
            normal = a - self._by_channel(mean, a)
            normal *= self._by_channel(rstd, a)
            by_weight = self.channel_sums(grad, normal)
        if mask[0] and training:
            count = self.number(self._each_channel(a), a)
            normal *= self._by_channel(by_weight / count, a)
            normal += self._by_channel(by_bias / count, a)
            image = self.xp.subtract(grad, normal, out=normal)
            image *= slope
        elif mask[0]:
            image = grad * slope
        return image, by_weight if mask[1] else none, by_bias if mask[2] else none

    batch_norm_backward = native_batch_norm_backward

    @widened_beside
    def native_group_norm(self, a: Array, weight: Array, bias: Array, groups: int, eps: float) -> Any:
        n, _c = a.shape[:2]
        out, mean, rstd = self._normalized(a.reshape(n * groups, a[:1].size // groups), eps)
        out = out.reshape(a.shape)
        weight, bias = (None if part is None else self._by_channel(part, a) for part in (weight, bias))
        return self._affine(out, weight, bias), mean.reshape(n, groups), rstd.reshape(n, groups)

    @widened_beside
    def native_group_norm_backward(
        self, grad: Array, a: Array, mean: Any, rstd: Any, weight: Array, groups: int, mask: Array
    ) -> Any:
        grad, rstd = self.xp.ascontiguousarray(grad), rstd.reshape(-1, 1)
        normal = a.reshape(len(rstd), a[:1].size // groups) - mean.reshape(-1, 1)
        normal *= rstd
        scaled = grad if weight is None else grad * self._by_channel(weight, a)
        return (
            self._normalized_back(scaled.reshape(normal.shape), normal, rstd).reshape(a.shape) if mask[0] else None,
            self.channel_sums(grad, normal.reshape(a.shape)) if mask[1] else None,
            self.channel_sums(grad) if mask[2] else None,
        )
