"""`torch.compiler` and `torch.compile`: nothing is compiled here; code runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .jit import as_it_is

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def compile(model: Any = None, **options: Any) -> Any:
    """`model` itself, or a decorator that gives its function back; a warning once says so."""
    as_it_is("torch.compile", model)
    return (lambda function: function) if model is None else model


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """`fn` itself, or a decorator that gives its function back."""
    return (lambda function: function) if fn is None else fn


def _itself(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` itself."""
    return fn


allow_in_graph = assume_constant_result = _itself


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """None are there."""
    return []


def reset() -> None:
    """Do nothing: nothing is kept that could be forgotten."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no CUDA graphs are recorded."""
