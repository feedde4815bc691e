"""`autograph run`: run a script as `python` does, and keep what autograd recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from autograph_cli import engines
from autograph_cli.cli import completion, lacking, live, tuning
from autograph_cli.cli.options import RECORDABLE, WATCHABLE, RecordType, StepsType, WatchType, engine_of, engine_option
from autograph_cli.cli.printing import say
from autograph_cli.cli.report import print_report
from autograph_cli.findings import explain
from autograph_cli.findings.formats import brief
from autograph_cli.findings.read import scripts_of
from autograph_cli.graph import Trace
from autograph_cli.record import runner, store
from autograph_cli.record.steps import Selection

FAILURES = ("AG0",)
"""The findings that explain an exception."""


@click.command(
    context_settings={"allow_interspersed_args": False}, short_help="Run a script as python does, and record its graph."
)
@click.option("-m", "module", is_flag=True, help="FILE is the name of a module, as in python -m.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the trace here, not in .autograph/.")
@click.option(
    "--steps",
    type=StepsType(),
    default="first,last",
    show_default=True,
    help="Steps to keep: first, last, all, 3, 10:20, or several with commas. "
    "A step ends with a backward pass that frees its graph.",
)
@click.option(
    "--record",
    type=RecordType(),
    default="",
    shell_complete=completion.some_of(*RECORDABLE),
    metavar="LIST",
    help=f"Record this too, for --show and --open: {', '.join(RECORDABLE)}.",
)
@click.option(
    "--watch",
    type=WatchType(),
    default="",
    metavar="LIST",
    shell_complete=completion.some_of(*WATCHABLE),
    help=f"Note a few numbers of each parameter in each step, for render --watch: {', '.join(WATCHABLE)}.",
)
@engine_option
@click.option(
    "--device", metavar="NAME", help="Where tensors are made that name no device: cuda, cuda:1, meta.  [default: cpu]"
)
@click.option("-q", "--quiet", is_flag=True, help="No report.")
@click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Keep the memory of large arrays for the next ones, up to 256 MiB (glibc only), and look for garbage "
    "that is in cycles less often.",
)
@click.option(
    "--check-only",
    is_flag=True,
    help="Run nothing: list what FILE uses and the engine lacks. Ends with 1 if something is missing.",
)
@click.argument("file", shell_complete=completion.file)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    module: bool,
    output: Path | None,
    steps: str,
    record: tuple[str, ...],
    watch: tuple[str, ...],
    engine: str | None,
    device: str | None,
    quiet: bool,
    tune: bool,
    check_only: bool,
    file: str,
    args: tuple[str, ...],
) -> runner.Session[int]:
    """Run FILE as python does, record its autograd graph, and say what was recorded.

    The options of autograph stand before FILE; all that follows FILE is for the script. FILE is - for standard
    input. `import torch` is served by autograph's engine; with --engine torch it is PyTorch. The report is on stderr;
    the exit code is the script's. What FILE uses and autograph's engine lacks is told before it runs; with --check-only
    no more than that.

    \b
      autograph run expr.py
      autograph run --steps all train.py --epochs 3
      autograph run -m package.module
      autograph run - < expr.py
      autograph run --record values,time expr.py
      autograph run --watch gradients,updates train.py
      autograph run --device cuda train.py
      autograph run --check-only train.py
      autograph run --engine torch train.py
    """
    folder = Path.cwd()
    target = runner.Target.of(file, args, module=module)
    if check_only:
        return lacking.tell_all(target, quiet)
    target = replace(target, source=runner.read(target))
    engine = engine_of(engine)
    if engine == "builtin":
        if tune:
            tuning.tune()
        if not quiet:
            lacking.warn(target)
    # Relative to where the command was given: the script may go elsewhere.
    output = None if output is None else folder / output
    from autograph_cli.record.recorder import Recorder  # the engine: the other commands do without

    recorder = Recorder(steps, target.label, record=record, watch=watch, engine=engines.connect(engine))
    shown = contextlib.nullcontext() if quiet else live.line(recorder)
    with _made_on(device, recorder.log.engine.namespace), shown:
        session = runner.recording(target, steps, recorder=recorder, until_exit=True, engine=engine)
        result, trace = yield from session
    try:
        where = store.keep(trace, folder) if output is None else store.save(trace, output)
    except store.StoreError as error:
        elsewhere = " To keep the trace elsewhere: autograph run -o FILE." if output is None else ""
        say(f"Error: {error}{elsewhere}", err=True)
        return result.exit_code or error.exit_code
    if not quiet:
        if trace.failure:
            _explain_failure(trace, folder / target.name)
        print_report(trace, where, folder, Selection.parse(steps).last)
    return result.exit_code


@contextlib.contextmanager
def _made_on(device: str | None, torch: Any) -> Iterator[None]:
    """Within the block, tensors that name no device are made on this one; click's error where it is not there."""
    if device is None:
        yield
        return
    try:
        torch.set_default_device(device)
        torch.empty(0)
    except (AssertionError, RuntimeError) as error:
        torch.set_default_device(None)
        raise click.BadParameter(str(error).partition("\n")[0], param_hint="--device") from None
    try:
        yield
    finally:
        torch.set_default_device(None)


def _explain_failure(trace: Trace, script: Path) -> None:
    """Below the traceback: the finding that explains the exception, in two lines, and the command for more."""
    for finding in explain(trace, scripts_of(trace, script), select=FAILURES)[:1]:
        command = "autograph explain" if store.has_graph(trace) else f"autograph explain {trace.script}"
        say(f"autograph: {brief(finding)} More: {command}", err=True)
