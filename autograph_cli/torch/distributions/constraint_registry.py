"""From unconstrained numbers to those that fulfill a constraint: `biject_to` by a bijection, `transform_to` as is
convenient."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Any]


class ConstraintRegistry:
    """Transforms by class of constraint.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.biject_to(D.constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Make `factory` (or the decorated function) the one for a class of constraints; TypeError for anything
        else."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform onto what fulfills a constraint; NotImplementedError where none is known."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _shifted(bound: str, scale: int) -> Factory:
    """Above a lower bound, or below an upper one."""
    return lambda c: transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), scale)]
    )


def _between(c: Any) -> Any:
    low, high = c.lower_bound, c.upper_bound
    if all(isinstance(bound, Number) for bound in (low, high)) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(loc=low, scale=high - low)]
    )


_ABOVE, _BELOW = _shifted("lower_bound", 1), _shifted("upper_bound", -1)
_BOTH: list[tuple[Any, Factory]] = [
    (constraints.real, lambda c: transforms.identity_transform),
    (constraints.greater_than, _ABOVE),
    (constraints.greater_than_eq, _ABOVE),
    (constraints.less_than, _BELOW),
    (constraints.interval, _between),
    (constraints.half_open_interval, _between),
    (constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform()),
]
_ONTO: list[tuple[Any, Factory]] = [
    (constraints.simplex, lambda c: transforms.SoftmaxTransform()),
    (constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform()),
    (constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform()),
    (constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform()),
]


def _fill(registry: ConstraintRegistry, more: list[tuple[Any, Factory]]) -> None:
    for constraint, factory in [*_BOTH, *more]:
        registry.register(constraint, factory)
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(constraints.cat, lambda c: transforms.CatTransform(list(map(registry, c.cseq)), c.dim, c.lengths))
    registry.register(constraints.stack, lambda c: transforms.StackTransform(list(map(registry, c.cseq)), c.dim))


_fill(biject_to, [(constraints.simplex, lambda c: transforms.StickBreakingTransform())])
_fill(transform_to, _ONTO)
