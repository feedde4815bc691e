"""Signals: their windows."""

from __future__ import annotations

from .. import _missing
from . import windows

__all__ = ["windows"]
_missing.speak_for(windows)
