"""`autograph diff --values`: where the numbers of two runs part first."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograph_cli.cli.diff_values_text import as_dict, sentence, text
from autograph_cli.cli.exit_codes import CommandError
from autograph_cli.cli.opening import named_rank
from autograph_cli.cli.options import SCRIPTS
from autograph_cli.cli.printing import put
from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.record.run import store
from autograph_cli.testing import recording

CODES = {"equal": 0, "rounding": 0, "parted": 1, "incomparable": 3}
STEPS = "0:16,last"
"""The steps that are kept of a script that is run."""


class Side(Struct, frozen=True):
    """One of the two runs: a trace, or a script, which can be run again."""

    name: str
    trace: Trace
    again: Callable[..., Trace] | None = None


def side(name: str, revision: str | None, engine: str, steps: str | None, checked_out: Callable[..., Any]) -> Side:
    """Read a trace, or run a script, in a process of its own."""
    if not name.endswith(SCRIPTS):
        if revision is not None:
            raise CommandError(f"--rev is for scripts, and {name} is none.")
        path, rank = named_rank(name)
        return Side(name, store.load(path, rank))

    title = f"{name} at {revision}" if revision else name

    def run(*measured: str) -> Trace:
        here = contextlib.nullcontext(Path(name)) if revision is None else checked_out(Path(name), revision)
        with here as script:
            kinds = ("values", *measured)
            return recording.record(script, steps=steps or STEPS, measured=kinds, name=title, engine=engine).trace

    if revision is None and not Path(name).is_file():
        raise CommandError(f"There is no file {name}.")
    return Side(title, run(), run)


def compare(sides: Sequence[Side]) -> Divergence:
    """How the numbers of two runs compare; what parts is run once more, to see that it is the same each time."""
    found = divergence(sides[0].trace, sides[1].trace)
    if found.verdict in ("equal", "rounding"):
        return found
    for each in sides:
        if each.again is not None:
            repeated = divergence(each.trace, each.again())
            if repeated.verdict != "equal":
                told = "" if repeated.parting is None else f": {sentence(repeated, (each.name, each.name))}"
                return Divergence("incomparable", f"{each.name} is not the same each time it is run{told.rstrip('.')}")
    return found


def show(found: Divergence, sides: Sequence[Side], *, as_json: bool) -> int:
    """Print how the numbers of two runs compare, and return the exit code."""
    names = sides[0].name, sides[1].name
    if as_json:
        put((json.dumps(as_dict(found, names), indent=1) + "\n").encode())
    else:
        put("".join(f"{line}\n" for line in text(found, names)).encode())
    return CODES[found.verdict]
