"""The target of a command: a file, standard input, a module with `-m`, or code with `-c`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from autograph_cli.cli.options import SCRIPTS, UsageError
from autograph_cli.record.run import runner

_OPTIONS = (
    click.option("-m", "module", is_flag=True, help="FILE is the name of a module, as in python -m."),
    click.option("-c", "--code", metavar="CODE", help="Run this code, as python -c does, and no FILE."),
)


Function = TypeVar("Function", bound=Callable[..., Any])


def target_options(name: str) -> Callable[[Function], Function]:
    """Add `-m` and `-c` to a command whose argument `name` is a file; it gets `target`, a `runner.Target`, which is
    None where that names no script, beside that argument and `args`, which are for the script."""

    def add(command: Function) -> Function:
        @functools.wraps(command)
        def wrapped(*given: Any, module: bool, code: str | None, args: tuple[str, ...] = (), **options: Any) -> Any:
            file = options[name]
            if code is not None:
                if module:
                    raise UsageError("-m and -c are two ways to say what to run: leave one out.")
                args = args if file is None else (file, *args)
                target: runner.Target | None = runner.Target("code", "-c", args, os.fsencode(code))
                options[name] = None
            elif file is None:
                if module:
                    raise UsageError("-m needs the name of a module.")
                target = None
            else:
                runs = module or file == "-" or file.endswith(SCRIPTS)
                target = runner.Target.of(file, args, module=module) if runs else None
            return command(*given, target=target, args=args, **options)

        for option in reversed(_OPTIONS):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return add


def name_after(
    target: runner.Target | None, name: str | None, args: tuple[str, ...]
) -> tuple[runner.Target | None, str | None]:
    """The target and the name beside it; code stands for FILE, so that the first word after it is the name."""
    if target is None or target.kind != "code":
        return target, name
    return replace(target, args=(*([name] if name else []), *args[1:])), next(iter(args), None)
