"""The few names of PyTorch's compiled module that scripts mention."""

from __future__ import annotations

from ._ops._errors import LinAlgError as _LinAlgError

__all__ = ("_LinAlgError",)
