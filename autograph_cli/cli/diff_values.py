"""`autograph diff --values`: where the numbers of two runs part first."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograph_cli.cli.exit_codes import CommandError
from autograph_cli.cli.opening import named_rank
from autograph_cli.cli.options import SCRIPTS
from autograph_cli.cli.printing import put
from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.graph.parting_text import as_dict, sentence, text
from autograph_cli.record.log.steps import COMPARED
from autograph_cli.record.run import store
from autograph_cli.testing import recording

NEAR = 12
"""So many steps are recorded at once, to find the first that parts."""
CODES = {"equal": 0, "rounding": 0, "parted": 1, "incomparable": 3}


class Side(Struct, frozen=True):
    """One of the two runs: a trace, or a script, which can be run again."""

    name: str
    trace: Trace
    run: Callable[..., Trace] | None = None
    """Records the script in a process of its own: which steps, and what beside the numbers."""


def side(name: str, revision: str | None, engine: str, steps: str | None, checked_out: Callable[..., Any]) -> Side:
    """Read a trace, or run a script."""
    if not name.endswith(SCRIPTS):
        if revision is not None:
            raise CommandError(f"--rev is for scripts, and {name} is none.")
        path, rank = named_rank(name)
        return Side(name, store.load(path, rank))
    if revision is None and not Path(name).is_file():
        raise CommandError(f"There is no file {name}.")
    title = f"{name} at {revision}" if revision else name

    def run(kept: str, *measured: str) -> Trace:
        here = contextlib.nullcontext(Path(name)) if revision is None else checked_out(Path(name), revision)
        with here as script:
            kinds = ("values", *measured)
            return recording.record(script, steps=kept, measured=kinds, name=title, engine=engine).trace

    return Side(title, run(steps or COMPARED), run)


def compare(sides: Sequence[Side]) -> Divergence:
    """How the numbers of two runs compare; what parts is run once more, to see that it is the same each time."""
    found, traces = _narrowed(sides)
    if found.verdict in ("equal", "rounding"):
        return found
    kept = ",".join(str(step.number) for step in traces[0].steps)
    for each, trace in zip(sides, traces, strict=True):
        if each.run is not None:
            repeated = divergence(trace, each.run(kept))
            if repeated.verdict != "equal":
                told = "" if repeated.parting is None else f": {sentence(repeated, (each.name, each.name))}"
                return Divergence("incomparable", f"{each.name} is not the same each time it is run{told.rstrip('.')}")
    return found


def _narrowed(sides: Sequence[Side]) -> tuple[Divergence, list[Trace]]:
    """Compare both runs; where steps between were not kept that parted first, scripts are run again for these."""
    traces = [each.trace for each in sides]
    found = divergence(*traces)
    runs = [each.run for each in sides if each.run is not None]
    if found.gap is None or len(runs) < len(sides):
        return found, traces
    low, high = found.gap
    while high - low > NEAR:
        middle = (low + high) // 2
        between = divergence(*[run(str(middle)) for run in runs])
        if between.verdict in ("equal", "rounding"):
            low = middle
        else:
            high = middle
    traces = [run(f"{low + 1}:{high + 1}") for run in runs]
    found = divergence(*traces)
    return found, traces


def show(found: Divergence, sides: Sequence[Side], *, as_json: bool) -> int:
    """Print how the numbers of two runs compare, and return the exit code."""
    names = sides[0].name, sides[1].name
    if as_json:
        put((json.dumps(as_dict(found, names), indent=1) + "\n").encode())
    else:
        put("".join(f"{line}\n" for line in text(found, names)).encode())
    return CODES[found.verdict]
