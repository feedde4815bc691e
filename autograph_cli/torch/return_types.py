"""The types of results with several named parts: `torch.return_types.max`."""

from __future__ import annotations

from typing import Any

from . import _missing
from ._ops.tensors import results as _results

all_return_types = list(_results.TYPES.values())


def __getattr__(name: str) -> Any:
    if name in _results.TYPES:
        return _results.TYPES[name]
    raise _missing.error(__name__, name, _results.TYPES)
