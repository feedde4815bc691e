"""Divergence of one distribution from another: closed forms by pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.base.user_warnings import warn

__all__ = ["kl_divergence", "register_kl"]

Rule = Callable[[Any, Any], Any]
_rules: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """Make the decorated function the divergence of two classes of distributions."""

    def decorate(rule: Rule) -> Rule:
        _rules[type_p, type_q] = rule
        return rule

    return decorate


def _nearest(type_p: type, type_q: type, first: int) -> tuple[type, type] | None:
    """The pair of classes, of those that have a rule, that comes first when one side is looked at before the other."""
    pairs = [pair for pair in _rules if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    positions = type_p.__mro__, type_q.__mro__

    def distance(pair: tuple[type, type]) -> tuple[int, int]:
        return positions[first].index(pair[first]), positions[1 - first].index(pair[1 - first])

    return min(pairs, key=distance, default=None)


def _rule_for(type_p: type, type_q: type) -> Rule | None:
    left, right = (_nearest(type_p, type_q, side) for side in (0, 1))
    if left is None or right is None:
        return None
    if _rules[left] is not _rules[right]:
        names = [kind.__name__ for kind in (type_p, type_q, *left, *right)]
        warn(
            "Ambiguous kl_divergence({}, {}). Please register_kl({}, {})".format(
                *names[:2], left[0].__name__, right[1].__name__
            ),
            RuntimeWarning,
        )
    return _rules[left]


def kl_divergence(p: Any, q: Any) -> Any:
    """KL(p || q). NotImplementedError for a pair of classes without a closed form.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    rule = _rule_for(type(p), type(q))
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return rule(p, q)
