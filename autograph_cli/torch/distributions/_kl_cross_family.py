"""Divergences of distributions of different families."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from ._kl_same_family import INFINITE, replaced
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

_ROOT = math.sqrt(2 * math.pi)
_POSITIVE = (Beta, ContinuousBernoulli, Pareto, Uniform)
_ALL = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_APART: list[tuple[type, str, tuple[type, ...]]] = [
    (Beta, "concentration1", (Pareto,)), (ContinuousBernoulli, "probs", (Pareto,)), (Exponential, "rate", _POSITIVE),
    (Gamma, "concentration", _POSITIVE), (Gumbel, "loc", _ALL), (Laplace, "loc", _ALL), (Normal, "loc", _ALL),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)), (Poisson, "rate", (Bernoulli, Binomial)),
]  # fmt: skip
"""Distributions with values that the other does not have: a class, a parameter of the result's shape, the others."""


def _infinite(parameter: str) -> Any:
    return lambda p, q: torch.full_like(getattr(p, parameter), math.inf)


for _class, _parameter, _others in _APART:
    for _other in _others:
        register_kl(_class, _other)(_infinite(_parameter))


def _x_log_x(x: Any) -> Any:
    return torch.special.xlogy(x, x)


def _gamma_normalizer(q: Any) -> Any:
    return q.concentration.lgamma() - q.concentration * q.rate.log()


def _against_odds(p: Any, q: Any) -> Any:
    """From anything on the unit interval to a continuous Bernoulli distribution."""
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


# ---------------------------------------------------------------- from the unit interval


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


register_kl(Beta, ContinuousBernoulli)(_against_odds)


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Any:
    t1, t2 = -p.entropy(), _gamma_normalizer(q)
    t3 = (q.concentration - 1) * (p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())
    return t1 + t2 - t3 + q.rate * p.concentration1 / (p.concentration1 + p.concentration0)


@register_kl(Beta, Normal)
def _beta_normal(p: Any, q: Any) -> Any:
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    variance = q.scale.pow(2)
    t1, t2 = -p.entropy(), 0.5 * (variance * 2 * math.pi).log()
    t3 = (mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean.pow(2)) * 0.5
    return t1 + t2 + (t3 - q.loc * mean + q.loc.pow(2) * 0.5) / variance


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Any:
    outside = (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)
    return replaced(-p.entropy() + (q.high - q.low).log(), (outside, INFINITE))


@register_kl(ContinuousBernoulli, Exponential)
def _odds_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _odds_normal(p: Any, q: Any) -> Any:
    t1 = -p.entropy()
    t2 = 0.5 * (math.log(2.0 * math.pi) + torch.square(q.loc / q.scale)) + torch.log(q.scale)
    return t1 + t2 + (p.variance + torch.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * torch.square(q.scale))


@register_kl(ContinuousBernoulli, Uniform)
def _odds_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    outside = torch.max(torch.ge(q.low, p.support.lower_bound), torch.le(q.high, p.support.upper_bound))
    return torch.where(outside, torch.ones_like(result) * INFINITE, result)


# ---------------------------------------------------------------- from the positive numbers


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    t1 = -q.concentration * torch.log(ratio)
    return t1 + ratio + q.concentration.lgamma() + q.concentration * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Any:
    product, position = p.rate * q.scale, q.loc / q.scale
    t1 = product.log() - 1
    t2 = torch.exp(position) * product / (product + 1)
    return t1 - position + t2 + product.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Any:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(square * variance * 2 * math.pi)
    return t1 - 1 + (square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / variance


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Any:
    product, position = p.rate * q.scale, q.loc / q.scale
    t1 = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    t2 = product.log() + p.concentration / product
    return t1 + t2 + (torch.exp(position) * (1 + product.reciprocal()).pow(-p.concentration) - position)


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Any:
    variance, square, shape = q.scale.pow(2), p.rate.pow(2), p.concentration
    t1 = 0.5 * torch.log(square * variance * 2 * math.pi) - shape - shape.lgamma()
    t2 = 0.5 * (shape.pow(2) + shape) / square
    return t1 + (shape - 1) * shape.digamma() + (t2 - q.loc * shape / p.rate + 0.5 * q.loc.pow(2)) / variance


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    t1 = (p.alpha / product).log()
    result = t1 - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return replaced(result, (p.alpha <= 1, INFINITE))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Any:
    common = p.scale.log() + p.alpha.reciprocal()
    t1, t2 = p.alpha.log() - common, _gamma_normalizer(q)
    result = t1 + t2 + (1 - q.concentration) * common + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1
    return replaced(result, (p.alpha <= 1, INFINITE))


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Any:
    variance, common = 2 * q.scale.pow(2), p.scale / (p.alpha - 1)
    t1 = (_ROOT * q.scale * p.alpha / p.scale).log()
    t2 = p.alpha.reciprocal()
    t3 = p.alpha * common.pow(2) / (p.alpha - 2)
    result = t1 - t2 + (t3 + (p.alpha * common - q.loc).pow(2)) / variance - 1
    return replaced(result, (p.alpha <= 2, INFINITE))


# ---------------------------------------------------------------- from all real numbers


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    t1 = (ratio / _ROOT).log()
    t2 = (math.pi * ratio * 0.5).pow(2) / 3
    t3 = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -t1 + t2 + t3 - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Any:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    t1 = 0.5 * torch.log(2 * ratio / math.pi)
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -t1 + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Any:
    own, ratio, position = p.loc / q.scale, (p.scale / q.scale).pow(2), q.loc / q.scale
    t1 = ratio.log() * 0.5
    t2 = own - position
    return -t1 + t2 + torch.exp(-own + 0.5 * ratio + position) - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    distance, ratio = p.loc - q.loc, p.scale / q.scale
    steps = distance / p.scale
    t1 = torch.log(ratio)
    t2 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * steps.pow(2))
    t3 = distance * torch.erf(math.sqrt(0.5) * steps)
    return -t1 + (t2 + t3) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


# ---------------------------------------------------------------- from an interval


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = torch.log(width)
    t2 = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    t3 = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return replaced(t3 + t4 - t1 - t2, (outside, INFINITE))


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_odds(p: Any, q: Any) -> Any:
    result = _against_odds(p, q)
    outside = torch.max(torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound))
    return torch.where(outside, torch.ones_like(result) * INFINITE, result)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Any:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return replaced(result, (p.low < q.support.lower_bound, INFINITE))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1, t2 = width.log(), _gamma_normalizer(q)
    t3 = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -t1 + t2 + t3 + q.rate * (p.high + p.low) / 2
    return replaced(result, (p.low < q.support.lower_bound, INFINITE))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Any:
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    t1 = common.log() + 0.5 * (high + low)
    return t1 - common * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = (_ROOT * q.scale / width).log()
    t2 = (width).pow(2) / 12
    return t1 + 0.5 * (t2 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = (q.alpha * q.scale.pow(q.alpha) * width).log()
    t2 = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    return replaced(t2 * (q.alpha + 1) - t1, (p.low < q.support.lower_bound, INFINITE))
