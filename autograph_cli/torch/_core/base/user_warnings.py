"""Warnings that point to the line of the script, however many of the engine's functions are between."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

_CONTEXTS = str(contextlib.__file__)
_PACKAGE = os.path.dirname(os.path.abspath(__file__)).removesuffix(os.path.join("torch", "_core", "base"))


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Give a warning at the innermost line that is not the engine's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, _CONTEXTS)):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_given: set[str] = set()
always = [False]
"""True if `warn_once` warns every time (`torch.set_warn_always`)."""


def warn_once(message: str, about: str = "") -> None:
    """`warn`, once in a process; `about` is what warnings have in common of which only the first is given."""
    if always[0] or (about or message) not in _given:
        _given.add(about or message)
        warn(message)
