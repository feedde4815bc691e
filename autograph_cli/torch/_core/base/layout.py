"""Memory layouts and formats, as names that print like PyTorch's."""

from __future__ import annotations

from .class_names import Named


class _Constant(metaclass=Named):
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class layout(_Constant):
    """The memory layout of a tensor."""

    __slots__ = ()


class memory_format(_Constant):
    """The order in which dense elements are stored."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
