"""Shows an exception of the script with the script's own frames only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import TracebackType

import autograph_cli
from autograph_cli.graph import Source
from autograph_cli.graph.errors import message
from autograph_cli.record.names.source_locations import COMPILED, USER, Sources, is_library, kind_of

OURS = os.path.join(os.path.dirname(autograph_cli.__file__), "")
FROZEN = ("<frozen importlib", "<frozen runpy")


def print_exception(error: BaseException) -> None:
    """Hand the exception to `sys.excepthook`, as Python does, without the frames of autograph and its engine."""
    trim(error)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception as broken:
        trim(broken)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(broken), broken, broken.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def summary(error: BaseException) -> str:
    """The exception in one line; of one that carries the traceback of another process, what that raised.

    >>> summary(ValueError("too small"))
    'ValueError: too small'
    """
    text = message(error).strip()
    lines = text.splitlines()
    if "Traceback (most recent call last):" in text:
        return lines[-1]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def details(error: BaseException) -> str:
    """The other lines of its message, as far as they are few; empty where that carries a traceback.

    >>> details(ValueError("too small\\nby 1"))
    'by 1'
    """
    text = message(error).strip()
    return "" if "Traceback (most recent call last):" in text else "\n".join(text.splitlines()[1:MOST])


MOST = 100


def line_that_raised(error: BaseException) -> Source | None:
    """The innermost line of the script, or of what it imports, that an exception came through."""
    found, traceback = None, error.__traceback__
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if kind_of(code.co_filename) == USER:
            found = Sources(os.path.dirname(main or "")).source((code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found


def trim(error: BaseException) -> None:
    """Drop the frames of autograph and its engine from the exception and from those it is chained to or groups.

    An exception that the engine raised and handled within itself is no longer shown as the context of another.
    """
    for part in _family(error):
        context = part.__context__
        if context is not None and context.__traceback__ is not None and _own(context.__traceback__) is None:
            part.__suppress_context__ = True
    for part in _family(error):
        part.__traceback__ = _own(part.__traceback__)


def _own(traceback: TracebackType | None) -> TracebackType | None:
    """Return it without the frames of autograph, and without those of Python's library that these called."""
    frames: list[TracebackType] = []
    within = False
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.startswith((OURS, COMPILED, *FROZEN)):
            within = bool(frames)
        elif not (within and is_library(file)):
            frames.append(traceback)
            within = False
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _family(error: BaseException) -> Iterator[BaseException]:
    waiting, met = [error], {id(error)}
    while waiting:
        part = waiting.pop()
        yield part
        grouped = part.exceptions if isinstance(part, BaseExceptionGroup) else ()
        related = (part.__cause__, part.__context__, *grouped)
        for other in related:
            if isinstance(other, BaseException) and id(other) not in met:
                met.add(id(other))
                waiting.append(other)
