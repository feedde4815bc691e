"""Padding: rows and columns added around the last dimensions."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module

__all__ = [
    f"{kind}Pad{n}d" for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for n in (1, 2, 3)
]


class _PadNd(Module):
    """`padding` is one number for all sides, or (left, right, top, bottom, front, back)."""

    __constants__ = ["padding"]
    _ag_dimensions: int
    _ag_mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._ag_dimensions) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self._ag_dimensions:
            raise ValueError(f"Expected a padding of {2 * self._ag_dimensions} numbers, got {padding}")

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self._ag_mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _ag_mode = "circular"

    def forward(self, input: Any) -> Any:
        with_batch = self._ag_dimensions + 2
        if input.dim() not in (with_batch - 1, with_batch):
            raise ValueError(f"expected {with_batch - 1}D or {with_batch}D input (got {input.dim()}D input)")
        return super().forward(input)


class _ReflectionPadNd(_PadNd):
    _ag_mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _ag_mode = "replicate"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _ag_mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self._ag_mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


_WHAT = {
    _CircularPadNd: "elements from the other end",
    _ReflectionPadNd: "the elements next to the border, mirrored",
    _ReplicationPadNd: "the elements at the border, repeated",
    _ConstantPadNd: "a given value",
    _ZeroPadNd: "zeros",
}
for _base, _what in _WHAT.items():
    for _n in (1, 2, 3):
        _name = _base.__name__[1:].replace("Nd", f"{_n}d")
        globals()[_name] = type(
            _name,
            (_base,),
            {
                "_ag_dimensions": _n,
                "__module__": __name__,
                "__doc__": f"Pads the last {_n} dimensions with {_what}.",
            },
        )
