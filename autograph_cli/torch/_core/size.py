"""`torch.Size`: a tuple of lengths."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """The shape of a tensor; a tuple that prints as `torch.Size([2, 3])`."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(tuple(other), self))

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)
