"""`autograph inspect`: all that a tensor of a script knows of itself."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import click

from autograph_cli import engines
from autograph_cli.cli import completion
from autograph_cli.cli.options import UsageError, engine_of, engine_option
from autograph_cli.cli.printing import say
from autograph_cli.cli.targets import name_after, target_options
from autograph_cli.graph.names import visible
from autograph_cli.record.measure.inspecting import Facts, UnknownName, inspected
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner

RECORDED = ("values",)


@click.command
@click.argument("file", required=False, shell_complete=completion.file)
@click.argument("name", required=False, shell_complete=completion.tensor)
@click.argument("args", nargs=-1, metavar="[-- ARGS...]")
@click.option("--json", "as_json", is_flag=True, help="An object on stdout.")
@engine_option
@target_options("file")
@click.pass_context
def inspect(
    ctx: click.Context,
    target: runner.Target | None,
    file: str | None,
    name: str | None,
    args: tuple[str, ...],
    as_json: bool,
    engine: str | None,
) -> None:
    """Run FILE, and show the tensor NAME as it is when FILE is over: its numbers, type, gradient, place in the graph,
    memory and hooks; and from the recorded graph where it was made, who uses it and who keeps it for backward.

    NAME is a variable or what one leads to: w, params[0], model.fc1.weight, w.grad. Of a tensor that is gone by then
    (of a function's variable, or %7), only the graph tells. To look while the script runs, write breakpoint() into
    it.

    \b
      autograph inspect train.py loss
      autograph inspect train.py model.fc1.weight --json -- --epochs 1
    """
    target, name = name_after(target, name, args)
    if target is None and file is not None:
        raise UsageError(f"{file} is no script: its name does not end in .py.")
    if target is None or name is None:
        raise click.UsageError("Missing argument 'NAME'." if target else "Missing argument 'FILE'.", ctx)
    engine = engine_of(engine)
    recorder = Recorder("first,last", target.label, record=RECORDED, engine=engines.connect(engine))
    with contextlib.redirect_stdout(sys.stderr):
        result, trace = runner.record(target, recorder=recorder, engine=engine)
    try:
        facts = inspected(recorder.log.engine, result.scope, trace, name)
    except UnknownName as error:
        error.exit_code = result.exit_code or error.exit_code
        raise
    say(json.dumps(facts, indent=2, ensure_ascii=False) if as_json else "\n".join(_lines(facts)))
    ctx.exit(result.exit_code)


def _lines(facts: Facts) -> list[str]:
    """A line for each fact, and for each item of a list; what is empty is `none`."""
    rows = {key: value for key, value in facts.items() if key != "name"}
    width = max(map(len, rows))
    lines = [visible(str(facts["name"]))]
    for key, value in rows.items():
        items = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
        for number, item in enumerate(items or ["none"]):
            lines.append(f"  {'' if number else key:<{width}}  {visible(item)}")
    return lines


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
