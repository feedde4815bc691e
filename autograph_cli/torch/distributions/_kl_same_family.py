"""Divergences of two distributions of one family."""

from __future__ import annotations

from typing import Any

from ... import torch
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily, normalizer_gradients
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, log_determinant, lowrank_mahalanobis, weighed
from .multivariate_normal import MultivariateNormal, log_diagonal, mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

INFINITE = torch.inf


def replaced(result: Any, *rules: tuple[Any, float]) -> Any:
    """`result` with a number in its place wherever a condition holds; the last condition counts."""
    for where, number in rules:
        result[where] = number
    return result


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    softplus = torch.nn.functional.softplus
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = replaced(ones, (q.probs == 0, INFINITE), (p.probs == 0, 0))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return ones + replaced(zeros, (q.probs == 1, INFINITE), (p.probs == 1, 0))


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    t5 = (total_q - total_p) * torch.digamma(total_p)
    return t1 - t2 + t3 + t4 + t5


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return replaced(result, (p.total_count > q.total_count, INFINITE))


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return replaced(terms, ((q.probs == 0).expand_as(terms), INFINITE), ((p.probs == 0).expand_as(terms), 0)).sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    other = -q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + own + other


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = total_p.lgamma() - total_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """By the Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot"
            f"{' ' * 29}be computed using Bregman divergences"
        )
    natural, normalizer, gradients = normalizer_gradients(p)
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for own, other, gradient in zip(natural, others, gradients, strict=True):
        result -= sum_rightmost((other - own) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    t4 = (q.rate - p.rate) * (p.concentration / p.rate)
    return t1 + t2 + t3 + t4


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, position_q, position_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    t1 = -ratio.log() - position_q + position_p
    t2 = ratio * euler_constant
    t3 = torch.exp(position_q + (1 + ratio).lgamma() - position_p)
    return t1 + t2 + t3 - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    t1 = -ratio.log()
    t2 = distance / q.scale
    t3 = ratio * torch.exp(-distance / p.scale)
    return t1 + t2 + t3 - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    scales, powers = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scales.log() + -powers.log() + powers - 1
    return replaced(result, (p.support.lower_bound < q.support.lower_bound, INFINITE))


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return replaced(result, ((q.low > p.low) | (q.high < p.high), INFINITE))


# ---------------------------------------------------------------- made of others


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


# ---------------------------------------------------------------- vectors


def _need_one_shape(p: Any, q: Any, what: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


def _squares(matrix: Any) -> Any:
    """The sum of the squared elements of each matrix."""
    n, m = matrix.shape[-2:]
    return matrix.reshape(-1, m * n).pow(2).sum(-1).reshape(matrix.shape[:-2])


def _solved(factor: Any, x: Any) -> Any:
    return torch.linalg.solve_triangular(factor, x, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    _need_one_shape(p, q, "Multivariate Normals")
    own, other, n = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril, p.event_shape[0]
    half = log_diagonal(other) - log_diagonal(own)
    shape = (*torch.broadcast_shapes(other.shape[:-2], own.shape[:-2]), n, n)
    spread = _squares(_solved(other.expand(shape), own.expand(shape)))
    return half + 0.5 * (spread + mahalanobis(other, q.loc - p.loc) - n)


def _low_rank(d: Any) -> tuple[Any, Any, Any]:
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank_alike(p: Any, q: Any) -> Any:
    _need_one_shape(p, q, "Low Rank Multivariate Normals")
    (own, own_diagonal, own_inside), (factor, diagonal, inside) = _low_rank(p), _low_rank(q)
    t1 = log_determinant(diagonal, inside) - log_determinant(own_diagonal, own_inside)
    t3 = lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, inside)
    a = _solved(inside, weighed(factor, diagonal))
    t2 = (own_diagonal / diagonal).sum(-1) + _squares(own * diagonal.rsqrt().unsqueeze(-1))
    t2 = t2 - _squares(a * own_diagonal.sqrt().unsqueeze(-2)) - _squares(a.matmul(own))
    return 0.5 * (t1 + t2 + t3 - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: Any, q: Any) -> Any:
    _need_one_shape(p, q, "(Low Rank) Multivariate Normals")
    own, (factor, diagonal, inside) = p._unbroadcasted_scale_tril, _low_rank(q)
    t1 = log_determinant(diagonal, inside) - 2 * log_diagonal(own)
    t3 = lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, inside)
    a = _solved(inside, weighed(factor, diagonal))
    t2 = _squares(own * diagonal.rsqrt().unsqueeze(-1)) - _squares(a.matmul(own))
    return 0.5 * (t1 + t2 + t3 - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _from_low_rank(p: Any, q: Any) -> Any:
    _need_one_shape(p, q, "(Low Rank) Multivariate Normals")
    (own, own_diagonal, own_inside), other, n = _low_rank(p), q._unbroadcasted_scale_tril, p.event_shape[0]
    t1 = 2 * log_diagonal(other) - log_determinant(own_diagonal, own_inside)
    t3 = mahalanobis(other, q.loc - p.loc)
    batch = torch.broadcast_shapes(other.shape[:-2], own.shape[:-2])
    factor = other.expand((*batch, n, n))
    wide = own.expand((*batch, n, p.cov_factor.size(-1)))
    diagonal = torch.diag_embed(own_diagonal.sqrt()).expand((*batch, n, n))
    return 0.5 * (t1 + (_squares(_solved(factor, wide)) + _squares(_solved(factor, diagonal))) + t3 - n)
