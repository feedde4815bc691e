"""The base of all distributions: shapes, checks of parameters and values, and what follows from them."""

from __future__ import annotations

from numbers import Number
from typing import Any

from .._core.registry import functions
from .._core.size import Size
from .._core.stand_in import whole
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from .constraints import Constraint

_checks = {"on": __debug__}


def holds(valid: Tensor) -> bool:
    """Whether a condition holds everywhere; under vmap, for every sample."""
    return bool(whole(valid._raw).all())


class Distribution:
    """`batch_shape` independent distributions of values of `event_shape`.

    A subclass gives `arg_constraints`, `support`, `log_prob`, and `rsample` (or `sample`, where samples have no gradient).
    ValueError for parameters that it does not have.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict[str, Constraint] = {}
    support: Any = None

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate_args = _checks["on"] if validate_args is None else validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__:
                    self._check_parameter(name, constraint)

    def _check_parameter(self, name: str, constraint: Constraint) -> None:
        value = self.__dict__[name]
        valid = constraint.check(value.detach())
        if not holds(valid):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where nothing else is said."""
        if value not in (True, False):
            raise ValueError
        _checks["on"] = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
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
        """The same distributions, expanded to another batch shape."""
        made = object.__new__(type(self))
        self._expand_into(made, Size(batch_shape))
        made._batch_shape, made._event_shape, made._validate_args = Size(batch_shape), self._event_shape, self._validate_args
        return made

    def _expand_into(self, made: Any, batch_shape: Size) -> None:
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                made.__dict__[name] = value.expand(batch_shape + tuple(value.shape[len(self._batch_shape) :]))
            else:
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
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {self._extended_shape()}."
                )
        if self.support is not None and not holds(self.support.check(value.detach())):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape. ValueError for anything else."""
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = None if first is None else first.dtype
    made = [v if isinstance(v, Tensor) else functions["tensor"](float(v), dtype=dtype) for v in values]
    return tuple(functions["broadcast_tensors"](*made))


def shape_of(*values: Any) -> Any:
    """The batch shape of parameters: none where all were numbers."""
    return Size() if all(isinstance(v, Number) for v in values) else None


def standard_normal(shape: Any, dtype: Any) -> Any:
    """Normal numbers, drawn as PyTorch draws them."""
    return functions["empty"](shape, dtype=dtype).normal_()


def smallest(dtype: Any) -> tuple[float, float]:
    """(the least positive number, the distance of 1 to the next) of a dtype."""
    info = functions["finfo"](dtype)
    return info.tiny, info.eps


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept away from 0 and 1."""
    eps = smallest(probs.dtype)[1]
    return probs.clamp(min=eps, max=1 - eps)


