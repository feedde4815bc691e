"""The exit codes of diff(1): what goes wrong in a comparison is 2, for 1 means that there is a difference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autograph_cli import AutographError
from autograph_cli.graph import GraphError, TraceError


class Trouble(AutographError):
    """Something that cannot be compared."""

    exit_code = 2


@contextmanager
def as_trouble() -> Iterator[None]:
    """Within the block, every error that is shown to a person ends the command with 2."""
    try:
        yield
    except (AutographError, GraphError, TraceError) as error:
        raise Trouble(str(error)) from error
