"""The base of all records of a trace, and the lines of scripts, which most of them name."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""A whole number of a trace, which 64 bits hold."""


class Record(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A record of a trace; JSON has those of its fields that differ from their defaults."""


class Source(Record, frozen=True, gc=False):
    """The line of the user's script that made a node."""

    file: str
    line: Count
    text: str = ""
    function: str = ""


Switch = tuple[str, Source]
"""A mode without recording (`no_grad`), and the statement that switches it on."""
