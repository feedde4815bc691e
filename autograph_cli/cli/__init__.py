"""The commands, one file each: they parse, call, and show."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main(prog_name: str = "autograph") -> NoReturn:
    """Run the command line of this process, and end as it says; on Ctrl-C as Python does, killed by the signal."""
    try:
        from autograph_cli.cli.main import main as commands

        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        code: str | int | None = -signal.SIGINT
    except SystemExit as stop:
        code = stop.code
    if code == -signal.SIGINT:
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    sys.exit(code)
