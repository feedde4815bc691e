"""The von Mises distribution: normal numbers on a circle."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

# The polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4: below 3.75 in (x / 3.75)**2, above in 3.75 / x.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        0.39894228,
        0.1328592e-1,
        0.225319e-2,
        -0.157565e-2,
        0.916281e-2,
        -0.2057706e-1,
        0.2635537e-1,
        -0.1647633e-1,
        0.392377e-2,
    ),
    (
        0.39894228,
        -0.3988024e-1,
        -0.362018e-2,
        0.163801e-2,
        -0.1031555e-1,
        0.2282967e-1,
        -0.2895312e-1,
        0.1787654e-1,
        -0.420059e-2,
    ),
)


def _polynomial(y: Any, coefficients: tuple[float, ...]) -> Any:
    *rest, result = coefficients
    for c in reversed(rest):
        result = c + y * result
    return result


def log_bessel(x: Any, order: int = 0) -> Any:
    """The logarithm of the modified Bessel function of order 0 or 1, for positive numbers."""
    y = x / 3.75
    y = y * y
    small = _polynomial(y, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    small = small.log()
    y = 3.75 / x
    large = x - 0.5 * x.log() + _polynomial(y, _LARGE[order]).log()
    return torch.where(x < 3.75, small, large)


def _drawn(loc: Any, concentration: Any, r: Any, shape: Any) -> Any:
    """By the rejection method of Best and Fisher; all elements are drawn anew until each is accepted."""
    x = torch.empty(shape, dtype=loc.dtype)
    done = torch.zeros(shape, dtype=torch.bool)
    while not done.all():
        first, second, third = torch.rand((3, *shape), dtype=loc.dtype).unbind()
        z = torch.cos(math.pi * first)
        f = (1 + r * z) / (r + z)
        c = concentration * (r - f)
        accept = ((c * (2 - c) - second) > 0) | ((c / second).log() + 1 - c >= 0)
        if accept.any():
            x = torch.where(accept, (third - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles around `loc`, the nearer the higher the `concentration`; drawn in double precision.

    >>> from autograph_cli import torch
    >>> torch.distributions.VonMises(0.0, 2.0).log_prob(torch.tensor(0.0)).exp()
    tensor(0.5159)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        cosine = self.concentration * torch.cos(value - self.loc)
        return cosine - math.log(2 * math.pi) - log_bessel(self.concentration, order=0)

    def _r(self) -> Any:
        """The parameter of the wrapped Cauchy distribution that is drawn from."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            return _drawn(self.loc.double(), self.concentration.double(), self._r(), shape).to(self.loc.dtype)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Any:
        return 1 - (log_bessel(self.concentration, order=1) - log_bessel(self.concentration, order=0)).exp()
