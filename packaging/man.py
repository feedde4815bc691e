"""Writes a man page of each command into a folder: `python packaging/man.py build/man`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click_man.core import generate_man_page

from autograph_cli import __version__
from autograph_cli.cli.main import main


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    group = click.Context(main, info_name="autograph")
    found = {"autograph.1": generate_man_page(group, __version__)}
    for name in main.list_commands(group):
        command = main.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=group)
        found[f"autograph-{name}.1"] = generate_man_page(context, __version__)
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")
