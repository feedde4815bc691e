"""Distributions of whole numbers: Bernoulli, Categorical, Multinomial."""

from __future__ import annotations

from typing import Any

from .._core.dtypes import int64
from .._core.registry import functions
from .._core.size import Size
from ..nn import functional as F
from . import constraints
from .distribution import Distribution, broadcast_all, clamp_probs


class _ByProbability(Distribution):
    """Distributions that are given by probabilities or by their logarithms; the other is worked out at need."""

    def _need_one(self, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Bernoulli(_ByProbability):
    """1 with probability `probs` (or with log-odds `logits`), else 0. ValueError unless one of both is given.

    >>> from autograph_cli import torch
    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._need_one(probs, logits)
        name = "logits" if probs is None else "probs"
        (given,) = broadcast_all(logits if probs is None else probs)
        self.__dict__[name] = given
        super().__init__(given.shape, (), validate_args)

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if name == "probs" and "logits" in known:
            return known["logits"].sigmoid()
        if name == "logits" and "probs" in known:
            clamped = clamp_probs(known["probs"])
            return clamped.log() - (-clamped).log1p()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def _param(self) -> Any:
        return self.__dict__.get("probs", self.__dict__.get("logits"))

    mean = property(lambda self: self.probs)  # type: ignore[assignment]
    variance = property(lambda self: self.probs * (1 - self.probs))  # type: ignore[assignment]

    def sample(self, sample_shape: Any = ()) -> Any:
        return functions["bernoulli"](self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values = functions["arange"](2, dtype=self._param.dtype).reshape(-1, *([1] * len(self._batch_shape)))
        return values.expand(-1, *self._batch_shape) if expand else values


class Categorical(_ByProbability):
    """One of the numbers from 0 on, with probabilities in proportion to `probs` or to e**logits.

    ValueError unless one of both is given, with at least one dimension.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._need_one(probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.shape[:-1], (), validate_args)

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if name == "probs" and "logits" in known:
            return F.softmax(known["logits"], -1)
        if name == "logits" and "probs" in known:
            return clamp_probs(known["probs"]).log()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        return functions["multinomial"](rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        value = value.to(int64).unsqueeze(-1)
        value, logits = functions["broadcast_tensors"](value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=functions["finfo"](self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = functions["arange"](self._num_events).reshape(-1, *([1] * len(self._batch_shape)))
        return values.expand(-1, *self._batch_shape) if expand else values


class Multinomial(Distribution):
    """How often each number came in `total_count` draws of a `Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = (logits if probs is None else probs).shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)  # type: ignore[assignment]
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))  # type: ignore[assignment]

    def _expand_into(self, made: Any, batch_shape: Any) -> None:
        made.total_count, made._categorical = self.total_count, self._categorical.expand(batch_shape)

    @property
    def support(self) -> Any:  # type: ignore[override]
        return constraints.counts(self.total_count)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, functions["ones_like"](drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = functions["where"]((value == 0) & (logits == -float("inf")), 0.0, logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def __repr__(self) -> str:
        return "Multinomial()"


__all__ = ["Bernoulli", "Categorical", "Multinomial"]
