"""A list of what a script uses and the engine lacks, printed before the script runs."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from autograph_cli.cli.printing import say
from autograph_cli.record.run import runner
from autograph_cli.record.run.runner import Target, TargetError
from autograph_cli.record.run.scan import Missing, scan

_NAMED = 3
"""The most names that the short warning lists."""


def _other_engine() -> str:
    """Return how to run on PyTorch, where that is installed."""
    if importlib.util.find_spec("torch") is None:
        return ""
    return (
        " The PyTorch that is installed has it: --engine torch, or in pyproject.toml, under [tool.autograph], "
        'engine = "torch".'
    )


def tell_all(target: Target, quiet: bool) -> int:
    """List what is missing on stdout, a line each, and return the exit code: 1 if something is certainly missing.

    Raises `TargetError` for a script that cannot be found or is not Python.
    """
    try:
        missing = _scan(target, packages=True)
    except SyntaxError as error:
        raise TargetError(f"Cannot read {target.name}: line {error.lineno}: {error.msg}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TargetError(f"Cannot read {target.name}: {error}.") from None
    if not quiet:
        for lack in missing:
            say(_line(lack))
        if not missing:
            say(f"{target.label} uses nothing that autograph's engine lacks.")
    return int(any(lack.certain for lack in missing))


def warn(target: Target) -> None:
    """Say on stderr, in a sentence, that names are missing; what cannot be read is for the run to tell."""
    try:
        missing = _scan(target)
    except (OSError, SyntaxError, ValueError, RecursionError, TargetError):
        return
    names = {lack.name: lack for lack in missing if lack.certain}
    if not names:
        return
    told = ", ".join(f"{name} ({_position(lack, target)})" for name, lack in list(names.items())[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    say(
        f"autograph: {target.label} uses what the engine lacks: {told}{more}; it runs as far as it can. "
        f"The option --check-only lists all.{_other_engine()}",
        err=True,
    )


def _scan(target: Target, packages: bool = False) -> list[Missing]:
    if target.kind == "module":
        path = _module_file(target.name)
        return scan(path.read_bytes(), os.fspath(path), Path(), packages=packages)
    folder = Path(target.name).parent if target.kind == "file" else Path()
    name = runner.STDIN if target.kind == "stdin" else target.name
    return scan(runner.read(target), name, folder, packages=packages)


def _module_file(name: str) -> Path:
    """The file of a module below this folder; finding it by import would run the package around it."""
    inner = Path(*name.split("."))
    for path in (inner.with_suffix(".py"), inner / "__main__.py"):
        if path.is_file():
            return path
    raise TargetError(f"There is no module named {name} in this folder.")


def _position(lack: Missing, target: Target) -> str:
    where = f"line {lack.line}" if os.path.basename(lack.file) == target.label else f"{lack.file}:{lack.line}"
    return f"{where}; {lack.advice}" if lack.advice else where


def _line(lack: Missing) -> str:
    what = f"{lack.name} is missing" if lack.certain else f"{lack.name} may be missing: tensors lack it"
    return f"{lack.file}:{lack.line}: {what}{f'; {lack.advice}' if lack.advice else ''}"
