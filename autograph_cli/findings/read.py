"""The scripts that a trace comes from, where they lie beside it as they were recorded."""

from __future__ import annotations

from pathlib import Path

from autograph_cli.graph import Graph, Trace
from autograph_cli.record.graphs.causes import read_scripts
from autograph_cli.record.names.bindings import Script


def scripts_of(trace: Trace, script: Path) -> dict[str, Script]:
    """The files that the lines of all steps come from, by the names that they have there."""
    found = read_scripts(Graph(), script)
    for step in trace.steps:
        found |= read_scripts(step.graph, script)
    return found
