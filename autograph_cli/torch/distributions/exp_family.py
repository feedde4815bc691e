"""Distributions whose density is exp of a product: entropies and divergences follow from one function."""

from __future__ import annotations

from typing import Any

from ... import torch
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """p(x) = exp(<t(x), natural parameters> - log normalizer(natural parameters) + carrier measure(x)).

    A subclass gives `_natural_params`, `_log_normalizer` and, if it is not 0, `_mean_carrier_measure`.
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        result: Any = -self._mean_carrier_measure
        natural, normalizer, gradients = normalizer_gradients(self)
        result = result + normalizer
        for parameter, gradient in zip(natural, gradients, strict=True):
            result = result - sum_rightmost(parameter * gradient, len(self.event_shape))
        return result


def normalizer_gradients(d: ExponentialFamily) -> tuple[list[Any], Any, tuple[Any, ...]]:
    """The natural parameters apart from the graph, the log normalizer of them, and its slopes, in a graph of their
    own."""
    natural = [p.detach().requires_grad_() for p in d._natural_params]
    normalizer = d._log_normalizer(*natural)
    return natural, normalizer, torch.autograd.grad(normalizer.sum(), natural, create_graph=True)
