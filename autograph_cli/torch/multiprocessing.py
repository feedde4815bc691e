"""`torch.multiprocessing`: Python's own, in which tensors travel as copies."""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403
from typing import Any

_SHARING = {"file_descriptor", "file_system"}
_chosen = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names that may be set."""
    return set(_SHARING)


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was told."""
    return _chosen[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Taken note of: tensors travel as copies."""
    assert new_strategy in _SHARING
    _chosen[0] = new_strategy


def __getattr__(name: str) -> Any:
    return getattr(multiprocessing, name)
