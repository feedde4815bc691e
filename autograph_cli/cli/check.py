"""`autograph check`: the derivatives of custom Functions against finite differences, where the script used them."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from autograph_cli.cli.options import SCRIPTS, UsageError, engine_of, engine_option
from autograph_cli.cli.printing import say
from autograph_cli.record import runner
from autograph_cli.testing import derivatives
from autograph_cli.testing.derivatives import CannotCheck, Checked

WRONG = 1
"""The exit code where a derivative is wrong."""
Applied = dict[str, tuple[Any, tuple[Any, ...]]]
"""The custom Functions that were applied, by name: the class, and the arguments of the first call."""


@click.command(short_help="Compare the derivatives of custom Functions with finite differences.")
@click.argument("file")
@click.argument("name", required=False)
@click.argument("args", nargs=-1, metavar="[-- ARGS...]")
@click.option("--order", type=click.IntRange(1, 4), default=2, show_default=True, help="Derivatives up to this one.")
@click.option("--json", "as_json", is_flag=True, help="A list of objects on stdout.")
@engine_option
@click.pass_context
def check(
    ctx: click.Context,
    file: str,
    name: str | None,
    args: tuple[str, ...],
    order: int,
    as_json: bool,
    engine: str | None,
) -> None:
    """Run FILE, and check each custom Function that it applied, or NAME alone: in float64, at the first point where it
    was used.

    The first derivative is compared with differences of the values, the second with differences of the first. Where
    the derivative from the left is not that from the right, there is a kink, which is counted and not compared. The
    exit code is 1 where a derivative is wrong.

    \b
      autograph check expr.py
      autograph check expr.py Sinh --order 3
    """
    if not file.endswith(SCRIPTS):
        raise UsageError(f"{file} is no script: its name does not end in .py.")
    applied: Applied = {}
    found: list[Checked] = []
    skipped: dict[str, str] = {}

    def after(result: runner.Result) -> None:
        torch = sys.modules["torch"]
        for label, (cls, given) in applied.items():
            if name in (None, label):
                try:
                    found.extend(derivatives.check(torch, label, cls.apply, given, order))
                except CannotCheck as error:
                    skipped[label] = str(error)

    served = engine_of(engine) == "builtin"
    with contextlib.ExitStack() as stack, contextlib.redirect_stdout(sys.stderr):
        result = runner.run(
            runner.Target.of(file, args), before=lambda: _listen(stack, applied), after=after, served=served
        )
    if name is not None and name not in applied:
        near = ", ".join(difflib.get_close_matches(name, applied) or applied) or "none"
        raise UsageError(f"{Path(file).name} applied no custom Function {name}; there are: {near}.")
    say(json.dumps([{**asdict(one), "good": one.good} for one in found], indent=2) if as_json else _table(found))
    for label, why in skipped.items():
        say(f"{label} is not checked: {why}.", err=True)
    ctx.exit(result.exit_code or (WRONG if any(not one.good for one in found) else 0))


def _listen(stack: contextlib.ExitStack, applied: Applied) -> None:
    """Note the first call of each custom Function until the stack is closed."""
    torch: Any = importlib.import_module("torch")
    base = torch.autograd.Function
    original = base.__dict__["apply"]

    def apply(cls: Any, *args: Any, **words: Any) -> Any:
        wanted = any(isinstance(x, torch.Tensor) and x.requires_grad for x in args)
        if wanted and not words and cls.__name__ not in applied:
            copies = (
                x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in args
            )
            applied[cls.__name__] = cls, tuple(copies)
        return original.__get__(None, cls)(*args, **words)

    base.apply = classmethod(apply)
    stack.callback(setattr, base, "apply", original)


def _table(found: list[Checked]) -> str:
    if not found:
        return "No custom Function was applied to a tensor that requires grad."
    width = max(len(one.name) for one in found)
    lines = []
    for one in found:
        said = f"right to {one.error:.1e}" if one.good else f"WRONG by {one.error:.1e}: {one.worst}"
        kinks = f", {one.kinks} kink{'s' * (one.kinks != 1)} left out" if one.kinks else ""
        lines.append(f"{one.name:<{width}}  order {one.order}  {said}{kinks}")
    return "\n".join(lines)
