"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import OfCategorical, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical, Distribution):
    """The counts of each number in `total_count` draws of a `Categorical`.

    >>> from autograph_cli import torch
    >>> torch.distributions.Multinomial(4, torch.tensor([0.25, 0.75])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical._param.shape[-1:], validate_args)

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        made.total_count, made._categorical = self.total_count, self._categorical.expand(batch_shape)
        made._binomial = self._binomial.expand((*batch_shape, *self._event_shape))

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = constraints.dependent_property(
        lambda self: constraints.multinomial(self.total_count), is_discrete=True, event_dim=1
    )

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, torch.ones_like(drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        factorials = torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -torch.inf)] = 0
        return torch.lgamma(value.sum(-1) + 1) - factorials + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n = torch.tensor(self.total_count)
        first = n * self._categorical.entropy() - torch.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probabilities = torch.exp(self._binomial.log_prob(support))
        return first + (probabilities * torch.lgamma(support + 1)).sum([0, -1])
