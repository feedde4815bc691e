"""`autograph run`: run a script as `python` does, and keep what autograd recorded."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from autograph_cli import engines
from autograph_cli.cli import completion, lacking, live, tuning
from autograph_cli.cli.options import (
    RECORDABLE,
    WATCHABLE,
    Real,
    StepsType,
    Whole,
    WordsType,
    engine_of,
    engine_option,
)
from autograph_cli.cli.printing import say
from autograph_cli.cli.report import print_report
from autograph_cli.cli.targets import target_options
from autograph_cli.graph import Trace
from autograph_cli.record.log.steps import COMPARED, USUAL, Selection
from autograph_cli.record.run import runner, store
from autograph_cli.record.run.placement import PARENT, TIMEOUT, Placement

if TYPE_CHECKING:
    from autograph_cli.record.recorder import Recorder
    from autograph_cli.record.run.ranks import Member

FAILURES = ("AG0",)
"""The findings that explain an exception."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the trace here, not in .autograph/.")
@click.option(
    "--steps",
    type=StepsType(),
    help="Steps to keep: first, last, all, 3, 10:20, 1::100, or several with commas. "
    "A step ends with a backward pass that frees its graph, or an optimizer's step for passes that kept theirs.  "
    f"[default: {USUAL}; {COMPARED} with --record values]",
)
@click.option(
    "--record",
    type=WordsType(RECORDABLE),
    default="",
    shell_complete=completion.some_of(*RECORDABLE),
    metavar="LIST",
    help=f"Record this too, for --show and --inside: {', '.join(RECORDABLE)}.",
)
@click.option(
    "--watch",
    type=WordsType(WATCHABLE),
    default="",
    metavar="LIST",
    shell_complete=completion.some_of(*WATCHABLE),
    help=f"Note a few numbers of each parameter in each step, for render --watch: {', '.join(WATCHABLE)}.",
)
@engine_option
@click.option(
    "--device", metavar="NAME", help="Where tensors are made that name no device: cuda, cuda:1, meta.  [default: cpu]"
)
@click.option(
    "--ranks",
    type=Whole(1),
    metavar="N",
    help="Run the script in N processes, as mpiexec -n N does; what all of them recorded is one trace.",
)
@click.option(
    "--timeout",
    type=Real(0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="With several ranks: how long one may stand still before all are stopped.",
)
@click.option("-q", "--quiet", is_flag=True, help="No report.")
@click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Keep the memory of large arrays for the next ones, up to 256 MiB (glibc only), begin arrays at lines of the "
    "cache, and look for garbage that is in cycles less often.",
)
@click.option(
    "--check-only",
    is_flag=True,
    help="Run nothing: list what FILE uses and the engine lacks. Ends with 1 if something is missing.",
)
@click.argument("file", required=False, shell_complete=completion.file)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@target_options("file")
def run(
    output: Path | None,
    steps: str | None,
    record: tuple[str, ...],
    watch: tuple[str, ...],
    engine: str | None,
    device: str | None,
    ranks: int | None,
    timeout: float,
    quiet: bool,
    tune: bool,
    check_only: bool,
    target: runner.Target | None,
    file: str | None,
    args: tuple[str, ...],
) -> runner.Session[int] | int:
    """Run FILE as python does, record its autograd graph, and say what was recorded.

    The options of autograph stand before FILE; all that follows FILE is for the script. FILE is - for standard
    input. `import torch` is served by autograph's engine; with --engine torch it is PyTorch. The report is on stderr;
    the exit code is the script's, or 2 after an exception. Before the run, autograph lists what FILE uses and the
    engine lacks; --check-only does no more.

    \b
      autograph run expr.py
      autograph run --steps all train.py --epochs 3
      autograph run -m package.module
      autograph run -c "import torch; ..."
      autograph run - < expr.py
      autograph run --record values,time expr.py
      autograph run --watch gradients,updates train.py
      autograph run --device cuda train.py
      autograph run --check-only train.py
      autograph run --engine torch train.py
      autograph run --ranks 4 train.py
    """
    folder = Path.cwd()
    if target is None:
        if file is None:
            raise click.UsageError("Missing argument 'FILE'.", click.get_current_context())
        target = runner.Target.of(file, args)
    if check_only:
        return lacking.tell_all(target, quiet)
    engine, output = engine_of(engine), None if output is None else folder / output
    place, shared = Placement.here(), None
    if place is not None or (ranks or 1) > 1:
        several = importlib.import_module("autograph_cli.cli.ranks")  # it starts processes, which most runs do not
        about = several.Wanted(output, quiet, timeout)
        if place is None:
            runner.read(target)  # so that what is not there is told once
            return int(several.launch(ranks, _options(), about, torch=engines.chosen(engine) == "torch"))
        shared = place.folder(folder / store.FOLDER)
        os.environ.update(place.environment())
        code: int | None = None if PARENT in os.environ else several.split(place, shared, about)
        if code is not None:
            return code
        quiet = quiet or place.rank > 0
    target = replace(target, source=runner.read(target))
    if engine == "builtin" and not quiet:
        lacking.warn(target)
    tune = tune and engine == "builtin"
    return _run(
        target,
        Recording(steps_of(steps, record), record, watch, engine, device, tune, quiet, output, folder),
        place,
        shared,
    )


