"""The switch that leaves the compiled modules alone. The build reads it too, from this file alone (hatch_build.py)."""

from __future__ import annotations

import os

SWITCH = "AUTOGRAPH_PURE"
OFF = ("", "0", "false", "no", "off")


def is_pure() -> bool:
    """Return whether the environment asks for Python alone."""
    return os.environ.get(SWITCH, "").strip().lower() not in OFF
