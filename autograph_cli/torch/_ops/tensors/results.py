"""Results with named fields, which print as PyTorch's do: `torch.return_types.max(values=..., indices=...)`."""

from __future__ import annotations

import collections
from typing import Any

TYPES: dict[str, Any] = {}
"""All such types by name."""


def named_result(name: str, *fields: str) -> Any:
    """A named tuple type that prints under `torch.return_types`."""

    def show(self: Any) -> str:
        lines = ",\n".join(f"{field}={getattr(self, field)!r}" for field in fields)
        return f"torch.return_types.{name}(\n{lines})"

    make: Any = collections.namedtuple
    made = make(name, fields, module="torch.return_types")
    made.__repr__ = show
    return TYPES.setdefault(name, made)
