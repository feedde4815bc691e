"""Settings that scripts make. The engine computes at full precision and repeatably, whatever they say."""

from __future__ import annotations

from typing import Any

_settings: dict[str, Any] = {"threads": 1, "deterministic": False, "precision": "highest"}


def get_num_threads() -> int:
    """What `set_num_threads` was told; the threads of NumPy's own libraries are not counted."""
    return int(_settings["threads"])


def set_num_threads(number: int) -> None:
    """Taken note of; RuntimeError for a number that is not positive."""
    if number <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _settings["threads"] = number


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken note of: all algorithms here are deterministic."""
    _settings["deterministic"] = mode


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return bool(_settings["deterministic"])


def set_float32_matmul_precision(precision: str) -> None:
    """Taken note of: products are always computed at the highest precision. RuntimeError for an unknown name."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return str(_settings["precision"])
