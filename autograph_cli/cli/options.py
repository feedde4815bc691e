"""Options that several commands share."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from autograph_cli import AutographError, engines
from autograph_cli.cli import completion
from autograph_cli.graph import GraphError, Slice, facts
from autograph_cli.record.log.steps import KNOWN
from autograph_cli.testing import settings
from autograph_cli.testing.dtypes import DTYPES

_NAMED = re.compile(r"[^\W\d]\S*|.*[^\d:].*:[1-9]\d{0,8}", re.ASCII)
SCRIPTS = (".py", ".pyw")


class UsageError(AutographError):
    """A request that makes no sense as it stands."""


MOST = 1_000_000_000
"""No count that a person asks for is higher."""


class Whole(click.IntRange):
    """A count in a range, which ends at `MOST` where it is open."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        converted = super().convert(value, param, ctx)
        return converted if converted <= MOST else self.fail(f"that is more than {MOST:,}.", param, ctx)


class Real(click.FloatRange):
    """A finite number in a range: NaN is in each of them, for it is less and more than nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        converted = super().convert(value, param, ctx)
        return converted if math.isfinite(converted) else self.fail(f"{value[:40]!r} is no finite number.", param, ctx)


class StepsType(click.ParamType[str]):
    """The steps to record: `first`, `last`, `all`, `3`, `10:20`, `1::100`, or several of them with commas."""

    name = "steps"

    def __init__(self, *, named: bool = False) -> None:
        self.named = named
        """True if a step may stand by its line or its root, too."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        parts = [part.strip() for part in value.split(",")]
        for part in parts:
            if self.named and _NAMED.fullmatch(part):
                continue
            if not KNOWN.fullmatch(part) or part == ":":
                self.fail(
                    f"{part!r} is none of: first, last, all, a number such as 3, a range such as 10:20 or 1::100."
                )
            start, _, rest = part.partition(":")
            if (stop := rest.partition(":")[0]) and max(int(start or 1), 1) >= int(stop):
                self.fail(f"{part!r} has no step in it: a range ends before its second number.")
        return ",".join(parts)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.some_of("first", "last", "all")(ctx, param, incomplete)


