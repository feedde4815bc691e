"""Maps for the parts of a dimension, one for each."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ... import torch
from . import constraints
from ._maps import Transform
from .utils import sum_rightmost


class _Joined(Transform):
    """The transforms of the parts, along a dimension."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms: list[Any] = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _parts(self, value: Any, name: str) -> Any:
        raise NotImplementedError

    def _check_dim(self, value: Any, name: str) -> None:
        n = value.dim()
        if not -n <= self.dim < n:
            raise AssertionError(f"dim {self.dim} out of range for {name} with {n} dimensions")

    def _each(self, run: Callable[[Any, Any], Any], value: Any, name: str) -> list[Any]:
        self._check_dim(value, "tensor")
        return [run(t, part) for t, part in zip(self.transforms, self._parts(value, name), strict=True)]

    def _log_dets(self, x: Any, y: Any) -> list[Any]:
        rows = zip(self.transforms, self._parts(x, "x"), self._parts(y, "y"), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in rows]


class CatTransform(_Joined):
    """Transforms of parts of given lengths."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths), doc="How long the joined dimension is.")

    def _joined(self, parts: list[Any]) -> Any:
        return constraints.cat(parts, self.dim, self.lengths)

    domain = constraints.dependent_property(lambda self: self._joined([t.domain for t in self.transforms]))
    codomain = constraints.dependent_property(lambda self: self._joined([t.codomain for t in self.transforms]))

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CatTransform(self.transforms, self.dim, self.lengths, cache_size)
        )

    def _parts(self, value: Any, name: str) -> Any:
        self._check_dim(value, name)
        n = value.size(self.dim)
        if n != self.length:
            raise AssertionError(f"{name}.size({self.dim}) = {n} must equal length {self.length}")
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths, strict=True)]

    def _call(self, x: Any) -> Any:
        return torch.cat(self._each(lambda t, part: t(part), x, "x"), dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.cat(self._each(lambda t, part: t.inv(part), y, "y"), dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self.transforms, self._log_dets(x, y), strict=True)
        log_dets = [sum_rightmost(log_det, self.event_dim - t.event_dim) for t, log_det in pairs]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(log_dets, dim=dim) if dim < 0 else functools.reduce(operator.add, log_dets, 0)


class StackTransform(_Joined):
    """Transforms of single slices."""

    domain = constraints.dependent_property(
        lambda self: constraints.stack([t.domain for t in self.transforms], self.dim)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim)
    )

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value: Any, name: str) -> Any:
        self._check_dim(value, name)
        n = value.size(self.dim)
        if n != len(self.transforms):
            raise AssertionError(f"{name}.size({self.dim}) = {n} must equal len(transforms) {len(self.transforms)}")
        return [value.select(self.dim, i) for i in range(n)]

    def _call(self, x: Any) -> Any:
        return torch.stack(self._each(lambda t, part: t(part), x, "x"), dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.stack(self._each(lambda t, part: t.inv(part), y, "y"), dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return torch.stack(self._log_dets(x, y), dim=self.dim)
