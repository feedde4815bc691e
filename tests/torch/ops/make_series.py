"""Computes the coefficients in autograph_cli/torch/_kernels/elementwise/_series.py from functions in high precision (needs mpmath).

python tests/torch/ops/make_series.py > autograph_cli/torch/_kernels/elementwise/_series.py
"""

import sys
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from numpy.polynomial import chebyshev

mp.mp.dps = 40
ZETA5 = mp.mpf(2) / 3 * mp.mpf(5) ** 1.5


def coefficients(function: Callable[[Any], Any], degree: int = 64, tolerance: float = 2e-18) -> list[float]:
    """Those of `function` on [-1, 1], as far as they matter in double precision; the first one halved."""
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / degree) for k in range(degree)]
    values = [function(t) for t in nodes]
    found = [
        2 / mp.mpf(degree) * sum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / degree) for k, v in enumerate(values))
        for j in range(degree)
    ]
    size = max(abs(c) for c in found)
    while abs(found[-1]) < tolerance * size:
        found.pop()
    assert len(found) < degree, "the series does not end within the degree"
    return [float(found[0] / 2), *map(float, found[1:])]


def _erfcx(t: Any) -> Any:
    x = mp.mpf(15) / 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def _bessel_wave(order: int, part: str) -> Callable[[Any], Any]:
    """The slow factors P and x Q of J = sqrt(2 / pi x) (P cos a - Q sin a), a = x - (2 order + 1) pi / 4, for x >= 8."""

    def function(t: Any) -> Any:
        x = 8 / mp.sqrt((t + 1) / 2)
        a, c = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        return c * (j * mp.cos(a) + y * mp.sin(a)) if part == "P" else x * c * (y * mp.cos(a) - j * mp.sin(a))

    return function


def _airy_wave(part: str) -> Callable[[Any], Any]:
    """The slow factors P and z Q of Ai(-x) = (P cos a + Q sin a) / (sqrt(pi) x**(1/4)), a = z - pi / 4, for x >= 5."""

    def function(t: Any) -> Any:
        z = ZETA5 / mp.sqrt((t + 1) / 2)
        x = (3 * z / 2) ** (mp.mpf(2) / 3)
        a, c = z - mp.pi / 4, mp.sqrt(mp.pi) * x ** mp.mpf(0.25)
        ai, bi = mp.airyai(-x), mp.airybi(-x)
        return c * (ai * mp.cos(a) - bi * mp.sin(a)) if part == "P" else z * c * (ai * mp.sin(a) + bi * mp.cos(a))

    return function


def _airy_right(t: Any) -> Any:
    z = 2 * ZETA5 / (t + 1)
    x = (3 * z / 2) ** (mp.mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * x ** mp.mpf(0.25) * mp.exp(z) * mp.airyai(x)


def _of_square(function: Callable[[Any], Any], end: int) -> Callable[[Any], Any]:
    """A function of x on [0, end] as one of t = 2 (x / end)**2 - 1."""
    return lambda t: function(end * mp.sqrt((t + 1) / 2))


def _of_inverse(function: Callable[[Any], Any], start: int) -> Callable[[Any], Any]:
    """A function of x >= start as one of t = 2 start / x - 1."""
    return lambda t: function(2 * start / (t + 1))


SERIES = {
    "ERFCX": _erfcx,
    "LGAMMA": lambda t: mp.loggamma(t + mp.mpf(3) / 2) / ((t + 0.5) * (t - 0.5)),
    "I0E_SMALL": lambda t: mp.exp(-4 * (t + 1)) * mp.besseli(0, 4 * (t + 1)),
    "I0E_LARGE": _of_inverse(lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(0, x), 8),
    "I1E_SMALL": lambda t: mp.exp(-4 * (t + 1)) * mp.besseli(1, 4 * (t + 1)) / (4 * (t + 1)),
    "I1E_LARGE": _of_inverse(lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(1, x), 8),
    "K0_SMALL": _of_square(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x), 2),
    "K0E_LARGE": _of_inverse(lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(0, x), 2),
    "K1_SMALL": _of_square(lambda x: x * mp.besselk(1, x) - x * mp.log(x / 2) * mp.besseli(1, x), 2),
    "K1E_LARGE": _of_inverse(lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(1, x), 2),
    "J0_SMALL": _of_square(lambda x: mp.besselj(0, x), 8),
    "J1_SMALL": _of_square(lambda x: mp.besselj(1, x) / x, 8),
    "Y0_SMALL": _of_square(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x), 8),
    "Y1_SMALL": _of_square(lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x, 8),
    "P0": _bessel_wave(0, "P"),
    "Q0": _bessel_wave(0, "Q"),
    "P1": _bessel_wave(1, "P"),
    "Q1": _bessel_wave(1, "Q"),
    "AIRY_CENTER": lambda t: mp.airyai(5 * t),
    "AIRY_RIGHT": _airy_right,
    "AIRY_P": _airy_wave("P"),
    "AIRY_Q": _airy_wave("Q"),
}


def fitted(
    function: Callable[[Any], Any], weight: Callable[[Any], Any], end: float, degree: int, points: int = 500
) -> list[float]:
    """The coefficients of the polynomial on [0, end] whose largest error times `weight` is the least (Lawson's way to it)."""
    u = np.cos(np.pi * (np.arange(points) + 0.5) / points)
    x = [mp.mpf(end) * (t + 1) / 2 for t in u]
    y, scale = (np.array([float(f(t)) for t in x]) for f in (function, weight))
    table, shares, best = chebyshev.chebvander(u, degree), np.ones(points), (np.inf, np.zeros(1))
    for _ in range(400):
        by = scale * np.sqrt(shares)
        found = np.linalg.lstsq(table * by[:, None], y * by, rcond=None)[0]
        error = abs(table @ found - y) * scale
        best = min(best, (error.max(), found), key=lambda b: b[0])
        shares *= error / error.max() + 1e-3
        shares /= shares.sum()
    made: list[float] = chebyshev.Chebyshev(best[1], [0, end]).convert(kind=np.polynomial.Polynomial).coef.tolist()
    return made


def _artanh_erf(t: Any) -> Any:
    return mp.atanh(mp.erf(mp.sqrt(t)))


POLYNOMIALS = {
    # Of t = x**2: artanh(erf(x)) / x, so that erf has an even relative error, 7e-8, up to where float32 knows no 1 - erf.
    "ARTANH_ERF": lambda: fitted(
        lambda t: _artanh_erf(t) / mp.sqrt(t),
        lambda t: mp.sqrt(t) / mp.cosh(_artanh_erf(t)) ** 2 / mp.erf(mp.sqrt(t)),
        16,
        7,
    ),
}


def show(name: str, found: list[float]) -> None:
    print(f"{name} = (")
    for i in range(0, len(found), 4):
        print("    " + " ".join(f"{c!r}," for c in found[i : i + 4]))
    print(")  # fmt: skip")


def main() -> None:
    print(
        '"""Coefficients computed by tests/torch/ops/make_series.py: of Chebyshev series on [-1, 1], then of powers of x."""\n'
    )
    for name, function in SERIES.items():
        found = coefficients(function)
        print(f"{name}: {len(found)}", file=sys.stderr)
        show(name, found)
    for name, make in POLYNOMIALS.items():
        show(name, make())


if __name__ == "__main__":
    main()
