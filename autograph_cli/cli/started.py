"""Records a process that others start, from when PyTorch has been imported until the process ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from autograph_cli import AutographError, engines
from autograph_cli.cli.run import run, steps_of
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import rank_store, store
from autograph_cli.record.run.placement import Placement
from autograph_cli.record.run.runner import TargetError
from autograph_cli.record.run.tracebacks import summary

NAME = "AUTOGRAPH"


def start(folder: Path) -> None:
    """Begin to record, as the variable AUTOGRAPH says; the trace is kept from this folder."""
    try:
        options = _options(os.environ.get(NAME, ""))
        connection = engines.connect("torch")
    except AutographError as error:
        print(f"autograph: nothing is recorded. {error}", file=sys.stderr)
        return
    steps = steps_of(options["steps"], options["record"])
    recorder = Recorder(steps, _label(), record=options["record"], engine=connection)
    recorder.start()
    atexit.register(_finish, recorder, options, folder, os.getpid())


def _options(text: str) -> dict[str, Any]:
    """The options of `autograph run` that the variable has."""
    words = [] if text.strip() in ("1", "true", "yes", "on") else shlex.split(text)
    try:
        return run.make_context("autograph run", [*words, "-"]).params
    except click.ClickException as error:
        raise TargetError(f"{NAME} must be 1 or options of `autograph run`: {error.format_message()}") from None


def _label() -> str:
    """Return how the trace names what runs: the module, or the file."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    return str(spec.name) if spec is not None else Path(getattr(main, "__file__", None) or sys.argv[0]).name


def _finish(recorder: Any, options: dict[str, Any], folder: Path, process: int) -> None:
    """Keep the trace; of several processes that run together, the last one that ends joins the traces of all."""
    if os.getpid() != process:
        return  # a child that was forked
    error, place = getattr(sys, "last_value", None), Placement.here()
    trace = recorder.finish(vars(sys.modules["__main__"]))
    trace = replace(trace, failure="" if error is None else summary(error))
    if place is None and not store.has_graph(trace):
        return
    output = options["output"]
    try:
        if place is not None:
            where = _joined(trace, place, folder, output)
        else:
            where = store.keep(trace, folder) if output is None else store.save(trace, folder / output)
    except (AutographError, OSError) as failed:
        print(f"autograph: {failed}", file=sys.stderr)
        return
    if where is not None and not options["quiet"]:
        with contextlib.suppress(Exception):  # stderr may be closed
            steps = f"{trace.ended:,} step{'s' * (trace.ended != 1)}, {len(trace.steps)} kept"
            print(f"autograph: {trace.script}, {steps}: {where}", file=sys.stderr)


def _joined(trace: Any, place: Any, folder: Path, output: Path | None) -> Path | None:
    shared: Path = place.folder(store.made(folder))
    shared.mkdir(parents=True, exist_ok=True)
    rank_store.write_part(replace(trace, rank=place.rank, ranks=place.size), shared)
    if len(rank_store.parts(shared)) < place.size:
        return None
    goal = store.made(folder) / store.OF_RANKS if output is None else folder / output
    rank_store.join(shared, place.size, goal, follow=output is not None)
    if output is None:
        store.forget_others(goal)
    shutil.rmtree(shared, ignore_errors=True)
    return goal
