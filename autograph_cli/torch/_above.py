"""Imports of modules above the file that needs them: all of them are here, and made when first asked for."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def above(module: str, name: str) -> Any:
    """Return what a module of the engine has under this name: `above("_core.backward", "backward")`."""
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)
