"""The metadata that `importlib.metadata` finds for the packages that are served."""

from __future__ import annotations

import importlib
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from .imports import SERVED


class ServedDistribution(Distribution):
    """The name and the version of a served package, as an installed one would tell them.

    >>> ServedDistribution("torch").metadata["Name"]
    'torch'
    """

    def __init__(self, name: str) -> None:
        self._served = name

    def read_text(self, filename: str) -> str | None:
        if filename == "top_level.txt":
            return self._served
        if filename != "METADATA":
            return None
        version = importlib.import_module(SERVED[self._served]).__version__
        return f"Metadata-Version: 2.1\nName: {self._served}\nVersion: {version}\n"

    def locate_file(self, path: Any) -> Path:
        return Path(str(importlib.import_module(SERVED[self._served]).__file__)).parent.joinpath(path)
