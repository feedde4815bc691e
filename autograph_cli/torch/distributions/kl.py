"""How far one distribution is from another: closed forms by pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.registry import functions
from ..nn import functional
from .continuous import Beta, Exponential, Gamma, Normal, Uniform
from .discrete import Bernoulli, Categorical
from .independent import Independent, sum_last
from .multivariate import Dirichlet, MultivariateNormal, _linalg, log_diagonal, mahalanobis

Rule = Callable[[Any, Any], Any]
_rules: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """Make the decorated function the divergence of two classes of distributions."""

    def decorate(rule: Rule) -> Rule:
        _rules[type_p, type_q] = rule
        return rule

    return decorate


def kl_divergence(p: Any, q: Any) -> Any:
    """KL(p || q). NotImplementedError for a pair of classes without a closed form.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _rules:
                return _rules[kind_p, kind_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return functions["where"]((q.low > p.low) | (q.high < p.high), float("inf"), found)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = q.concentration.lgamma() - p.concentration.lgamma()
    t3 = (p.concentration - q.concentration) * p.concentration.digamma()
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    softplus, where = functional.softplus, functions["where"]
    t1 = p.probs * (softplus(-q.logits) + where(p.probs == 0, 0.0, p.probs.log()))
    rest = 1 - p.probs
    t2 = rest * (softplus(q.logits) + where(rest == 0, 0.0, rest.log()))
    t1 = where(q.probs == 0, float("inf"), t1)
    t1 = where(p.probs == 0, 0.0, t1)
    t2 = where(q.probs == 1, float("inf"), t2)
    return t1 + where(p.probs == 1, 0.0, t2)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    where = functions["where"]
    found = p.probs * (p.logits - q.logits)
    found = where((q.probs == 0).expand_as(found), float("inf"), found)
    return where((p.probs == 0).expand_as(found), 0.0, found).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    distance = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return t1 + ((p.concentration - q.concentration) * distance).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    half = log_diagonal(q._unbroadcasted) - log_diagonal(p._unbroadcasted)
    shape = functions["broadcast_shapes"](q._unbroadcasted.shape, p._unbroadcasted.shape)
    factor_q, factor_p = q._unbroadcasted.expand(shape), p._unbroadcasted.expand(shape)
    spread = _linalg().solve_triangular(factor_q, factor_p, upper=False).pow(2).sum((-2, -1))
    return half + 0.5 * (spread + mahalanobis(factor_q, q.loc - p.loc) - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
