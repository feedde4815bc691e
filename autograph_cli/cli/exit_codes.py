"""The exit codes of diff(1): what goes wrong in a comparison is 2, for 1 means that there is a difference."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from autograph_cli import AutographError
from autograph_cli.graph import GraphError, TraceError


class CommandError(AutographError):
    """Something that cannot be compared."""


@contextmanager
def as_command_error() -> Iterator[None]:
    """Within the block, every error that is shown to a person ends the command with 2."""
    try:
        yield
    except (AutographError, GraphError, TraceError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise CommandError(os_sentence(error)) from error


def os_sentence(error: OSError) -> str:
    """Return an error of the system as a sentence."""
    try:
        os.getcwd()
    except OSError as missing:
        return f"The working directory cannot be used: {missing.strerror}."
    what = f"Cannot use {os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{what}{error.strerror or error}."
