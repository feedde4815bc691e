"""Maps between random values, with the change of volume that densities need; what inverts, composes and reshapes
them."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

from .._core.base.size import Size
from . import constraints
from .constraints import Constraint
from .utils import sum_rightmost


class Transform:
    """A map with an inverse `inv` and `log_abs_det_jacobian(x, y)`.

    A subclass gives `domain`, `codomain`, `_call`, `_inverse`, `log_abs_det_jacobian` and, if it has one, `sign`. With
    `cache_size=1` the last pair of values is kept, so that the inverse of a result is what it was made of.
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: Any = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """Return how many trailing dimensions are one value, where the domain and the codomain agree."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        result: int = self.domain.event_dim
        return result

    @property
    def inv(self) -> Any:
        """The inverse map; its own inverse is this one."""
        known = None if self._inv is None else self._inv()
        if known is None:
            known = _InverseTransform(self)
            self._inv = weakref.ref(known)
        return known

    @property
    def sign(self) -> Any:
        """1 if it rises, -1 if it falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map with this size of its cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Any) -> Any:
        return self._ag_through(0, x, self._call)

    def _inv_call(self, y: Any) -> Any:
        return self._ag_through(1, y, self._inverse)

    def _ag_through(self, side: int, value: Any, run: Any) -> Any:
        """`run(value)`, or what is known of it; `side` is the position of `value` in the pair that is kept."""
        if self._cache_size == 0:
            return run(value)
        if value is self._cached_x_y[side]:
            return self._cached_x_y[1 - side]
        result = run(value)
        self._cached_x_y = (result, value) if side else (value, result)
        return result

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how much volume grows at `x`, which is mapped to `y`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for a shape of the argument."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for a shape of the result."""
        return shape


class _InverseTransform(Transform):
    """A map the other way round."""

    def __init__(self, transform: Any) -> None:
        super().__init__(transform._cache_size)
        self._inv: Any = transform

    inv = property(lambda self: self._inv)
    sign = property(lambda self: self._inv.sign)
    bijective = property(lambda self: self._inv.bijective)
    domain = constraints.dependent_property(lambda self: self._inv.codomain)
    codomain = constraints.dependent_property(lambda self: self._inv.domain)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Maps one after the other, the first one first."""

    def __init__(self, parts: Sequence[Any], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    bijective = property(lambda self: all(part.bijective for part in self.parts))
    sign = property(lambda self: functools.reduce(operator.mul, (part.sign for part in self.parts), 1))

    def _widened(self, own: Any, reached: int) -> Any:
        """A constraint for events of as many dimensions as the widest part takes."""
        return own if reached == own.event_dim else constraints.independent(own, reached - own.event_dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        reached = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            reached = max(reached + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return self._widened(self.parts[0].domain, reached)

    @constraints.dependent_property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        reached = self.parts[0].domain.event_dim
        for part in self.parts:
            reached = max(reached + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return self._widened(self.parts[-1].codomain, reached)

    @property
    def inv(self) -> Any:
        known = None if self._inv is None else self._inv()
        if known is None:
            known = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, known._inv = weakref.ref(known), weakref.ref(self)
        return known

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return x.new_zeros(x.shape)
        between = [x]
        for part in self.parts[:-1]:
            between.append(part(between[-1]))
        between.append(y)
        terms, dims = [], self.domain.event_dim
        for part, start, end in zip(self.parts, between, between[1:], strict=False):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(start, end), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda shape, part: part.forward_shape(shape), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda shape, part: part.inverse_shape(shape), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last batch dimensions are part of the value: the changes of volume there are added up."""

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    def _independent(self, constraint: Constraint) -> Constraint:
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    domain = constraints.dependent_property(lambda self: self._independent(self.base_transform.domain))
    codomain = constraints.dependent_property(lambda self: self._independent(self.base_transform.codomain))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Any) -> Any:
        self._need(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        self._need(y, self.codomain)
        return self.base_transform.inv(y)

    @staticmethod
    def _need(value: Any, constraint: Any) -> None:
        if value.dim() < constraint.event_dim:
            raise ValueError("Too few dimensions on input")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The trailing dimensions in another shape; ValueError for one of another number of elements."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if prod(self.in_shape) != prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape))
    )

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)
        )

    def _call(self, x: Any) -> Any:
        return x.reshape(self._swapped(x.shape, self.in_shape, self.out_shape, check=False))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._swapped(y.shape, self.out_shape, self.in_shape, check=False))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    @staticmethod
    def _swapped(shape: Any, given: Size, wanted: Size, check: bool = True) -> Any:
        cut = len(shape) - len(given)
        if check and cut < 0:
            raise ValueError("Too few dimensions on input")
        if check and tuple(shape[cut:]) != tuple(given):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {given}")
        return (*shape[:cut], *wanted)

    def forward_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.out_shape, self.in_shape)
