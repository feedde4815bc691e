"""Normalizations: mean and variance of groups of elements, and their gradients in few passes."""

from __future__ import annotations

import math
from typing import Any


class Normalization:
    """Kernels of layers that normalize."""

    xp: Any
    number: Any

    def native_layer_norm(self, a: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
        axes = tuple(range(a.ndim - len(shape), a.ndim))
        out, mean, rstd = self._normalized(self.xp.ascontiguousarray(a), axes, eps)
        return self._affine(out, weight, bias), mean, rstd

    def _affine(self, out: Any, weight: Any, bias: Any) -> Any:
        """`out * weight + bias`, in the memory of `out` where the dtypes allow it."""
        for part, change in ((weight, self.xp.multiply), (bias, self.xp.add)):
            if part is not None:
                out = change(out, part, out=out if part.dtype == out.dtype else None)
        return out

    def _normalized(self, a: Any, axes: Any, eps: float) -> Any:
        count = self.number(max(math.prod(a.shape[i] for i in axes), 1), a)
        mean = self.xp.add.reduce(a, axis=axes, keepdims=True) / count
        centered = a - mean
        variance = self.xp.add.reduce(centered * centered, axis=axes, keepdims=True) / count
        rstd = self.number(1, a) / self.xp.sqrt(variance + self.number(eps, a))
        centered *= rstd
        return centered, mean, rstd

    def _normalized_back(self, scaled: Any, normal: Any, rstd: Any, axes: Any) -> Any:
        """The gradient by what was normalized, from the gradient `scaled` of the result `normal`."""
        count = self.number(max(math.prod(normal.shape[i] for i in axes), 1), normal)
        mean = self.xp.add.reduce(scaled, axis=axes, keepdims=True) / count
        along = self.xp.add.reduce(scaled * normal, axis=axes, keepdims=True) / count
        inner = normal * along
        inner += mean
        self.xp.subtract(scaled, inner, out=inner)
        inner *= rstd
        return inner

    def native_layer_norm_backward(self, grad: Any, a: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                                   mask: Any) -> Any:  # fmt: skip
        """The gradients of input, weight and bias; an empty array for each that `mask` does not ask for."""
        lead = a.ndim - len(shape)
        normal, none = a - mean, self.xp.empty(0, a.dtype)
        normal *= rstd
        scaled = grad if weight is None else grad * weight
        outer = tuple(range(lead))
        return (
            self._normalized_back(scaled, normal, rstd, tuple(range(lead, a.ndim))) if mask[0] else none,
            self.xp.add.reduce(grad * normal, axis=outer) if mask[1] else none,
            self.xp.add.reduce(grad, axis=outer) if mask[2] else none,
        )

    # ---------------------------------------------------------------- channels

    def _by_channel(self, x: Any, a: Any) -> Any:
        return x if a.ndim == 1 else x.reshape(1, -1, *[1] * (a.ndim - 2))

    def native_batch_norm(self, a: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                          momentum: float, eps: float) -> Any:  # fmt: skip
        """The result, and the mean and 1 / deviation that were used: of the batch while training."""
        if not a.flags.c_contiguous and not (a.ndim > 3 and self.xp.moveaxis(a, 1, -1).flags.c_contiguous):
            a = self.xp.ascontiguousarray(a)  # the result lies in this order, unless channels come last
        if training:
            axes = (0, *range(2, a.ndim))
            out, mean, rstd = self._normalized(a, axes, eps)
            mean, rstd = mean.reshape(-1), rstd.reshape(-1)
        else:
            scale = self._by_channel(self.number(1, a) / self.xp.sqrt(running_var + self.number(eps, running_var)), a)
            out = (a - self._by_channel(running_mean, a)) * scale
            mean = rstd = self.xp.empty(0, a.dtype)
        weight, bias = (None if part is None else self._by_channel(part, a) for part in (weight, bias))
        return self._affine(out, weight, bias).astype(a.dtype, copy=False), mean, rstd

    def native_batch_norm_backward(self, grad: Any, a: Any, weight: Any, running_mean: Any, running_var: Any, mean: Any,
                                   rstd: Any, training: bool, eps: float, mask: Any) -> Any:  # fmt: skip
        axes, none = (0, *range(2, a.ndim)), self.xp.empty(0, a.dtype)
        if not training:
            mean, rstd = running_mean, self.number(1, a) / self.xp.sqrt(running_var + self.number(eps, running_var))
        rstd = self._by_channel(rstd, a)
        normal = (a - self._by_channel(mean, a)) * rstd
        scaled = grad if weight is None else grad * self._by_channel(weight, a)
        image = none
        if mask[0]:
            image = self._normalized_back(scaled, normal, rstd, axes) if training else scaled * rstd
        return (
            image,
            self.xp.add.reduce(grad * normal, axis=axes) if mask[1] else none,
            self.xp.add.reduce(grad, axis=axes) if mask[2] else none,
        )

    batch_norm_backward = native_batch_norm_backward

    def native_group_norm(self, a: Any, weight: Any, bias: Any, groups: int, eps: float) -> Any:
        n, _c = a.shape[:2]
        out, mean, rstd = self._normalized(a.reshape(n, groups, -1 if a.size else 0), (2,), eps)
        out = out.reshape(a.shape)
        weight, bias = (None if part is None else self._by_channel(part, a) for part in (weight, bias))
        return self._affine(out, weight, bias), mean.reshape(n, groups), rstd.reshape(n, groups)

    def native_group_norm_backward(self, grad: Any, a: Any, mean: Any, rstd: Any, weight: Any, groups: int, mask: Any) -> Any:
        n = a.shape[0]
        rstd = rstd.reshape(n, groups, 1)
        normal = (a.reshape(n, groups, a[:1].size // groups) - mean.reshape(n, groups, 1)) * rstd
        scaled = grad if weight is None else grad * self._by_channel(weight, a)
        axes = (0, *range(2, a.ndim))
        return (
            self._normalized_back(scaled.reshape(normal.shape), normal, rstd, (2,)).reshape(a.shape) if mask[0] else None,
            self.xp.add.reduce(grad * normal.reshape(a.shape), axis=axes) if mask[1] else None,
            self.xp.add.reduce(grad, axis=axes) if mask[2] else None,
        )
