"""The commands, one file each: they parse, call, and show."""

from autograph_cli.cli.main import main

__all__ = ["main"]
