"""PyTorch's warnings, which name the line of the script that asked for what they warn of."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_ENGINE = str(Path(__file__).parents[1])


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the engine."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
