"""Functions that compute with the elements of their arguments, not by operations: under vmap, sample after sample."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.state import thread_state
from ..operations.operation import operations
from ..tape.tensor import Tensor, Wrapped
from .interpreter_stack import BatchLevel, below
from .transforms import Batched, batched, top_level

F = TypeVar("F", bound=Callable[..., Any])


def per_sample(run: F) -> F:
    """The function, called for each sample of batched arguments, and its results stacked."""

    @functools.wraps(run)
    def looped(*args: Any, **kwargs: Any) -> Any:
        level = top_level((*args, *kwargs.values())) if thread_state.levels else None
        if not isinstance(level, BatchLevel):
            return run(*args, **kwargs)
        if not level.size:
            raise RuntimeError(f"vmap: {run.__name__} goes sample by sample, and a batch of size 0 has none")
        with below(level):
            rows = [
                looped(*(sample(level, x, i) for x in args), **{k: sample(level, x, i) for k, x in kwargs.items()})
                for i in range(level.size)
            ]
            return stacked(level, rows)

    return looped  # type: ignore[return-value]


def sample(level: BatchLevel, x: Any, index: int) -> Any:
    """One sample of a tensor, or of the tensors of a list."""
    if isinstance(x, Batched) and x._ag_level is level:
        return operations.select(x._ag_value, x._ag_bdim, index)
    if isinstance(x, (tuple, list)) and any(isinstance(t, Wrapped) for t in x):
        return [sample(level, t, index) for t in x]
    return x


def stacked(level: BatchLevel, rows: list[Any]) -> Any:
    """The results of all samples as one batched result."""
    first = rows[0]
    if isinstance(first, Tensor):
        return batched(level, operations.stack(rows, 0), 0)
    columns = [stacked(level, list(column)) for column in zip(*rows, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
