"""The compiled modules of the engine: the same as Python's code, faster.

A wheel has them where a C compiler built them (hatch_build.py). Without them, or with AUTOGRAPH_PURE=1 in the
environment, the engine runs on Python alone and gives the same results.
"""

from __future__ import annotations

import os
from types import ModuleType

from autograph_cli import pure

FILES = os.path.join("autograph_cli", "torch", "")
"""The beginning of file names in tracebacks of compiled modules, which are relative to the root of the project."""


def compiled(name: str, package: str = __package__) -> ModuleType | None:
    """Return a compiled module of a package, as `_core.running.fast_tape` of the engine; None without it."""
    return pure.compiled(name, package)
