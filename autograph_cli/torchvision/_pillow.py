"""Pillow, where it is installed: nothing is imported before a picture of PIL is wanted."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def pillow(part: str = "Image") -> Any:
    """A module of Pillow; ModuleNotFoundError where Pillow is not installed."""
    try:
        return importlib.import_module(f"PIL.{part}")
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", f"PIL.{part}"):
            raise
        raise ModuleNotFoundError("torchvision needs Pillow for pictures: pip install pillow", name="PIL") from None


def is_picture(x: Any) -> bool:
    """Return whether `x` is a picture of PIL; there is none before Pillow was imported."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(x, module.Image)
