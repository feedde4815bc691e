"""Errors that several families raise, and formulas that refuse."""

from __future__ import annotations

from typing import Any

from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.tape.tensor import Tensor


class LinAlgError(RuntimeError):
    """A matrix has no such factor or inverse."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


def not_implemented(name: str) -> Any:
    """The formula of a derivative that PyTorch does not have either."""

    def refuse(f: Any, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse


def all_tensors(given: Any) -> Any:
    """Return what is given, if it is tensors throughout; a TypeError otherwise."""
    for x in given:
        if not isinstance(x, Tensor):
            i = next(i for i, y in enumerate(given) if y is x)
            raise refused(TypeError, f"expected Tensor as element {i} in argument 0, but got {type_name(x)}")
    return given
