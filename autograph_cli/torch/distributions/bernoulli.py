"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ByOdds, broadcast_all

__all__ = ["Bernoulli"]


def cross_entropy(logits: Any, target: Any) -> Any:
    """The binary cross entropy of log-odds and probabilities, element by element."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")


class Bernoulli(ByOdds, ExponentialFamily):
    """1 with probability `probs` (or with log-odds `logits`), else 0. ValueError unless one of both is given.

    >>> from autograph_cli import torch
    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, (), validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self) -> Any:
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(2, dtype=self._param.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> Any:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return torch.log(1 + torch.exp(x))
