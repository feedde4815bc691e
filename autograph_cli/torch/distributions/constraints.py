"""Constraints of parameters and values of distributions: sets of numbers, vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import torch
from .._arrays.stand_in import whole

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


def holds(valid: Any) -> bool:
    """Return whether a condition holds everywhere; under vmap, for every sample."""
    return bool(whole(valid._ag_raw).all())


class Constraint:
    """A set of allowed values: `check` says for each value whether it is one; `event_dim` trailing dimensions are one
    value."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """A truth for each value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


# ---------------------------------------------------------------- known when there is a distribution


class _Dependent(Constraint):
    """A constraint that depends on other parameters; it cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._facts = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _fact(self, name: str) -> Any:
        if self._facts[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._facts[name]

    is_discrete = property(lambda self: self._fact("is_discrete"))
    event_dim = property(lambda self: self._fact("event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        given = {"is_discrete": is_discrete, "event_dim": event_dim}
        return _Dependent(
            **{name: self._facts[name] if fact is NotImplemented else fact for name, fact in given.items()}
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property whose class has a dependent constraint, and whose instances have the real one."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._facts = {"is_discrete": is_discrete, "event_dim": event_dim}

    def __call__(self, fn: Any) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, **self._facts)


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty

# ---------------------------------------------------------------- with bounds, and without

Check = Callable[..., Any]


def _bounded(
    name: str, check: Check, *bounds: str, is_discrete: bool = False, event_dim: int = 0, shown: bool = True
) -> Any:
    """A class of constraints with bounds, which `check` gets after the value."""

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        given = dict(zip(bounds, args, strict=False)) | named
        if len(args) > len(bounds) or set(given) != set(bounds):
            raise TypeError(f"{name}() takes the arguments {', '.join(bounds)}")
        vars(self).update(given)

    def __repr__(self: Any) -> str:
        return f"{name}({', '.join(f'{b}={getattr(self, b)}' for b in bounds if shown)})"

    members = {
        "__init__": __init__,
        "__repr__": __repr__,
        "is_discrete": is_discrete,
        "event_dim": event_dim,
        "__module__": __name__,
        "check": lambda self, value: check(value, *(getattr(self, b) for b in bounds)),
    }
    return type(f"_{name}", (Constraint,), members)


def _plain(name: str, check: Check, event_dim: int = 0, is_discrete: bool = False, base: type = Constraint) -> Any:
    """A constraint without bounds, the only one of its class."""
    members = {
        "check": lambda self, value: check(value),
        "event_dim": event_dim,
        "is_discrete": is_discrete,
        "__module__": __name__,
    }
    return type(f"_{name}", (base,), members)()


def _whole_number(x: Any) -> Any:
    return x % 1 == 0


LOW, HIGH = "lower_bound", "upper_bound"
greater_than = _bounded("GreaterThan", lambda x, low: low < x, LOW)
greater_than_eq = _bounded("GreaterThanEq", lambda x, low: low <= x, LOW)
less_than = _bounded("LessThan", lambda x, high: x < high, HIGH)
interval = _bounded("Interval", lambda x, low, high: (low <= x) & (x <= high), LOW, HIGH)
half_open_interval = _bounded("HalfOpenInterval", lambda x, low, high: (low <= x) & (x < high), LOW, HIGH)
integer_interval = _bounded(
    "IntegerInterval", lambda x, low, high: _whole_number(x) & (low <= x) & (x <= high), LOW, HIGH, is_discrete=True
)
_integer_greater_than = _bounded(
    "IntegerGreaterThan", lambda x, low: _whole_number(x) & (x >= low), LOW, is_discrete=True
)
multinomial = _bounded(
    "Multinomial",
    lambda x, high: (x >= 0).all(-1) & (x.sum(-1) <= high),
    HIGH,
    is_discrete=True,
    event_dim=1,
    shown=False,
)
boolean = _plain("Boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = _plain("OneHot", lambda x: boolean.check(x).all(-1) & x.sum(-1).eq(1), 1, True)
real = _plain("Real", lambda x: x == x)
simplex = _plain("Simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
nonnegative_integer, positive_integer = _integer_greater_than(0), _integer_greater_than(1)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)

# ---------------------------------------------------------------- matrices


def _is_lower(x: Any) -> Any:
    return (x.tril() == x).flatten(-2).all(-1)


def _is_square(x: Any) -> Any:
    return torch.full(x.shape[:-2], x.shape[-2] == x.shape[-1], dtype=torch.bool)


def _is_symmetric(x: Any) -> Any:
    valid = _is_square(x)
    return torch.isclose(x, x.mT, atol=1e-6).all(-2).all(-1) if holds(valid) else valid


def _if_symmetric(check: Check) -> Check:
    def run(x: Any) -> Any:
        valid = _is_symmetric(x)
        return check(x) if holds(valid) else valid

    return run


def _is_correlation_factor(x: Any) -> Any:
    tolerance = torch.finfo(x.dtype).eps * x.shape[-1] * 10
    units = (torch.linalg.norm(x.detach(), dim=-1) - 1.0).abs().le(tolerance).all(-1)
    return lower_cholesky.check(x) & units


lower_triangular = _plain("LowerTriangular", _is_lower, 2)
lower_cholesky = _plain("LowerCholesky", lambda x: _is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1), 2)
corr_cholesky = _plain("CorrCholesky", _is_correlation_factor, 2)
square = _plain("Square", _is_square, 2)
symmetric = _plain("Symmetric", _is_symmetric, 2, base=type(square))
positive_semidefinite = _plain(
    "PositiveSemidefinite", _if_symmetric(lambda x: torch.linalg.eigvalsh(x).ge(0).all(-1)), 2, base=type(symmetric)
)
positive_definite = _plain(
    "PositiveDefinite", _if_symmetric(lambda x: torch.linalg.cholesky_ex(x).info.eq(0)), 2, base=type(symmetric)
)

# ---------------------------------------------------------------- made of others


def _need(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def _all_of(valid: Any, count: int, wanted: int, dims: int) -> Any:
    """Truths of values as truths of events, which have `count` dimensions more."""
    if dims < count:
        raise ValueError(f"Expected value.dim() >= {wanted} but got {dims}")
    return valid.reshape((*valid.shape[: dims - count], -1)).all(-1)


class _Based(Constraint):
    """Made of one other constraint."""

    def __init__(self, base_constraint: Any) -> None:
        _need(
            isinstance(base_constraint, Constraint),
            f"base_constraint must be a Constraint, got {type(base_constraint).__name__}",
        )
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)


class _IndependentConstraint(_Based):
    """The constraint of a base, for all values of some trailing dimensions."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        n = reinterpreted_batch_ndims
        _need(isinstance(n, int), f"reinterpreted_batch_ndims must be an int, got {type(n).__name__}")
        _need(n >= 0, f"reinterpreted_batch_ndims must be >= 0, got {n}")
        self.reinterpreted_batch_ndims = n

    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of(valid, self.reinterpreted_batch_ndims, self.event_dim, valid.dim())

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Based):
    """The constraint of every component of a mixture."""

    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all_of(valid, self.event_dim, self.event_dim, value.dim())

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Joined(Constraint):
    """One constraint for each part of a dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        _need(all(isinstance(c, Constraint) for c in cseq), "All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _check_dim(self, value: Any) -> None:
        n = value.dim()
        _need(-n <= self.dim < n, f"dim {self.dim} out of range for value with {n} dimensions")


class _Cat(_Joined):
    """For parts of given lengths."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        n = len(self.lengths)
        _need(n == len(self.cseq), f"lengths ({n}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        parts = value.narrow(self.dim, 0, sum(self.lengths)).split(self.lengths, self.dim)
        return torch.cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Joined):
    """For single slices."""

    @property
    def event_dim(self) -> int:
        n: int = super().event_dim
        return n + 1 if self.dim + n < 0 else n

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        return torch.stack(
            [c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim), strict=False)], self.dim
        )


independent, cat, stack = _IndependentConstraint, _Cat, _Stack
real_vector = independent(real, 1)
positive_vector = independent(positive, 1)
