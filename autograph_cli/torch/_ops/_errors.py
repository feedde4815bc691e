"""Errors of linear algebra, and formulas that refuse."""

from __future__ import annotations

from typing import Any

from .._core.operation import Formula


class LinAlgError(RuntimeError):
    """A matrix has no such factor or inverse."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


def not_implemented(name: str) -> Formula:
    """The formula of a derivative that PyTorch does not have either."""

    def refuse(f: Any, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse
