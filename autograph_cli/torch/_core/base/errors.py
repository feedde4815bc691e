"""The errors that the engine raises on purpose, in PyTorch's words: public functions let them pass as they are (see
`arg_check.py`), and put others, of Python or NumPy, in words of their own."""

from __future__ import annotations

from typing import Any, TypeVar

E = TypeVar("E", bound=Exception)


def refused(kind: type[E], *args: Any) -> E:
    """An error with the engine's mark, of a class that Python and NumPy raise too; a RuntimeError needs no mark."""
    error = kind(*args)
    vars(error)["_refused"] = True
    return error


def is_refusal(error: Exception) -> bool:
    """Return whether an error has the engine's mark, or a class that Python and NumPy do not raise inside the
    engine."""
    kind = type(error)
    return "_refused" in vars(error) or issubclass(kind, _UNMARKED) or kind.__module__.partition(".")[0] in _PACKAGES


_UNMARKED = (RuntimeError, AssertionError, Warning)
_PACKAGES = (__name__.partition(".")[0], "torch")
"""Packages of the engine's own classes, also under the name that they have while a script runs."""
