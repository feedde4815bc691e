"""`torch.utils.hooks`: the handle that takes a hook away."""

from typing import TypeVar

from .._core.tape.node import Handle as RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]
F = TypeVar("F")


def unserializable_hook(f: F) -> F:
    """`f` itself, marked as a hook that files do not keep."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
