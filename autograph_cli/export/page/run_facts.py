"""The facts of a run that its page shows before a box is chosen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from autograph_cli.export.options import RenderOptions
from autograph_cli.export.page.kept_steps import KeptStep, told_changes
from autograph_cli.export.page.lane import told_hooks
from autograph_cli.graph import Step, Trace
from autograph_cli.graph.names import visible


def told_run(options: RenderOptions, trace: Trace, steps: Sequence[KeptStep], drawn: Sequence[Step]) -> dict[str, Any]:
    """Return the run, its steps, how structures differ, hooks, and what to try next."""
    version = f" {trace.engine_version}" if trace.engine_version else ""
    engine = f"PyTorch{version}" if trace.engine == "pytorch" else "autograph's engine"
    return {
        "run": {
            "words": f"{trace.ended:,} step{'s' * (trace.ended != 1)}, {len(steps):,} kept; {engine}",
            "failure": visible(trace.failure),
            "hooks": told_hooks(trace.ledger),
            "next": [list(pair) for pair in _next(options, trace)],
        },
        "steps": [{**each.told, "page": each.structure} for each in steps],
        "changes": told_changes(drawn),
    }


def _next(options: RenderOptions, trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield commands that show what this page has not, each with what that is."""
    if not trace.script.endswith(".py"):
        return
    script = shlex.quote(visible(trace.script))
    nodes = [node for step in trace.steps for node in step.graph if node.measured is not None]
    if not any(node.measured and node.measured.values for node in nodes):
        yield f"autograph open --record values,time {script}", "values, gradients and times of each operation"
    elif not any(node.measured and node.measured.formula for node in nodes):
        yield f"autograph open --record values,time,formula {script}", "the derivative of each operation as a formula"
    if len(trace.steps) < trace.total_steps:
        yield f"autograph run --steps all {script}", "every step, not only those that are kept unless told"
    if trace.total_steps > 1 and not trace.watched:
        yield f"autograph run --watch gradients,updates {script}", "curves of each parameter over the steps"
    if options.panels.findings:
        yield "autograph explain", "the findings with what to change, on the terminal"
    if any(node.is_custom for step in trace.steps for node in step.graph):
        yield f"autograph check {script}", "custom derivatives against finite differences"
