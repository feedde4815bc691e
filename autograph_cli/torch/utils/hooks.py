"""`torch.utils.hooks`: the handle that takes a hook away."""

from .._core.node import Handle as RemovableHandle

__all__ = ["RemovableHandle"]
