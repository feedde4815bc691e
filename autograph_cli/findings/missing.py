"""Parameters that no gradient reaches."""

from __future__ import annotations

RULES = ()
