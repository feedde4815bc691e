"""`torch.Size`: a tuple of lengths."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from operator import index
from typing import Any

from .class_names import type_name
from .errors import refused


class Size(tuple[int, ...]):
    """The shape of a tensor; a tuple that prints as `torch.Size([2, 3])`."""

    __slots__ = ()

    def __new__(cls, lengths: Iterable[Any] = ()) -> Size:
        """TypeError for what is no whole number."""
        given = tuple(lengths)
        for position, n in enumerate(given):
            if n.__class__ is not int and (n.__class__ is bool or not hasattr(n, "__index__")):
                raise refused(
                    TypeError, f"torch.Size() takes an iterable of 'int' (item {position} is '{type_name(n)}')"
                )
        return tuple.__new__(cls, given if all(n.__class__ is int for n in given) else map(index, given))

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return of_shape(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(tuple(other), self))

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


of_shape = functools.partial(tuple.__new__, Size)
"""A `Size` of lengths that need no check."""
