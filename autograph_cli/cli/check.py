"""`autograph check`: derivatives against finite differences, where the script used them."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from autograph_cli import engines
from autograph_cli.cli import check_many, completion
from autograph_cli.cli.check_independence import check_independence
from autograph_cli.cli.options import SCRIPTS, Real, UsageError, Whole, engine_of, engine_option, sweep_options
from autograph_cli.cli.printing import say
from autograph_cli.cli.targets import name_after, target_options
from autograph_cli.record.graphs.applied import Applied, Listening, wrong_nodes
from autograph_cli.record.measure.finite_difference import CannotCheck, Checked
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner
from autograph_cli.testing import scripts

WRONG = 1
"""The exit code where a derivative is wrong."""
UNCHECKED = 2
"""The exit code where what was asked for cannot be checked."""
LISTED = 12


class Verdict(Struct, frozen=True):
    """The result of checking one Function, operator, module or function."""

    kind: str
    name: str
    orders: tuple[Checked, ...] = ()
    unchecked: str = ""
    """The reason why it was not checked."""
    because: tuple[str, ...] = ()
    """The nodes in it that are wrong, and where a gradient is cut."""

    @property
    def good(self) -> bool:
        """True if no derivative of it is wrong."""
        return all(one.good for one in self.orders)


@click.command
@click.argument("file", required=False, metavar="FILE.py[::FUNCTION] | FILES", shell_complete=completion.file)
@click.argument("name", required=False)
@click.argument("args", nargs=-1, metavar="[-- ARGS...]")
@click.option("--order", type=Whole(1, 4), default=2, show_default=True, help="Derivatives up to this one.")
@click.option("--limit", type=Real(0), default=20, show_default=True, help="Seconds for each.")
@click.option("--json", "as_json", is_flag=True, help="A list of objects on stdout.")
@click.option(
    "--independence", is_flag=True, help="Check that examples, times, inputs and parameters count as they should."
)
@engine_option
@target_options("file")
@sweep_options("Of several files, how many")
@click.pass_context
def check(
    ctx: click.Context,
    target: runner.Target | None,
    file: str | None,
    name: str | None,
    args: tuple[str, ...],
    order: int,
    limit: float,
    as_json: bool,
    independence: bool,
    engine: str | None,
    jobs: int,
    over_mpi: bool,
) -> None:
    """Run FILE, and check what it used that has a derivative of its own: custom Functions, custom operators, and
    modules whose class is not PyTorch's. With NAME that one alone; with FILE.py::FUNCTION a function of the script.

    Each is called again with the arguments that the script gave it, in float64. The first derivative is compared with
    differences of the values, the second with differences of the first. Where the derivative from the left is not that
    from the right, there is a kink, which is counted and not compared. The exit code is 1 where a derivative is wrong,
    and 2 where what was asked for cannot be checked.

    With --independence the models of FILE are called again with one part of their inputs changed: are the examples of a
    batch apart, does the future leak through a mask, does each input and each parameter count? The exit code is 1 where
    something does not.

    \b
      autograph check expr.py
      autograph check expr.py Sinh --order 3
      autograph check train.py::loss_of
      autograph check train.py --independence
      autograph check -m package.train    a module, as in python -m; -c CODE is code
      autograph check -j 4 samples/       each script in a process of its own
    """
    target, name = name_after(target, name, args)
    if file is not None and (target is None or target.kind == "file"):
        names = [file, *([] if name is None else [name, *args])]
        if not independence and (jobs > 1 or over_mpi or check_many.are_many(names)):
            options = list(check_many.options_of(order, limit, as_json, engine))
            ctx.exit(check_many.check(names, options, as_json, jobs, over_mpi))
    elif jobs > 1 or over_mpi:
        raise UsageError("-j and --mpi are for files.")
    target, script, function = _chosen(target, file, args, ctx)
    if independence:
        ctx.exit(check_independence(target, engine_of(engine), as_json=as_json))
    verdicts: list[Verdict] = []
    told = _Told(as_json)
    listening = Listening(script, function)

    def before(stack: contextlib.ExitStack) -> None:
        stack.enter_context(listening.on(importlib.import_module("torch"), engines.connect(chosen)))

    def after(stack: contextlib.ExitStack) -> None:
        stack.close()
        wanted = [applied for applied in listening.found if name is None or _is_named(applied, name)]
        told.begin(wanted)
        for applied in wanted:
            verdicts.append(_verdict(sys.modules["torch"], applied, order, limit, engines.connect(chosen)))
            told.tell(verdicts[-1])

    chosen = engine_of(engine)
    served = chosen == "builtin"
    with contextlib.ExitStack() as stack, contextlib.redirect_stdout(sys.stderr):
        result = runner.run(target, before=lambda: before(stack), after=lambda _: after(stack), served=served)
    if not verdicts and not result.exit_code:
        _refuse_nothing(target.label, name, listening)
    told.close(verdicts)
    unchecked = UNCHECKED if (name or function) and any(one.unchecked for one in verdicts) else 0
    wrong = WRONG if any(not one.good for one in verdicts) else 0
    ctx.exit(result.exit_code or wrong or unchecked)


def _chosen(
    target: runner.Target | None, file: str | None, args: tuple[str, ...], ctx: click.Context
) -> tuple[runner.Target, str, str]:
    """The target, the path of its file where a function of it is asked for, and that function."""
    named = file if target is None else target.name
    if named is None:
        raise click.UsageError("Missing argument 'FILE'.", ctx)
    named, _, function = named.partition("::")
    if target is not None and target.kind == "module":
        path = str(scripts.module_path(named).absolute()) if function else named
        return replace(target, name=named), path, function
    if target is not None and target.kind != "file":
        return target, named, ""
    if not named.endswith(SCRIPTS):
        raise UsageError(f"{named} is no script: its name does not end in .py.")
    return target or runner.Target.of(named, args), os.path.abspath(named), function


def _verdict(torch: Any, applied: Applied, order: int, limit: float, connect: Any) -> Verdict:
    try:
        orders = tuple(applied.check(torch, order, time.monotonic() + limit))
    except CannotCheck as why:
        return Verdict(applied.kind, applied.name, unchecked=str(why))
    because: list[str] = []
    if applied.kind in ("module", "function"):
        recorder = Recorder("all", record=("check",), engine=connect)
        because = wrong_nodes(recorder, torch, applied, orders[-1].order)
    return Verdict(applied.kind, applied.name, orders, because=tuple(because))


def _is_named(applied: Applied, name: str) -> bool:
    return name in (applied.name, applied.name.rpartition("::")[2])


def _refuse_nothing(script: str, name: str | None, listening: Listening) -> None:
    """Raise where there is nothing of the name that was asked for, and say what there is."""
    names = list(listening.called) if listening.function else [applied.name for applied in listening.found]
    asked = listening.function or name
    if asked is None:
        return
    what = "called no function" if listening.function else "applied no Function, operator or module"
    near = difflib.get_close_matches(asked, names) or names[:LISTED]
    raise UsageError(f"{script} {what} {asked}; there are: {', '.join(near) or 'none'}.")


class _Told:
    """Prints each verdict when it is there, below it what is being checked, on a terminal."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.stdout = sys.stdout
        self.width = self.kind_width = 0
        self.waiting: list[Applied] = []

    def begin(self, listed: Sequence[Applied]) -> None:
        """These are going to be checked, in this order."""
        self.width = max((len(applied.name) for applied in listed), default=0)
        self.kind_width = max((len(applied.kind) for applied in listed), default=0)
        self.waiting = list(listed)
        self._show()

    def tell(self, verdict: Verdict) -> None:
        """One is done."""
        self._erase()
        self.waiting.pop(0)
        if not self.as_json:
            with contextlib.redirect_stdout(self.stdout):
                say("\n".join(self._lines(verdict)))
        self._show()

    def close(self, verdicts: Sequence[Verdict]) -> None:
        """All are done."""
        if self.as_json:
            said = [{**to_builtins(one), "good": one.good} for one in verdicts]
            say(json.dumps([one | {"orders": [*_orders(one["orders"])]} for one in said], indent=2))
        elif not verdicts:
            say("It applied nothing that has a derivative of its own: no custom Function, operator or module.")

    def _lines(self, verdict: Verdict) -> Iterator[str]:
        head = f"{verdict.kind:<{self.kind_width}}  {verdict.name:<{self.width}}"
        if verdict.unchecked:
            yield f"{head}  not checked: {verdict.unchecked}"
        for one in verdict.orders:
            yield f"{head}  order {one.order}  {_said(one)}"
        for said in verdict.because[:LISTED]:
            yield f"  {said}"

    def _show(self) -> None:
        if sys.stderr.isatty() and self.waiting:
            sys.stderr.write(f"\r\x1b[Kchecking {self.waiting[0].name}, {len(self.waiting)} to do")
            sys.stderr.flush()

    def _erase(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _said(one: Checked) -> str:
    if one.unchecked:
        return f"not checked: {one.unchecked}"
    said = f"right to {one.error:.1e}" if one.good else f"WRONG by {one.error:.1e}: {one.worst}"
    if one.compared < one.wanted:
        said = f"{said}, {one.compared} of {one.wanted} numbers compared within --limit"
    return f"{said}, {one.kinks} kink{'s' * (one.kinks != 1)} left out ({one.kink})" if one.kinks else said


def _orders(orders: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in orders:
        number = None if one["unchecked"] else one["error"]  # NaN is no JSON
        yield {key: value for key, value in one.items() if key != "name"} | {"error": number, "good": not one["worst"]}
