"""The compiled modules of the engine: the same as Python's code, faster.

A wheel has them where a C compiler built them (hatch_build.py). Without them, or with AUTOGRAPH_PURE=1 in the
environment, the engine runs on Python alone and gives the same results.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

FILES = os.path.join("autograph_cli", "torch", "")
"""How tracebacks begin the names of their files, which they know from the root of the project on."""


def compiled(name: str) -> ModuleType | None:
    """The compiled module of this name within the engine, as `_core.fast_tape`; None without it."""
    if os.environ.get("AUTOGRAPH_PURE"):
        return None
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError:
        return None
