"""Settings that scripts make. The engine computes at full precision and repeatably, whatever they say."""

from __future__ import annotations

from typing import Any

from ._arrays import cuda
from ._core.base import user_warnings
from ._core.base.user_warnings import warn
from ._kernels import threads

_settings: dict[str, Any] = {
    "interop": 1,
    "deterministic": False,
    "warn_only": False,
    "precision": "highest",
}
_MODES = ("default", "warn", "error")


def _count(name: str, number: Any) -> int:
    if not isinstance(number, int):
        raise RuntimeError(f"{name} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return number


def get_num_threads() -> int:
    """Return how many threads share products of matrices and the elements of large arrays, at most."""
    return threads.count


def set_num_threads(number: int) -> None:
    """Share products of matrices and large arrays among so many threads; RuntimeError for a number that is
    not positive."""
    threads.use(_count("set_num_threads", number))


def get_num_interop_threads() -> int:
    """Return what `set_num_interop_threads` was told."""
    return int(_settings["interop"])


def set_num_interop_threads(number: int) -> None:
    """Taken note of; RuntimeError for a number that is not positive."""
    _settings["interop"] = _count("set_num_interop_threads", number)


def set_flush_denormal(mode: bool) -> bool:
    """False: the smallest numbers stay as they are."""
    return False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken note of: all algorithms here are deterministic."""
    _settings["deterministic"], _settings["warn_only"] = mode, mode and warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Return what `use_deterministic_algorithms` was told."""
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return what `use_deterministic_algorithms` was told of `warn_only`."""
    return bool(_settings["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 default, 1 warn, 2 error; RuntimeError for others."""
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(len(_MODES)):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` counts."""
    return (1 if _settings["warn_only"] else 2) if _settings["deterministic"] else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Return whether a GPU may multiply float32 in TF32: with "high" and "medium". The CPU computes at the highest
    precision. An unknown name is warned of."""
    if precision in ("highest", "high", "medium"):
        _settings["precision"] = precision
        cuda.allow_tf32(precision != "highest")
    else:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
        )


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` was told."""
    return str(_settings["precision"])


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` was told."""
    return user_warnings.always[0]


def set_warn_always(b: bool) -> None:
    """Return whether warnings that are given once in a process are given each time."""
    user_warnings.always[0] = bool(b)


def compiled_with_cxx11_abi() -> bool:
    """False: nothing is compiled."""
    return False
