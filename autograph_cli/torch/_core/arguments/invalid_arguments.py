"""PyTorch's messages for a call that fits none of several signatures.

It reads the signatures that it shows once more, as text: of `bool keepdim = False` it takes `False` for the name, the
star for an argument, and types by their names alone. So an argument may be marked that was not what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.class_names import type_name
from .string_hash import told_order

_NUMBERS = {"float": ("float", "int", "long"), "int": ("int", "long")}
"""The types that fit a number."""


def no_match(signatures: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return what was given, and what `signatures` ask for."""
    if len(signatures) > 1:
        lines = "".join(f" * {s}\n{_why(_read(s), args, kwargs)}" for s in signatures)
        return f"got {_given(args, kwargs)}, but expected one of:\n{lines}"
    wanted = _read(signatures[0])
    if unknown := _unknown(wanted, kwargs):
        return f"got unrecognized keyword arguments: {', '.join(unknown)}"
    fits = len(args) + len(kwargs) == len(wanted)
    return f"got {_marked(wanted, args, kwargs) if fits else _given(args, kwargs)}, but expected {signatures[0]}"


def _read(signature: str) -> list[tuple[str, str]]:
    """The type and the name of each argument."""
    pairs = [argument.rpartition(" ") for argument in signature[1:-1].split(", ")]
    return [(kind or name, name) for kind, _, name in pairs]


def _why(wanted: list[tuple[str, str]], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return why a signature with as many arguments does not fit."""
    if len(args) + len(kwargs) != len(wanted):
        return ""
    if unknown := _unknown(wanted, kwargs):
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    return f"      didn't match because some of the arguments have invalid types: {_marked(wanted, args, kwargs)}\n"


def _unknown(wanted: list[tuple[str, str]], kwargs: Mapping[str, Any]) -> list[str]:
    """The names given that none of the last arguments has."""
    known = [name for _, name in wanted[max(len(wanted) - len(kwargs), 0) :]]
    return [name for name in told_order(kwargs) if name not in known]


def _given(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    named = [f"{name}={type_name(kwargs[name])}" for name in told_order(kwargs)]
    end = ", " if kwargs and not args else ""  # as PyTorch does it
    return f"({', '.join([*map(type_name, args), *named])}{end})"


def _marked(wanted: list[tuple[str, str]], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The types given, marked where they are not those wanted."""
    start, stop, good, end = ("\33[31;1m", "\33[0m", "\33[32;1m", "\33[0m") if _terminal() else ("!", "!", "", "")
    parts = []
    for i, (kind, name) in enumerate(wanted):
        x = args[i] if i < len(args) else kwargs[name]
        told = _told(x) if i < len(args) else f"{name}={_told(x)}"
        parts.append(f"{good}{told}{end}" if type_name(x) in _NUMBERS.get(kind, (kind,)) else f"{start}{told}{stop}")
    return f"({', '.join(parts)}{'' if args else ', '})"


def _terminal() -> bool:
    return os.isatty(1) and os.isatty(2)


def _told(x: Any) -> str:
    """The type of an argument, with those of its elements."""
    if not isinstance(x, (tuple, list)):
        return type_name(x)
    inside = ", ".join(map(type_name, x))
    if isinstance(x, list):
        return f"{type_name(x)} of [{inside}]"
    return f"{type_name(x)} of ({inside}{',' * (len(x) == 1)})"
