"""Operator schemas as PyTorch writes them: `sum(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from .errors import refused

REQUIRED: Any = object()
_LITERALS = {"None": None, "True": True, "False": False, "Mean": 1, "inf": float("inf")}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: its name, type (`Tensor`, `Tensor?`, `Tensor[]`, `int[]`, ...), default."""

    name: str
    type: str
    default: Any = REQUIRED
    keyword_only: bool = False
    is_tensor: bool = field(init=False)
    is_list: bool = field(init=False)
    """Whether it is a tensor, or a list of tensors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_tensor", self.type in ("Tensor", "Tensor?"))
        object.__setattr__(self, "is_list", self.type.startswith(("Tensor[", "Tensor?[")))


@dataclass(frozen=True, slots=True)
class Schema:
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
    parameters, keyword_only = [], False
    for part in filter(None, (p.strip() for p in _COMMA.split(match["args"]))):
        if part == "*":
            keyword_only = True
            continue
        parameters.append(_parameter(part, keyword_only))
    return Schema(match["name"], match["overload"] or "", tuple(parameters), _outputs(match["out"] or "Tensor"))


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
