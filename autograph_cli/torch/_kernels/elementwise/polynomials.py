"""Orthogonal polynomials of a degree that is given for each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import many_dims
from .special import widened


class Polynomials:
    """Kernels of orthogonal polynomials, by their three-term recurrences."""

    xp: Any

    def _degree(self, n: Any) -> Any:
        """Whole numbers; what is no number, or none that is finite, is below 0 as a C integer."""
        return self.xp.where(self.xp.isfinite(n), self.xp.trunc(n), -1)

    def _recurrence(self, x: Any, n: Any, first: Callable[[Any], Any], following: Callable[..., Any]) -> Any:
        """The polynomial of degree n: 1, `first(x)`, then `following(k, x, q, p)` from the two before it."""
        x, n = many_dims.broadcast_arrays(self.xp, x, self._degree(n))
        p, q = self.xp.ones(x.shape), first(x)
        out = self.xp.where(n == 0, p, self.xp.where(n == 1, q, 0.0))
        for k in range(2, (int(n.max()) if n.size else 0) + 1):
            p, q = q, following(k, x, q, p)
            out = self.xp.where(n == k, q, out)
        return out

    def _chebyshev(self, x: Any, n: Any, slope: int, shift: int, wave: Callable[..., Any]) -> Any:
        """The four kinds differ in their first polynomial, slope * x + shift; `wave` is the form in the angle."""
        x, n = many_dims.broadcast_arrays(self.xp, x, self._degree(n))
        turning = (abs(x) < 1) & (n > 6)
        climbing = self.xp.where(turning, 0, n)
        out = self._recurrence(x, climbing, lambda x: slope * x + shift, lambda k, x, q, p: 2 * x * q - p)
        if turning.any():
            out[turning] = wave(n[turning], self.xp.arccos(x[turning]))
        return out

    @widened
    def special_chebyshev_polynomial_t(self, x: Any, n: Any) -> Any:
        return self._chebyshev(x, n, 1, 0, lambda n, a: self.xp.cos(n * a))

    @widened
    def special_chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        return self._chebyshev(x, n, 2, 0, lambda n, a: self.xp.sin((n + 1) * a) / self.xp.sin(a))

    @widened
    def special_chebyshev_polynomial_v(self, x: Any, n: Any) -> Any:
        return self._chebyshev(x, n, 2, -1, lambda n, a: self.xp.cos((n + 0.5) * a) / self.xp.cos(a / 2))

    @widened
    def special_chebyshev_polynomial_w(self, x: Any, n: Any) -> Any:
        return self._chebyshev(x, n, 2, 1, lambda n, a: self.xp.sin((n + 0.5) * a) / self.xp.sin(a / 2))

    @widened
    def special_shifted_chebyshev_polynomial_t(self, x: Any, n: Any) -> Any:
        return self.special_chebyshev_polynomial_t(2 * x - 1, n)

    @widened
    def special_shifted_chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        return self.special_chebyshev_polynomial_u(2 * x - 1, n)

    @widened
    def special_shifted_chebyshev_polynomial_v(self, x: Any, n: Any) -> Any:
        return self.special_chebyshev_polynomial_v(2 * x - 1, n)

    @widened
    def special_shifted_chebyshev_polynomial_w(self, x: Any, n: Any) -> Any:
        return self.special_chebyshev_polynomial_w(2 * x - 1, n)

    def _hermite(self, x: Any, n: Any, scale: int) -> Any:
        n = self._degree(n)
        limit = 512 if x.dtype == np.float64 else 128
        out = self._recurrence(
            x, self.xp.where(n > limit, -1, n), lambda x: scale * x, lambda k, x, q, p: scale * (x * q - (k - 1) * p)
        )
        return self.xp.where(n > limit, math.nan, out)

    @widened
    def special_hermite_polynomial_h(self, x: Any, n: Any) -> Any:
        return self._hermite(x, n, 2)

    @widened
    def special_hermite_polynomial_he(self, x: Any, n: Any) -> Any:
        return self._hermite(x, n, 1)

    @widened
    def special_laguerre_polynomial_l(self, x: Any, n: Any) -> Any:
        return self._recurrence(x, n, lambda x: 1 - x, lambda k, x, q, p: ((2 * k - 1 - x) * q - (k - 1) * p) / k)

    @widened
    def special_legendre_polynomial_p(self, x: Any, n: Any) -> Any:
        return self._recurrence(x, n, lambda x: x, lambda k, x, q, p: ((2 * k - 1) * x * q - (k - 1) * p) / k)
