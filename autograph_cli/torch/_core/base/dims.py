"""Dimensions as PyTorch counts them: negative ones from the end, each at most once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..._compiled import compiled
from .errors import refused
from .size import Size


class _NotGiven:
    """The default of a dimension where None is another call, of which PyTorch makes another node."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN = _NotGiven()


class Given(int):
    """A number worked out from what was given (a negative dimension, the open end of a slice), which PyTorch's nodes
    show."""

    given: int | None


@functools.lru_cache(4096)
def given(number: int, shown: int | None) -> Given:
    """`number`, of which nodes show what was given in its place."""
    result = Given(number)
    result.given = shown
    return result


class GivenSizes(tuple[int, ...]):
    """Several numbers worked out from what was given (no stride, one number for all dimensions), likewise."""

    given: tuple[int, ...] | None


def given_sizes(sizes: Iterable[int], shown: tuple[int, ...] | None) -> GivenSizes:
    """`sizes`, of which nodes show what was given in their place."""
    result = GivenSizes(sizes)
    result.given = shown
    return result


def _wrap_one(dim: int, ndim: int, scalar_ok: bool = True) -> int:
    """`dim` counted from the front; an IndexError in PyTorch's words if it is out of range."""
    return _wrapped(dim, ndim, scalar_ok) if dim.__class__ is int else _wrap(dim, ndim, scalar_ok)


def _wrap(dim: int, ndim: int, scalar_ok: bool) -> int:
    if dim.__class__ is bool:
        raise refused(TypeError, "a dimension must be int, not bool")
    n = max(ndim, 1) if scalar_ok else ndim
    if not -n <= dim < n:
        raise refused(IndexError, f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return given(dim + n, int(dim)) if dim < 0 else dim


_wrapped = functools.lru_cache(4096)(_wrap)


def wrap_all(dims: Any, ndim: int, twice: str = "dim {} appears multiple times in the list of dims") -> tuple[int, ...]:
    """Several dimensions, or one, counted from the front; a RuntimeError, in the words of `twice`, if one is named
    twice."""
    if not isinstance(dims, (int, tuple, list)):
        raise refused(TypeError, f"dim must be a tuple of ints, not {type(dims).__name__}")
    given = (dims,) if isinstance(dims, int) else tuple(dims)
    return (_wrapped_all if WHOLE.issuperset(map(type, given)) else _wrap_all)(given, ndim, twice)


def _wrap_all(dims: tuple[Any, ...], ndim: int, twice: str) -> tuple[int, ...]:
    wrapped = tuple(wrap(d if d.__class__ is bool else d.__index__(), ndim) for d in dims)
    for i, d in enumerate(wrapped):
        if d in wrapped[:i]:
            raise RuntimeError(twice.format(d))
    return wrapped


_wrapped_all = functools.lru_cache(4096)(_wrap_all)
WHOLE = frozenset((int,))
"""The class of numbers that a cache may be asked with, for they equal no other."""


_SEQUENCES = frozenset((tuple, list, Size))


def _sizes(args: Any) -> tuple[int, ...]:
    """`view(2, 3)` and `view((2, 3))` alike."""
    if len(args) == 1:
        one = args[0]
        if one.__class__ in _SEQUENCES or (
            not isinstance(one, int) and hasattr(one, "__iter__") and getattr(one, "ndim", True)
        ):
            args = one
    given = tuple(args)
    return given if WHOLE.issuperset(map(type, given)) else tuple([x.__index__() for x in given])


_fast: Any = compiled("_core.arguments.fast_checks")
wrap: Callable[..., int] = _fast.wrapping(_wrapped, _wrap_one) if _fast else _wrap_one
sizes: Callable[[Any], tuple[int, ...]] = _fast.reading_sizes(_sizes) if _fast else _sizes


def infer(size: Iterable[int], numel: int) -> tuple[int, ...]:
    """A shape with its -1 worked out from the number of elements."""
    return _infer(numel, *size)


@functools.lru_cache(4096, typed=True)  # a size that is no whole number is refused, though it equals one
def _infer(numel: int, *shape: int) -> tuple[int, ...]:
    known, unknown = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n}")
        else:
            known *= n
    if unknown is not None and known == 0 and numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if unknown is not None and known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if (unknown is None and known != numel) or (unknown is not None and numel % known):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return shape if unknown is None else (*shape[:unknown], numel // known, *shape[unknown + 1 :])


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to; a RuntimeError in PyTorch's words if there is none."""
    return _broadcast(*map(tuple, shapes))


@functools.lru_cache(4096)
def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    ndim = max(map(len, shapes), default=0)
    out = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(reversed(shape), 1):
            if out[-i] == 1:
                out[-i] = n
            elif n not in (1, out[-i]):
                raise RuntimeError(
                    f"The size of tensor a ({out[-i]}) must match the size of tensor b ({n}) at non-singleton "
                    f"dimension {ndim - i}"
                )
    return tuple(out)
