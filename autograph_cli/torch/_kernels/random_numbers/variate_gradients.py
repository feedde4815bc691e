"""Gradients of gamma and beta variates by their shape, at a fixed position in the distribution: by mathematics, to
rounding.

A variate x with distribution function F(x; a) moves by dx/da = -(dF/da) / (dF/dx). With the density p and the mean m of
log t, that is the integral of p(t) / p(x) * (m - log t) from the lower end to x, or of the negative from x to the upper
end. Where log x < m the first has one sign throughout, else the second, so nothing cancels.

PyTorch has fits for both, which are right to about three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._arrays import Array, many_dims

_STEP = 0.125
_FIRST, _LAST = -30.0, 5.0
"""Places on a logarithmic axis: the trapezoidal rule is exact to rounding there, for what decays like exp(-w)."""
_TERMS = 40
_BLOCK = 2048
_Way = tuple[Any, Callable[..., Any]]


class VariateGradients:
    """Kernels of the derivatives of samples by their parameters; all is computed in double precision."""

    xp: Any
    digamma: Callable[[Any], Any]

    def _standard_gamma_grad(self, a: Array, x: Any) -> Any:
        """dx/da of gamma variates `x` of shape `a` and scale 1."""
        return self._blockwise(self._gamma_slope, a, x).astype(x.dtype)[()]

    def _dirichlet_grad(self, x: Any, a: Array, total: Any) -> Any:
        """dx/da / (1 - x) of beta variates `x` of shapes `a` and `total - a`."""
        return self._blockwise(self._beta_slope, x, a, total).astype(x.dtype)[()]

    # ---------------------------------------------------------------- what both need

    def _blockwise(self, slope: Callable[..., Any], *arrays: Any) -> Any:
        """`slope` of flat float64 arrays, some elements at a time."""
        xp = self.xp
        wide = many_dims.broadcast_arrays(xp, *(xp.asarray(a, dtype="float64") for a in arrays))
        result = xp.empty(wide[0].shape)
        flat, out = [a.reshape(-1) for a in wide], result.reshape(-1)
        with xp.errstate(all="ignore"):
            for i in range(0, out.size, _BLOCK):
                out[i : i + _BLOCK] = slope(*(a[i : i + _BLOCK] for a in flat))
        return result

    def _by_ways(self, ways: list[_Way], *arrays: Any) -> Any:
        """Each element by the first way whose condition holds."""
        result, open_ = self.xp.zeros(arrays[0].shape), self.xp.ones(arrays[0].shape, bool)
        for condition, way in ways:
            here = open_ & condition
            open_ &= ~here
            if here.any():
                result[here] = way(*(a[here] for a in arrays))
        result[open_] = math.nan
        return result

    def _integral(self, exponent: Callable[[Any], Any], factor: Callable[[Any], Any], reach: Any) -> Any:
        """The integral over w > 0 of exp(exponent(w)) * factor(w), which falls off at w = reach."""
        w = reach[:, None] * self.xp.exp(self.xp.arange(_FIRST, _LAST, _STEP))
        height = self.xp.exp(exponent(w))
        return (self.xp.where(height > 0, height * factor(w), 0.0) * w).sum(1) * _STEP

    def _reach(self, last: Any, first: Any) -> Any:
        """Return where exp(-h(w)) falls off, when h rises by `first` at 0 and by `last` far away."""
        return self.xp.maximum(1 / last, 1 / self.xp.maximum(self.xp.abs(first), self.xp.sqrt(last)))

    # ---------------------------------------------------------------- gamma

    def _gamma_slope(self, a: Array, x: Any) -> Any:
        below = self.xp.log(x) < self.digamma(a)
        ways: list[_Way] = [
            (x <= 0, lambda a, x: self.xp.zeros_like(x)),
            (x < 1, self._gamma_series),
            (below, self._gamma_lower),
            (x >= 1, self._gamma_upper),
        ]
        return self._by_ways(ways, a, x)

    def _gamma_series(self, a: Array, x: Any) -> Any:
        """By powers of x; the first terms are brought together, for both are large where `a` is small."""
        rest, mean = self.xp.log(x), self.digamma(a)
        total, power = (rest - self.digamma(a + 1)) / a, self.xp.ones_like(x)
        for k in range(1, _TERMS):
            power = power * -x / k
            total = total + power * ((rest - mean) / (a + k) - 1 / (a + k) ** 2)
        return -x * self.xp.exp(x) * total

    def _gamma_lower(self, a: Array, x: Any) -> Any:
        """Along t = x exp(-w)."""
        xp, above = self.xp, (self.digamma(a) - self.xp.log(x))[:, None]
        reach = 1 / (xp.abs(a - x) + xp.sqrt(x))
        return x * self._integral(lambda w: -a[:, None] * w - x[:, None] * xp.expm1(-w), lambda w: w + above, reach)

    def _gamma_upper(self, a: Array, x: Any) -> Any:
        """Along t = x exp(w)."""
        xp, above = self.xp, (self.xp.log(x) - self.digamma(a))[:, None]
        reach = 1 / (xp.abs(a - x) + xp.sqrt(x))
        return x * self._integral(lambda w: a[:, None] * w - x[:, None] * xp.expm1(w), lambda w: w + above, reach)

    # ---------------------------------------------------------------- beta

    def _beta_slope(self, x: Any, a: Array, total: Any) -> Any:
        b = total - a
        mean = self.digamma(a) - self.digamma(total)
        ways: list[_Way] = [
            ((x <= 0) | (x >= 1), lambda x, a, b, mean: self.xp.zeros_like(x)),
            ((x <= 0.5) & (b * x <= 3), self._beta_series),
            (self.xp.log(x) < mean, self._beta_lower),
            (x > 0, self._beta_upper),
        ]
        return self._by_ways(ways, x, a, b, mean)

    def _beta_series(self, x: Any, a: Array, b: Array, mean: Any) -> Any:
        """By powers of x; the first terms are brought together, for both are large where `a` is small."""
        rest = self.xp.log(x)
        total, power = (rest - (mean + 1 / a)) / a, self.xp.ones_like(x)
        for k in range(1, 2 * _TERMS):
            power = power * (k - b) * x / k
            total = total + power * ((rest - mean) / (a + k) - 1 / (a + k) ** 2)
        return -x * self.xp.exp(-b * self.xp.log1p(-x)) * total

    def _beta_lower(self, x: Any, a: Array, b: Array, mean: Any) -> Any:
        """Along t = x exp(-w)."""
        odds, above = (x / (1 - x))[:, None], (mean - self.xp.log(x))[:, None]

        def exponent(w: Any) -> Any:
            return -a[:, None] * w + (b[:, None] - 1) * self.xp.log1p(-odds * self.xp.expm1(-w))

        reach = self._reach(a, a - (b - 1) * x / (1 - x))
        return x / (1 - x) * self._integral(exponent, lambda w: w + above, reach)

    def _beta_upper(self, x: Any, a: Array, b: Array, mean: Any) -> Any:
        """Along 1 - t = (1 - x) exp(-w)."""
        odds, above = ((1 - x) / x)[:, None], (self.xp.log(x) - mean)[:, None]

        def ahead(w: Any) -> Any:
            return self.xp.log1p(-odds * self.xp.expm1(-w))

        def exponent(w: Any) -> Any:
            return -b[:, None] * w + (a[:, None] - 1) * ahead(w)

        return self._integral(exponent, lambda w: ahead(w) + above, self._reach(b, b - (a - 1) * (1 - x) / x))
