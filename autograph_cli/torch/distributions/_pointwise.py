"""Maps of single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Number
from typing import Any

from ... import torch
from . import constraints
from ._maps import Transform

Map = Callable[..., Any]


def _softplus(x: Any) -> Any:
    return torch.nn.functional.softplus(x)


def clipped_sigmoid(x: Any) -> Any:
    """The logistic function, kept away from 0 and 1."""
    info = torch.finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


def _logit(y: Any) -> Any:
    info = torch.finfo(y.dtype)
    inside = y.clamp(min=info.tiny, max=1.0 - info.eps)
    return inside.log() - (-inside).log1p()


class _Pointwise(Transform):
    """A map of the real numbers without parameters: all of one class are equal."""

    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None


def _pointwise(name: str, doc: str, codomain: Any, forward: Map, back: Map, log_slope: Map) -> Any:
    members = {
        "__doc__": doc,
        "__module__": __name__,
        "codomain": codomain,
        "_call": lambda self, x: forward(x),
        "_inverse": lambda self, y: back(y),
        "log_abs_det_jacobian": lambda self, x, y: log_slope(x, y),
    }
    return type(name, (_Pointwise,), members)


ExpTransform = _pointwise(
    "ExpTransform", "y = e**x.", constraints.positive, lambda x: x.exp(), lambda y: y.log(), lambda x, y: x
)
SigmoidTransform = _pointwise(
    "SigmoidTransform",
    "y = 1 / (1 + e**-x).",
    constraints.unit_interval,
    clipped_sigmoid,
    _logit,
    lambda x, y: -_softplus(-x) - _softplus(x),
)
SoftplusTransform = _pointwise(
    "SoftplusTransform",
    "y = log(1 + e**x).",
    constraints.positive,
    _softplus,
    lambda y: (-y).expm1().neg().log() + y,
    lambda x, y: -_softplus(-x),
)
TanhTransform = _pointwise(
    "TanhTransform",
    "y = tanh(x).",
    constraints.interval(-1.0, 1.0),
    lambda x: x.tanh(),
    torch.atanh,
    lambda x, y: 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x)),
)


class PowerTransform(Transform):
    """y = x ** exponent, for positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, torch.Tensor) else torch.tensor(float(exponent))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class AbsTransform(Transform):
    """y = |x|, which has no inverse: that gives `y` itself."""

    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x; `event_dim` trailing dimensions are one value."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    def _real(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    domain = constraints.dependent_property(_real, is_discrete=False)
    codomain = constraints.dependent_property(_real, is_discrete=False)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and all(
            a == b if isinstance(a, Number) and isinstance(b, Number) else bool((a == b).all().item())
            for a, b in ((self.loc, other.loc), (self.scale, other.scale))
        )

    __hash__ = None

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            number: Any = self.scale
            return (number > 0) - (number < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shape, scale = x.shape, self.scale
        found = torch.abs(scale).log() if isinstance(scale, torch.Tensor) else torch.full_like(x, math.log(abs(scale)))
        if self._event_dim:
            found = found.view((*found.shape[: -self._event_dim], -1)).sum(-1)
            shape = shape[: -self._event_dim]
        return found.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """Onto the probability, by a distribution, of all smaller values."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support, doc="The support of the distribution.")

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
        )

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)
