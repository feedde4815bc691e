"""The switch that leaves the compiled modules alone. The build reads it too, from this file alone (hatch_build.py)."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

SWITCH = "AUTOGRAPH_PURE"
OFF = ("", "0", "false", "no", "off")


def is_pure() -> bool:
    """Return whether the environment asks for Python alone."""
    return os.environ.get(SWITCH, "").strip().lower() not in OFF


def compiled(name: str, package: str) -> ModuleType | None:
    """Return a compiled module of a package; None without it."""
    if is_pure():
        return None
    try:
        return importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return None
