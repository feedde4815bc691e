"""Devices: `torch.device("cpu")`, `torch.device("cuda:0")`."""

from __future__ import annotations

from typing import Any

from .named import Named
from .state import S

KNOWN = ("cpu", "cuda", "meta", "mps", "xpu")


class device(metaclass=Named):
    """Where a tensor lives.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int):
            type, index = "cuda", type
        name, _, number = str(type).partition(":")
        if name not in KNOWN:
            raise RuntimeError(f"Expected one of {', '.join(KNOWN)} device type at start of device string: {type}")
        if number and not number.isdigit():
            raise RuntimeError(f"Invalid device string: '{type}'")
        self.type: str = name
        self.index: int | None = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        check(self)
        _entered.append(S.default_device)
        S.default_device = self
        return self

    def __exit__(self, *_: Any) -> None:
        S.default_device = _entered.pop()


_entered: list[Any] = []
CPU = device("cpu")
META = device("meta")


def check(where: Any) -> device:
    """The device, if the engine has it; an error that names it otherwise (PyTorch's AssertionError for CUDA)."""
    where = where if isinstance(where, device) else device(where)
    if where.type in ("cpu", "meta"):
        return where
    if where.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    raise RuntimeError(f"device {str(where)!r} is not available in autograph's engine")
