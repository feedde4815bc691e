"""What parameters and values of distributions must fulfill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Constraint:
    """A set of allowed values: `check` says for each value whether it is one; `event_dim` trailing dimensions are one value."""

    def __init__(self, name: str, check: Callable[[Any], Any], event_dim: int = 0, is_discrete: bool = False) -> None:
        self._name = name
        self.check = check
        self.event_dim = event_dim
        self.is_discrete = is_discrete

    def __repr__(self) -> str:
        return self._name


real = Constraint("Real()", lambda x: x == x)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), is_discrete=True)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda x: x > 0.0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda x: x >= 0.0)
unit_interval = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda x: (x >= 0.0) & (x <= 1.0))
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda x: (x == x).all(-1), event_dim=1)
positive_vector = Constraint(
    "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda x: (x > 0.0).all(-1), event_dim=1
)
lower_cholesky = Constraint(
    "LowerCholesky()", lambda x: (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1), event_dim=2
)


def _positive_definite(x: Any) -> Any:
    from ... import torch

    return ((x - x.mT).abs().flatten(-2).amax(-1) <= 1e-6) & (torch.linalg.cholesky_ex(x).info == 0)


positive_definite = Constraint("PositiveDefinite()", _positive_definite, event_dim=2)


def interval(lower: Any, upper: Any) -> Constraint:
    """From `lower` to `upper`, both included."""
    return Constraint(f"Interval(lower_bound={lower}, upper_bound={upper})", lambda x: (x >= lower) & (x <= upper))


def integer_interval(lower: Any, upper: Any) -> Constraint:
    """The integers from `lower` to `upper`, both included."""
    return Constraint(
        f"IntegerInterval(lower_bound={lower}, upper_bound={upper})",
        lambda x: (x % 1 == 0) & (x >= lower) & (x <= upper), is_discrete=True,
    )  # fmt: skip


def counts(total: int) -> Constraint:
    """Counts of a multinomial draw."""
    return Constraint(
        f"Multinomial(upper_bound={total})", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= total), event_dim=1, is_discrete=True
    )
