"""`autograph check --independence`: what of a model's result hangs on what it was given."""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from autograph_cli.cli.printing import say
from autograph_cli.record.measure.independence import Calls, Influence, influences
from autograph_cli.record.run import runner


def check_independence(file: str, args: tuple[str, ...], engine: str, *, as_json: bool) -> int:
    """Run a script, call its models again, and say what hangs on what it should not; the exit code."""
    found: list[Influence] = []
    unchecked: list[str] = []
    calls = Calls()

    def before(stack: contextlib.ExitStack) -> None:
        stack.enter_context(calls.on(importlib.import_module("torch")))

    def after(stack: contextlib.ExitStack) -> None:
        stack.close()
        for call in calls.found.values():
            try:
                found.extend(influences(sys.modules["torch"], call, text, _line))
            except Exception as error:  # the model is the script's own, and may refuse what it is given
                unchecked.append(f"{call.name} was not checked: {type(error).__name__}: {error}")

    text = Path(file).read_text("utf-8", errors="replace")
    with contextlib.ExitStack() as stack, contextlib.redirect_stdout(sys.stderr):
        target = runner.Target.of(file, args)
        result = runner.run(
            target, before=lambda: before(stack), after=lambda _: after(stack), served=engine == "builtin"
        )
    shown = [_told(one, Path(file).parent) for one in found]
    if as_json:
        say(json.dumps(to_builtins(shown), indent=2))
    else:
        _say(shown, [call.name for call in calls.found.values()], unchecked)
    return result.exit_code or int(bool(found))


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).strip()


def _told(one: Influence, folder: Path) -> Influence:
    source = one.source
    return one if source is None else replace(one, source=replace(source, file=os.path.relpath(source.file, folder)))


def _say(found: Sequence[Influence], models: Sequence[str], unchecked: Sequence[str]) -> None:
    for one in found:
        place = "" if one.source is None else f"{one.source.file}:{one.source.line}: "
        say(f"{place}{one.said}.")
    for said in unchecked:
        say(said)
    if not models:
        say("It called no module that learns.")
    elif not found and not unchecked:
        say(f"{', '.join(models)}: examples are apart, and each input and parameter counts.")
