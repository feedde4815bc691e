"""Bessel and Airy functions, by Chebyshev series near zero and of their slow factors far from it."""

from __future__ import annotations

import math
from typing import Any

from . import _series as series
from .special import chebyshev, widened

_AIRY_JOINT = 2 / 3 * 5**1.5


class Bessel:
    """Kernels of Bessel functions."""

    xp: Any
    piecewise: Any

    # ---------------------------------------------------------------- modified

    def _ie(self, order: int, x: Any) -> Any:
        """exp(-|x|) I(x) for x >= 0; I1 divided by x where x is small."""
        small, large = (series.I1E_SMALL, series.I1E_LARGE) if order else (series.I0E_SMALL, series.I0E_LARGE)
        return self.piecewise(
            x,
            (x <= 8, lambda x: chebyshev(x / 4 - 1, small) * x**order),
            (x > 8, lambda x: chebyshev(16 / x - 1, large) / self.xp.sqrt(x)),
        )

    @widened
    def special_i0e(self, x: Any) -> Any:
        return self._ie(0, abs(x))

    @widened
    def special_i1e(self, x: Any) -> Any:
        return self._odd(self._ie(1, abs(x)), x)

    def _odd(self, value: Any, x: Any) -> Any:
        """The value of an odd function at |x|, with the sign of `x`; 0 has none."""
        return self.xp.where(x < 0, -value, value)

    @widened
    def i0(self, x: Any) -> Any:
        return self._ie(0, abs(x)) * self.xp.exp(abs(x))

    @widened
    def special_i1(self, x: Any) -> Any:
        return self._odd(self._ie(1, abs(x)) * self.xp.exp(abs(x)), x)

    special_modified_bessel_i0 = i0
    special_modified_bessel_i1 = special_i1

    def _k(self, order: int, x: Any, scaled: bool) -> Any:
        """K(x), or exp(x) K(x)."""
        xp = self.xp
        small, large = (series.K1_SMALL, series.K1E_LARGE) if order else (series.K0_SMALL, series.K0E_LARGE)

        def near(x: Any) -> Any:
            log = xp.log(x / 2) * self._ie(order, x) * xp.exp(x)
            value = chebyshev(x * x / 2 - 1, small) / x**order + (log if order else -log)
            return value * xp.exp(x) if scaled else value

        def far(x: Any) -> Any:
            return chebyshev(4 / x - 1, large) / xp.sqrt(x) * (1 if scaled else xp.exp(-x))

        return self.piecewise(x, (x == 0, lambda x: x + math.inf), ((x > 0) & (x <= 2), near), (x > 2, far))

    @widened
    def special_modified_bessel_k0(self, x: Any) -> Any:
        return self._k(0, x, False)

    @widened
    def special_modified_bessel_k1(self, x: Any) -> Any:
        return self._k(1, x, False)

    @widened
    def special_scaled_modified_bessel_k0(self, x: Any) -> Any:
        return self._k(0, x, True)

    @widened
    def special_scaled_modified_bessel_k1(self, x: Any) -> Any:
        return self._k(1, x, True)

    # ---------------------------------------------------------------- of the first and the second kind

    def _wave(self, order: int, x: Any, second: bool) -> Any:
        """J(x) or Y(x) for x > 8."""
        p, q = (series.P1, series.Q1) if order else (series.P0, series.Q0)
        t, angle = 128 / (x * x) - 1, x - (2 * order + 1) * math.pi / 4
        along, across = chebyshev(t, p), chebyshev(t, q) / x
        sin, cos = self.xp.sin(angle), self.xp.cos(angle)
        wave = along * sin + across * cos if second else along * cos - across * sin
        return wave * self.xp.sqrt(2 / (math.pi * x))

    def _j(self, order: int, x: Any) -> Any:
        """J(x) for x >= 0; infinitely far it is 0."""
        small = series.J1_SMALL if order else series.J0_SMALL
        return self.piecewise(
            x,
            (x <= 8, lambda x: chebyshev(x * x / 32 - 1, small) * x**order),
            ((x > 8) & (x < math.inf), lambda x: self._wave(order, x, False)),
            (x == math.inf, lambda x: x * 0.0),
        )

    def _y(self, order: int, x: Any) -> Any:
        small = series.Y1_SMALL if order else series.Y0_SMALL

        def near(x: Any) -> Any:
            log = self.xp.log(x) * self._j(order, x) - (1 / x if order else 0.0)
            return chebyshev(x * x / 32 - 1, small) * x**order + 2 / math.pi * log

        return self.piecewise(
            x,
            (x == 0, lambda x: x - math.inf),
            ((x > 0) & (x <= 8), near),
            (x > 8, lambda x: self._wave(order, x, True)),
        )

    @widened
    def special_bessel_j0(self, x: Any) -> Any:
        return self._j(0, abs(x))

    @widened
    def special_bessel_j1(self, x: Any) -> Any:
        return self.xp.copysign(1.0, x) * self._j(1, abs(x))

    @widened
    def special_bessel_y0(self, x: Any) -> Any:
        return self._y(0, x)

    @widened
    def special_bessel_y1(self, x: Any) -> Any:
        return self._y(1, x)

    @widened
    def special_spherical_bessel_j0(self, x: Any) -> Any:
        small = abs(x) < 0.5
        terms = self.xp.zeros(x.shape)
        for k in range(6, 0, -1):
            terms = -(1 + terms) * x * x / (2 * k * (2 * k + 1))
        return self.xp.where(self.xp.isinf(x), 0.0, self.xp.where(small, 1 + terms, self.xp.sin(x) / x))

    @widened
    def special_airy_ai(self, x: Any) -> Any:
        sqrt, exp = self.xp.sqrt, self.xp.exp

        def right(x: Any) -> Any:
            z = 2 / 3 * x * sqrt(x)
            return chebyshev(2 * _AIRY_JOINT / z - 1, series.AIRY_RIGHT) * exp(-z) / (2 * sqrt(math.pi * sqrt(x)))

        def left(x: Any) -> Any:
            z = 2 / 3 * -x * sqrt(-x)
            t, angle = 2 * (_AIRY_JOINT / z) ** 2 - 1, z - math.pi / 4
            wave = chebyshev(t, series.AIRY_P) * self.xp.cos(angle) + chebyshev(t, series.AIRY_Q) / z * self.xp.sin(
                angle
            )
            return wave / sqrt(math.pi * sqrt(-x))

        return self.piecewise(
            x,
            (abs(x) <= 5, lambda x: chebyshev(x / 5, series.AIRY_CENTER)),
            ((x > 5) & (x < math.inf), right),
            ((x < -5) & (x > -math.inf), left),
        )
