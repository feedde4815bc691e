"""`record_function` only: a label on a block of code; profiles are not taken."""

from __future__ import annotations

from typing import Any

from .grad_mode import ContextDecorator


class record_function(ContextDecorator):
    """Label a block; it runs as it would without.

    >>> from autograph_cli import torch
    >>> with torch.autograd.profiler.record_function("step"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        pass

    def clone(self) -> record_function:
        return type(self)(self.name, self.args)
