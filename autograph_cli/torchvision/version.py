"""The version of torchvision whose behaviour is followed."""

from __future__ import annotations

from . import __version__ as __version__

cuda: str | None = None
