"""The engines that a recorder can hear, and the protocol that they share."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from autograph_cli import AutographError

if TYPE_CHECKING:
    from autograph_cli.engines.protocol import Connect

NAMES = ("builtin", "torch", "auto")
"""The values of `--engine`: the engine of this package, the installed PyTorch, or PyTorch if there is one."""
_NOT_INSTALLED = "PyTorch is not installed here: pip install torch, or take --engine builtin."

_NOT_IMPORTED = "This PyTorch cannot be recorded ({}): take PyTorch 2.5 or newer, or --engine builtin."


class EngineError(AutographError):
    """An engine that cannot be used here."""


def chosen(name: str) -> str:
    """The engine that a name stands for.

    >>> chosen("builtin")
    'builtin'
    """
    if name != "auto":
        return name
    return "builtin" if importlib.util.find_spec("torch") is None else "torch"


def check(name: str) -> None:
    """Raise `EngineError` where this engine is not installed; nothing is imported."""
    if name == "torch" and importlib.util.find_spec("torch") is None:
        raise EngineError(_NOT_INSTALLED)


def connect(name: str) -> Connect:
    """Return what connects a recorder to this engine; raises `EngineError` where it is not installed or too old."""
    if chosen(name) == "builtin":
        return _module("builtin.connection").Builtin  # type: ignore[no-any-return]
    try:
        return _module("pytorch.connection").PyTorch  # type: ignore[no-any-return]
    except ImportError as error:
        if (error.name or "").startswith("autograph_cli"):
            raise
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        raise EngineError(_NOT_INSTALLED if absent else _NOT_IMPORTED.format(error)) from None


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
