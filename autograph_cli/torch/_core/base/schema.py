"""Operator schemas as PyTorch writes them: `sum(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor`."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from .errors import refused

REQUIRED: Any = object()
_LITERALS = {"None": None, "True": True, "False": False, "Mean": 1, "inf": float("inf")}


class Parameter:
    """One argument: its name, type (`Tensor`, `Tensor?`, `Tensor[]`, `int[]`, ...), default."""

    __slots__ = ("default", "is_list", "is_tensor", "keyword_only", "name", "type")

    def __init__(self, name: str, type: str, default: Any, keyword_only: bool) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.keyword_only = keyword_only
        self.is_tensor = type in ("Tensor", "Tensor?")
        self.is_list = type.startswith(("Tensor[", "Tensor?["))
        """True if it is a list of tensors."""


class Schema(NamedTuple):
    """A parsed schema; `outputs` are the names of the results."""

    name: str
    overload: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[str, ...]

    @property
    def identifier(self) -> str:
        return f"{self.name}_{self.overload}" if self.overload else self.name


_HEAD = re.compile(r"(?P<name>\w+)(?:\.(?P<overload>\w+))?\((?P<args>.*?)\)(?:\s*->\s*(?P<out>.+))?$")


def parse(text: str) -> Schema:
    """The schema that `text` says; without an arrow there is one output, `result`."""
    match = _HEAD.match(text)
    if match is None:
        raise refused(ValueError, f"not an operator schema: {text!r}")
    parameters = _parameters(match["args"])
    return Schema(match["name"], match["overload"] or "", parameters, _outputs(match["out"] or "Tensor"))


@functools.cache
def _parameters(text: str) -> tuple[Parameter, ...]:
    """One tuple for all operations that take the same."""
    found, keyword_only = [], False
    for part in filter(None, map(str.strip, _COMMA.split(text))):
        if part == "*":
            keyword_only = True
        else:
            found.append(_parameter(part, keyword_only))
    return tuple(found)


_COMMA = re.compile(r",\s*(?![^\[]*\])")


@functools.cache
def _parameter(part: str, keyword_only: bool) -> Parameter:
    """One record for all operations that declare the same: half of them begin with `Tensor self`."""
    declared, _, default = part.partition("=")
    kind, _, name = declared.strip().rpartition(" ")
    return Parameter(name, kind.strip(), _literal(default) if default else REQUIRED, keyword_only)


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    if text.startswith("["):
        return tuple(_literal(x.strip()) for x in text[1:-1].split(",") if x.strip())
    if text.startswith(("'", '"')):
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        return float(text)


def _outputs(text: str) -> tuple[str, ...]:
    if not text.startswith("("):
        return ("result",)
    parts = [p.strip().split() for p in text[1:-1].split(",")]
    return tuple(p[1] if len(p) > 1 else f"result{i}" for i, p in enumerate(parts))
