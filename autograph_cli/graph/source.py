"""A line of the user's script, as records name it."""

from __future__ import annotations

from msgspec import Struct


class Source(Struct, frozen=True):
    """The line of the user's script that made a node."""

    file: str
    line: int
    text: str = ""
    function: str = ""
