"""`autograph check --independence`: what of a model's result hangs on what it was given."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from math import inf

from msgspec import to_builtins

from autograph_cli import engines
from autograph_cli.cli.printing import say
from autograph_cli.record.measure.independence import INDEPENDENCE, Influence
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner

_KINDS = {"rows": "examples"}


def check_independence(target: runner.Target, engine: str, *, as_json: bool) -> int:
    """Run a script, call its models again, and say what hangs on what it should not; the exit code."""
    recorder = Recorder("first", target.label, record=(INDEPENDENCE,), engine=engines.connect(engine))
    recorder.slow = inf
    with contextlib.redirect_stdout(sys.stderr):
        result, trace = runner.record(target, recorder=recorder, engine=engine)
    # Who asks for it says that rows are examples.
    told = [Influence(_KINDS.get(one.kind, one.kind), one.name, one.source) for one in trace.notices]
    found = [one for one in told if one.kind in ("examples", "future", "input", "parameter")]
    unchecked = [one.said for one in told if one.kind == "unchecked"]
    if as_json:
        say(json.dumps(to_builtins(found), indent=2))
    else:
        _say(found, [] if recorder.models is None else recorder.models.names, unchecked)
    return result.exit_code or int(bool(found))


def _say(found: Sequence[Influence], models: Sequence[str], unchecked: Sequence[str]) -> None:
    for one in found:
        place = "" if one.source is None else f"{one.source.file}:{one.source.line}: "
        say(f"{place}{one.said}.")
    for said in unchecked:
        say(said)
    if not models:
        say("It called no module that learns.")
    elif not found and not unchecked:
        say(f"{', '.join(models)}: examples are apart, and each input and parameter counts.")