class StepType(click.ParamType[str]):
    """One recorded step: `first`, `last`, a number, the line of its backward call, or the name of its root."""

    name = "step"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if re.fullmatch(r"[1-9]\d{0,17}", value) or _NAMED.fullmatch(value):
            return value
        return self.fail(
            f"{value!r} is none of: first, last, a number such as 3 (they count from 1), a line such as train.py:12, "
            "the name of a root."
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.one_of("first", "last")(ctx, param, incomplete)


def sweep_options(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--jobs` and `--mpi`, of a command that goes through many of `what`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        mpi = click.option(
            "--mpi", "over_mpi", is_flag=True, help="Run them on the other processes that mpiexec started."
        )
        jobs = click.option("-j", "--jobs", type=Whole(1), default=1, show_default=True, help=f"{what} to run at once.")
        return jobs(mpi(command))

    return add


class EnginesType(click.ParamType[tuple[str, ...]]):
    """One engine, or two with a comma."""

    name = "engines"
    names: tuple[str, ...] = tuple(engines.NAMES)
    least, most = 1, 2

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        converted = tuple(part.strip() for part in value.split(","))
        if not self.least <= len(converted) <= self.most or not set(converted) <= set(self.names):
            counted = "one or two" if self.least == 1 else "two or more"
            self.fail(f"{value!r} is not {counted} of: {', '.join(self.names)}.", param, ctx)
        return converted

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.some_of(*self.names)(ctx, param, incomplete)


class DtypesType(EnginesType):
    """Two dtypes with a comma, or more."""

    name = "dtypes"
    names = DTYPES
    least, most = 2, len(DTYPES)


class SeedsType(click.ParamType[tuple[int, ...]]):
    """One seed, or two with a comma."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if len(parts) > 2 or len(set(parts)) < len(parts) or not all(re.fullmatch(r"\d{1,9}", part) for part in parts):
            self.fail(f"{value!r} is no whole number, such as 3, and no two of them: 1,2.", param, ctx)
        return tuple(map(int, parts))


engine_option = click.option(
    "--engine",
    type=click.Choice(engines.NAMES),
    help="The engine that runs a script: autograph's own (builtin), an installed PyTorch (torch), or the latter "
    "where there is one (auto).  [default: builtin, or what pyproject.toml says]",
)


def engine_of(asked: str | None) -> str:
    """The engine that was asked for, or that of the project."""
    return engines.chosen(asked or settings.load().engine)


step_option = click.option(
    "--step",
    type=StepType(),
    help="first, last, a number from 1, a line (train.py:12), or a root's name; unless told, the last with a backward "
    "pass that trains, small ones apart.",
)
root_option = click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.tensor,
    help="Only what this root hangs on; may be repeated.",
)
Command = TypeVar("Command", bound=Callable[..., None])
_SLICES = (
    click.option(
        "--from",
        "start",
        multiple=True,
        metavar="NAME",
        shell_complete=completion.node,
        help="Only what depends on this; may be repeated.",
    ),
    click.option(
        "--to",
        "end",
        multiple=True,
        metavar="NAME",
        shell_complete=completion.node,
        help="Only what this depends on; may be repeated.",
    ),
    click.option(
        "--around",
        multiple=True,
        metavar="NAME",
        shell_complete=completion.node,
        help="Only what is near this variable or operation.",
    ),
    click.option("--radius", type=Whole(0), default=2, show_default=True, help="How near, in edges."),
    click.option(
        "--module",
        "modules",
        multiple=True,
        metavar="PATH",
        help="Only what ran in this module, `model.blocks.3` or the end of its path; may be repeated.",
    ),
)


def slice_options(command: Command) -> Command:
    """Add the options that choose a part of a view; the command gets it as `part`, a `Slice`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        start: tuple[str, ...],
        end: tuple[str, ...],
        around: tuple[str, ...],
        radius: int,
        modules: tuple[str, ...],
        **options: Any,
    ) -> None:
        command(*args, part=Slice(start, end, around, radius, modules), **options)

    for option in reversed(_SLICES):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


class ShownType(click.ParamType[tuple[str, ...]]):
    """The facts on the nodes: words with commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return facts.parse_shown(value)
        except GraphError as error:
            return self.fail(str(error), param, ctx)


class WordsType(click.ParamType[tuple[str, ...]]):
    """Words with commas, of those that are known."""

    name = "list"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = tuple(word.strip() for word in value.split(",") if word.strip())
        for word in words:
            if word not in self.known:
                self.fail(f"{word!r} is none of: {', '.join(self.known)}.", param, ctx)
        return words


RECORDABLE = ("values", "time", "flops", "memory", "formula", "inside", "check")
WATCHABLE = ("gradients", "values", "updates")


show_option = click.option(
    "--show",
    "shown",
    type=ShownType(),
    default=",".join(facts.USUAL),
    metavar="LIST",
    shell_complete=completion.some_of(*facts.WORDS, "none"),
    help=f"Facts to write on the nodes, beside {' and '.join(facts.USUAL)}: {', '.join(facts.WORDS)}; "
    "with none, only what is listed.",
)
open_option = click.option(
    "--inside",
    "opened_node",
    metavar="NODE",
    shell_complete=completion.node,
    help="Show the operations of this node's backward: MulBackward0%7, or the name of a variable.",
)


def one_format(asked: str | None, output: str | Path, named: str | None) -> str | None:
    """The format that `-f` asks for, that which the end of a file's `output` name says, or the project's default.

    Raises `UsageError` where the command line says two of them.
    """
    source = click.get_current_context().get_parameter_source("format_")
    if asked is None or named is None or asked == named:
        return asked or named
    if source is not click.core.ParameterSource.COMMANDLINE:
        return named
    raise UsageError(f"-f {asked} and the name {output}, which says {named}, are two formats: leave out -f, or rename.")


def to_record(shown: Collection[str], opened_node: str | None) -> tuple[str, ...]:
    """Return the facts that must be recorded for this to be shown."""
    wanted = {facts.RECORDED[word] for word in shown if word in facts.RECORDED}
    wanted |= {"inside"} if opened_node is not None else set()
    return tuple(word for word in RECORDABLE if word in wanted)
