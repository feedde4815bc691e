"""Defaults and modes that are put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..base.state import process_state, thread_state
from .autocast import settings as casting

_MODES = tuple(
    """
    grad inference saved_hooks saved_hooks_disabled anomaly check_nan levels forward autocast wrapping function_modes
    overrides_off
    """.split()
)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Restore every default and mode that the block changes."""
    settings, casts = (
        (
            process_state.default_dtype,
            process_state.default_device,
            process_state.special - process_state.float8,
            process_state.transforms,
            process_state.function_modes,
        ),
        dict(vars(casting)),
    )
    modes = [getattr(thread_state, name) for name in _MODES]
    try:
        yield
    finally:
        process_state.default_dtype, process_state.default_device, special, *others = settings
        process_state.special = special + process_state.float8
        process_state.transforms, process_state.function_modes = others
        for name, mode in zip(_MODES, modes, strict=True):
            setattr(thread_state, name, mode)
        vars(casting).update(casts)
