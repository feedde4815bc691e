"""Anomaly detection: nodes remember where they were made, and backward looks for nan."""

from __future__ import annotations

from typing import Any

from .._core.base.state import thread_state
from .._core.base.user_warnings import warn
from .grad_mode import count_special


def _set(mode: bool, check_nan: bool) -> None:
    if mode != thread_state.anomaly:
        count_special(1 if mode else -1)
    thread_state.anomaly, thread_state.check_nan = mode, check_nan


class set_detect_anomaly:
    """Turn anomaly detection on or off: at once as a call, for a block as a context manager.

    >>> from autograph_cli import torch
    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = thread_state.anomaly
        self.prev_check_nan = thread_state.check_nan
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _set(self.prev, self.prev_check_nan)


class detect_anomaly:
    """`set_detect_anomaly(True)` for a block, with a warning that it costs time.

    >>> from autograph_cli import torch
    >>> with torch.autograd.detect_anomaly():  # doctest: +SKIP
    ...     torch.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = self.prev_check_nan = False
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        self.prev, self.prev_check_nan = thread_state.anomaly, thread_state.check_nan
        _set(True, self.check_nan)

    def __exit__(self, *_: Any) -> None:
        _set(self.prev, self.prev_check_nan)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return thread_state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection looks for nan."""
    return thread_state.check_nan
