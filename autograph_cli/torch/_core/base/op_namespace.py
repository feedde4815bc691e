"""All operations by identifier: what formulas call, and the records. operation.py fills them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..operations.operation import Operation, OperationFunction


class Namespace:
    """Functions by name: the kernels of a backend, or all operations."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> OperationFunction: ...
        def __setattr__(self, name: str, run: Callable[..., Any]) -> None: ...

    def __repr__(self) -> str:
        return f"<{len(vars(self))} operations>"


operations = Namespace()
"""Every operation by its identifier (`mul`, `mul_Scalar`): what formulas call as `f` when they are recorded."""
table: dict[str, Operation] = {}
"""Every operation's record, by identifier."""
