"""Distributions of what maps make of other distributions' values."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Values of a base distribution, mapped by transforms one after the other.

    ValueError for what is no transform, or a base with fewer dimensions than the transforms take.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> logistic = D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.SigmoidTransform().inv])
    >>> logistic.log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list) and all(isinstance(t, Transform) for t in transforms):
            self.transforms = transforms
        else:
            text = "a list of Transforms" if isinstance(transforms, list) else f"list, but was {transforms}"
            raise ValueError(f"transforms must be a Transform or {text}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dims, whole = len(base_distribution.event_shape), ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        reached = tuple(whole.forward_shape(shape))
        needed = tuple(whole.inverse_shape(reached))
        if tuple(shape) != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - event_dims])
        if whole.domain.event_dim > event_dims:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - event_dims)
        self.base_dist = base_distribution
        grown = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(reached) - max(whole.codomain.event_dim, event_dims + grown)
        super().__init__(reached[:cut], reached[cut:], validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        made.__dict__.update(self.__dict__)
        shape = (*batch_shape, *self._event_shape)
        for transform in reversed(self.transforms):
            shape = tuple(transform.inverse_shape(shape))
        made.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])

    def _expand_parameters(self, made: Any, batch_shape: Any) -> None:
        """The `_ag_expand_into` of subclasses that keep parameters of their own, of which `_own_transforms` makes the
        transforms."""
        Distribution._ag_expand_into(self, made, batch_shape)
        made.transforms = made._own_transforms()

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def _mapped(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._mapped(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._mapped(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        dims, result, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            result = result - sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return result + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _rising(self, value: Any) -> Any:
        """A probability, or the rest of it where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._mapped(self.base_dist.icdf(self._rising(value)))
