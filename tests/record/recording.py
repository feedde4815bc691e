"""A function run under a recorder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograph_cli.graph import Trace, from_json, to_json
from autograph_cli.record.recorder import Recorder


def record(script: Callable[[], Mapping[str, Any] | None], steps: str = "all", **options: Any) -> Trace:
    """Return what is kept of a function, whose result are its variables; its graphs are whole and come back from JSON."""
    recorder, scope = Recorder(steps, "script.py", **options), None
    recorder.start()
    try:
        scope = script()
    finally:
        trace = recorder.finish(dict(scope or {}))
    for step in trace.steps:
        for graph in filter(None, (step.graph, step.double)):
            graph.verify()
    assert from_json(to_json(trace)) == trace
    return trace
