"""The tensors that the graph of a step may start from, beside the roots of its backward calls, and their names."""

from __future__ import annotations

import sys

from autograph_cli.engines.protocol import Output, key_of
from autograph_cli.record.graphs.build import describe
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import StepLog


def is_operation(log: EventLog, output: Output) -> bool:
    """Return whether an output is that of an operation with a node."""
    return log.known[key_of(output)].is_operation


def made_in(log: EventLog, step: StepLog) -> list[tuple[str, Output]]:
    """The variables whose tensors were made or differentiated in the step, each once, in order of binding."""
    asked = {key_of(output) for entry in step.passes for output in entry.roots}
    known, first = log.known, step.events[0].number if step.events else sys.maxsize
    made = []
    for name, output in step.variables:
        event = None if output in step.bare else known.get(key_of(output))
        if event is not None and ((event.followed and event.number >= first) or event.key in asked):
            made.append((name, output))
    return list(dict.fromkeys(made))


def name_of(log: EventLog, output: Output) -> str:
    """The variable that an output has, else what made it."""
    found = log.names_of(output)
    return found[0] if found else describe(log.known[key_of(output)], log.engine)[1]
