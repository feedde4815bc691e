"""The version of PyTorch whose behaviour the engine follows."""

from __future__ import annotations

__version__ = "2.13.0+autograph"
cuda: str | None = None
hip: str | None = None
debug = False
