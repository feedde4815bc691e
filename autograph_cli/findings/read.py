"""The scripts that a trace comes from, where they lie beside it as they were recorded."""

from __future__ import annotations

from pathlib import Path

from autograph_cli.graph import Graph, Trace
from autograph_cli.record.graphs.causes import name_in, read_scripts
from autograph_cli.record.names.bindings import Script


def scripts_of(trace: Trace, script: Path) -> dict[str, Script]:
    """The files that the lines of all steps come from, by the names that they have there."""
    graphs = [step.graph for step in trace.steps] or [Graph()]
    readings = [read_scripts(graph, script) for graph in graphs]
    found = {name: read for each in readings for name, read in each.items()}
    for name in {name_in(graph, script) for graph in graphs}:
        if any(name not in each for each in readings):
            found.pop(name, None)  # it has changed since
    return found
