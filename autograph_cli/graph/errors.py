"""Errors of graphs, and of files that should hold one."""

from __future__ import annotations


class GraphError(ValueError):
    """A graph that breaks a rule of its records, or a question that it cannot answer."""


class TraceError(ValueError):
    """A text that is not a readable trace."""


def message(error: BaseException) -> str:
    """Return the message of an exception of a script, whose class may have none to give.

    >>> message(ValueError("too small"))
    'too small'
    """
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"  # as Python prints it
