"""The base of all distributions: shapes, checks of parameters and values, and what follows from them."""

from __future__ import annotations

from typing import Any

from .. import _missing
from .._core.base.size import Size
from .._core.base.user_warnings import warn
from .._core.tape.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .constraints import holds
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """`batch_shape` independent distributions of values of `event_shape`.

    A subclass gives `arg_constraints`, `support`, `log_prob`, and `rsample` (or `sample`, where samples have no
    gradient). ValueError for parameters that it does not have.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._ag_checked_constraints().items():
                self._ag_check_parameter(name, constraint)

    def _ag_checked_constraints(self) -> dict[str, Any]:
        """Return the constraints of parameters that are given and that can be checked by themselves."""
        try:
            known = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{_public(type(self))} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return {}
        return {
            name: constraint
            for name, constraint in known.items()
            if not constraints.is_dependent(constraint)
            and (name in self.__dict__ or not isinstance(getattr(type(self), name, None), lazy_property))
        }

    def _ag_check_parameter(self, name: str, constraint: Any) -> None:
        value = getattr(self, name)
        if not holds(constraint.check(value.detach())):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Return whether parameters and values are checked where nothing else is said."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """Return what each parameter must fulfill."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Return what values fulfill."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The value of the highest density."""
        raise NotImplementedError(f"{_public(type(self))} does not implement mode")

    @property
    def variance(self) -> Any:
        """The expected square of the distance to the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without gradient, `sample_shape` of them for each distribution."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """`sample((n,))`, deprecated."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of a value up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value up to which there is the probability `value`."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that there are."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """e to the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, expanded to another batch shape.

        NotImplementedError for a subclass of a script that has an `__init__` of its own and no `expand`.
        """
        result = self._ag_blank(_instance)
        self._ag_expand_into(result, Size(batch_shape))
        result._batch_shape, result._event_shape, result._validate_args = (
            Size(batch_shape),
            self._event_shape,
            self._validate_args,
        )
        return result

    def _ag_blank(self, instance: Any) -> Any:
        own = next(
            cls for cls in type(self).__mro__ if _missing.public(cls.__module__).startswith("torch.distributions")
        )
        return self._get_checked_instance(own, instance)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return what an `expand` of a script fills: a new distribution, unless one is given.

        NotImplementedError for one of another `__init__` than that of `cls`, which has the `expand`.
        """
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return object.__new__(type(self))

    def _ag_expand_into(self, made: Any, batch_shape: Size) -> None:
        """Every parameter, and every distribution that this one is made of, expanded."""
        dims = len(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                value = value.expand(batch_shape + tuple(value.shape[dims:]))
            elif isinstance(value, Distribution):
                value = value.expand(batch_shape + tuple(value.batch_shape[dims:]))
            made.__dict__[name] = value

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """ValueError for a value that is no tensor, of another shape, or outside the support."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.shape) - len(self._event_shape)
        if tuple(value.shape[start:]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        for a, b in zip(reversed(tuple(value.shape)), reversed(tuple(self._extended_shape())), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{self._extended_shape()}."
                )
        self._ag_check_support(value)

    def _ag_check_support(self, value: Any) -> None:
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{_public(type(self))} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not holds(support.check(value.detach())):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _public(cls: type) -> str:
    """A class as it shows itself in a script."""
    return f"<class '{_missing.public(cls.__module__)}.{cls.__qualname__}'>"
