"""Categorical distributions of vectors that are 1 at one position."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import OfCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical, Distribution):
    """A draw of a `Categorical` as a vector that is 1 at this position and 0 elsewhere.

    >>> from autograph_cli import torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical._param.shape[-1:], validate_args)

    def _vector(self, index: Any) -> Any:
        return torch.nn.functional.one_hot(index, num_classes=self._categorical._num_events)

    mean = property(lambda self: self.probs)
    mode = property(lambda self: self._vector(self.probs.argmax(dim=-1)).to(self.probs))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Any:
        probs = self.probs
        return self._vector(self._categorical.sample(sample_shape)).to(probs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype).view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        samples, probs = self.sample(sample_shape), self.probs
        return samples + (probs - probs.detach())
