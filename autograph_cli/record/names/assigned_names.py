"""The names that lines assign what they made, for variables of functions that returned before anyone looked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from autograph_cli.engines.protocol import Output
from autograph_cli.record.log.changes import output_of
from autograph_cli.record.log.events import BackwardEvent, Event
from autograph_cli.record.names.source_locations import Sources


def assigned_names(
    events: Iterable[Event], passes: Sequence[BackwardEvent], sources: Sources, count: Callable[[Event], int]
) -> dict[Output, str]:
    """Return the names by output: the last node that a line made has what it assigns to. `count` tells how many outputs
    an event has."""
    last: dict[tuple[int, tuple[str | None, ...]], Event] = {}
    for event in events:
        if event.site is None or event.made_by is not None:
            continue
        line, names = sources.assigned(event.site)
        if names:
            last[line, names] = event
    begun = _begun(passes, sources)
    return {
        output_of(event.key, nr): name
        for (line, names), event in last.items()
        if event.number > begun.get(line, -1)
        for nr, name in enumerate(names)
        if name is not None and (len(names) == 1 or len(names) == count(event))
    }


def _begun(passes: Iterable[BackwardEvent], sources: Sources) -> dict[int, int]:
    """Return the last node before a backward call, by the assignment that called: what it assigns came after."""
    found: dict[int, int] = {}
    for entry in passes:
        assignment = None if entry.site is None else sources.assignment(entry.site)
        if assignment is not None:
            found[id(assignment)] = max(found.get(id(assignment), -1), entry.newest)
    return found
