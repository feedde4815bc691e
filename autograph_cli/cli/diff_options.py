"""The options of `autograph diff` that are for numbers; `diff_values.py` does what they say, with NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click
from msgspec import Struct

from autograph_cli.cli.options import Command, DtypesType, SeedsType, Whole


class ByValues(Struct, frozen=True):
    """The options by which the numbers of two runs are compared."""

    compiled: bool = False
    pythons: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    ranks: int | None = None
    seeds: tuple[int, ...] = ()
    every: int | None = None

    @property
    def is_of_one(self) -> bool:
        """Return whether it tells two runs of one script apart."""
        return bool(self.compiled or self.pythons or self.dtypes or len(self.seeds) > 1)

    @property
    def as_told(self) -> dict[str, object]:
        """The options that say how scripts are run, with what was given."""
        return {
            "--compiled": self.compiled, "--python": self.pythons, "--dtype": self.dtypes, "--seed": self.seeds,
            "--ranks": self.ranks, "--every": self.every,
        }  # fmt: skip


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--values",
        "by_values",
        is_flag=True,
        help="Where the numbers part first, forward or backward: exit code 0 for equal ones, but for rounding; 1; 3 "
        "where they cannot be compared.",
    ),
    click.option(
        "--compiled",
        is_flag=True,
        help="With --values: compare A without torch.compile, and with it, on the PyTorch that is installed.",
    ),
    click.option(
        "--python",
        "pythons",
        multiple=True,
        metavar="PATH",
        type=click.Path(exists=True, dir_okay=False),
        help="With --values: the Python that runs A, with its PyTorch; given twice, also the one for B. Of A alone, "
        "the other run is by this one.",
    ),
    click.option(
        "--dtype",
        "dtypes",
        type=DtypesType(),
        metavar="D,E",
        help="With --values: compare A in two default dtypes: float32,bfloat16. Random numbers are drawn in float32.",
    ),
    click.option(
        "--seed",
        "seeds",
        type=SeedsType(),
        metavar="M,N",
        help="With --values: compare A begun with two seeds, which move those that it sets, too; with one, both "
        "scripts begin with it.",
    ),
    click.option(
        "--ranks",
        type=Whole(2),
        metavar="N",
        help="On how many ranks each script runs; with --values, the rank that parts first is named.",
    ),
    click.option(
        "--every",
        type=Whole(1),
        metavar="N",
        help="With --values: record each Nth step, beside the first eight and the last; those around the place where "
        "scripts part are recorded by running them again.",
    ),
)


def values_options(command: Command) -> Command:
    """Add the options for numbers; the command gets them as `by_values`, None where none was given."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        by_values: bool,
        dtypes: tuple[str, ...] | None,
        seeds: tuple[int, ...] | None,
        compiled: bool,
        pythons: tuple[str, ...],
        ranks: int | None,
        every: int | None,
        **options: Any,
    ) -> None:
        given = ByValues(compiled, pythons, dtypes or (), ranks, seeds or (), every)
        asked = by_values or given != ByValues(ranks=ranks)
        command(*args, by_values=given if asked else None, ranks=ranks, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]
