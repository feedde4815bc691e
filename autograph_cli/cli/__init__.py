"""The commands, one file each: they parse, call, and show."""

from __future__ import annotations

import contextlib
import functools
import itertools
import signal
import sys
from collections.abc import Generator
from typing import Any, NoReturn


def main(prog_name: str = "autograph") -> NoReturn:
    """Run the command line of this process, and end as it says; on Ctrl-C as Python does, killed by the signal.

    A script is executed by `sys.excepthook`: Python calls that once all frames have been left, so the script has one
    frame beneath it. What is raised here kills the process afterwards, unless the hook raises SystemExit.
    """
    session = _session(prog_name)
    hook: Any = lambda *_: None  # noqa: E731
    scripts = [*itertools.islice(session, 1)]  # from which it is taken: at exit nothing holds the script's globals
    if scripts:
        from autograph_cli.record.run.runner import drive  # only where there is a script to run

        if sys._getframe(1).f_back is None:
            hook = functools.partial(drive, session, scripts)
        else:  # a debugger or `python -m`, which would catch what is raised here
            drive(session, scripts)
    sys.excepthook = hook
    raise KeyboardInterrupt


def _session(prog_name: str) -> Generator[Any, Any, None]:
    """The command line up to a script and on from there; it returns on Ctrl-C, and ends by SystemExit elsewhere."""
    try:
        from autograph_cli.cli.main import main as commands  # here a Ctrl-C while it is imported is seen

        yield from commands.session(prog_name=prog_name)
    except KeyboardInterrupt:
        pass
    except SystemExit as stop:
        if stop.code != -signal.SIGINT:
            raise
    # Python forgets a Ctrl-C when text is executed after it, as imports of the engine do and scripts may.
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")
