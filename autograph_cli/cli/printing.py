"""Printing: no escape codes out of the text of others, and an error where it cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from typing import TextIO

import click

from autograph_cli import AutographError
from autograph_cli.graph.names import visible_lines


class OutputError(AutographError):
    """Standard output that cannot be written."""


def say(text: object = "", *, err: bool = False, end: str = "\n", style: str | None = None) -> None:
    """Print on stdout or stderr; control characters, and what the stream cannot encode, are written as escapes.

    `style` is `bold` or a colour, in a terminal. Raises `OutputError` where stdout is closed or full; what stderr does
    not take is lost.
    """
    shown = visible_lines(str(text))
    if not err:
        _to_stdout(lambda stdout: stdout.write(_styled(_encodable(shown, stdout), style, stdout) + end))
    elif sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(_styled(_encodable(shown, sys.stderr), style, sys.stderr) + end)
            sys.stderr.flush()


def put(content: bytes) -> None:
    """Write the bytes of a picture or a text to stdout; raises `OutputError` where that is not possible."""

    def write(stdout: TextIO) -> None:
        stdout.flush()
        stdout.buffer.write(content)
        stdout.buffer.flush()

    _to_stdout(write)


def _styled(text: str, style: str | None, stream: TextIO) -> str:
    plain = style is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, **{"bold": True} if style == "bold" else {"fg": style})


def _encodable(text: str, stream: TextIO) -> str:
    """The text with what the stream has no bytes for as escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding)


def _to_stdout(write: Callable[[TextIO], object]) -> None:
    if sys.stdout is None:
        raise OutputError("Cannot write to standard output: it is closed.")
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # nobody reads on: click ends the process as others end then
        _drop(sys.stdout)
        raise OutputError(f"Cannot write to standard output: {error.strerror or error}.") from None


def _drop(stream: TextIO) -> None:
    """Throw away the text that could not be written, which Python would try to write again at its end."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