def steps_of(asked: str | None, record: Collection[str]) -> str:
    """Return which steps are kept; unless told, those that can be compared where values are recorded."""
    return asked or (COMPARED if "values" in record else USUAL)


class Recording(Struct, frozen=True):
    """The options for recording a script, and the place of its trace."""

    steps: str
    record: tuple[str, ...]
    watch: tuple[str, ...]
    engine: str
    device: str | None
    tune: bool
    quiet: bool
    output: Path | None
    folder: Path
    """The folder where the command was given: the script may change its own."""


def _run(target: runner.Target, asked: Recording, place: Placement | None, shared: Path | None) -> runner.Session[int]:
    """Run the target in this process, alone or as one rank."""
    from autograph_cli.record.recorder import Recorder  # the engine: the other commands do without

    engine = engines.connect(asked.engine)
    ranked = place is not None and shared is not None
    recorder = Recorder(
        asked.steps, target.label, record=asked.record, watch=asked.watch, engine=engine, each=ranked, every=ranked
    )
    if asked.tune:
        tuning.tune()
    member = None if place is None or shared is None else _member(place, shared, recorder)
    shown = contextlib.nullcontext() if asked.quiet or member else live.line(recorder)
    spawning = contextlib.nullcontext() if member is None or asked.engine != "torch" else _calling_here(member)
    with _made_on(asked.device, recorder.log.engine.namespace), shown, spawning:
        session = runner.recording(target, asked.steps, recorder=recorder, until_exit=True, engine=asked.engine)
        result, trace = yield from session
    if member is not None:
        member.keep(trace, code=result.exit_code)
        return result.exit_code
    code = _keep(trace, target, asked)
    return result.exit_code or code


def _keep(trace: Trace, target: runner.Target, asked: Recording) -> int:
    """Keep the trace, report on it, and return the exit code."""
    try:
        where = store.keep(trace, asked.folder) if asked.output is None else store.save(trace, asked.output)
    except store.StoreError as error:
        elsewhere = " To keep the trace elsewhere: autograph run -o FILE." if asked.output is None else ""
        say(f"Error: {error}{elsewhere}", err=True)
        return error.exit_code
    if not asked.quiet:
        if trace.failure:
            explain_failure(trace, asked.folder / target.name, target.words)
        print_report(trace, where, asked.folder, Selection.parse(asked.steps).last)
    return 0


def _options() -> list[str]:
    """The options and arguments of this command but for those that say how many ranks there are."""
    context = click.get_current_context()
    given: list[str] = []
    for each in context.command.params:
        if context.get_parameter_source(each.name or "") is not ParameterSource.COMMANDLINE or each.name == "ranks":
            continue
        value = context.params[each.name or ""]
        if isinstance(each, click.Argument):
            continue
        if isinstance(each, click.Option) and each.is_flag:
            given.append(each.opts[-1] if value else each.secondary_opts[-1])
        else:
            given += [each.opts[-1], ",".join(value) if isinstance(value, tuple) else str(value)]
    file = context.params["file"]
    return [*given, *([] if file is None else [file]), *context.params["args"]]


def _member(place: Placement, folder: Path, recorder: Recorder) -> Member:
    member: Member = importlib.import_module("autograph_cli.record.run.ranks").Member(place, folder, recorder)
    return member


def _calling_here(member: Member) -> contextlib.AbstractContextManager[None]:
    module = importlib.import_module("autograph_cli.engines.pytorch.ranks")  # PyTorch: only where it runs the script
    return module.called_here(member.place.rank, member.place.size, member.folder)  # type: ignore[no-any-return]


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


def explain_failure(trace: Trace, script: Path, named: str = "") -> None:
    """Below the traceback: the finding that explains the exception, in two lines, and the command for more, with what
    was run as the command line `named` it."""
    # The rules, which a run that went well does without.
    explain, read, formats = (
        importlib.import_module(f"autograph_cli.findings.{name}") for name in ("explain", "read", "formats")
    )
    for finding in explain.explain(trace, read.scripts_of(trace, script), select=FAILURES)[:1]:
        command = "autograph explain" if store.has_graph(trace) else f"autograph explain {named or trace.script}"
        say(f"autograph: {formats.brief(finding)} More: {command}", err=True)
