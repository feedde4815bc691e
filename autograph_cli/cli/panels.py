"""The panels of a page: findings of a run, and what was watched."""

from __future__ import annotations

from autograph_cli.cli.opening import Opened, Source, script_of
from autograph_cli.export.options import Panels
from autograph_cli.findings import explain
from autograph_cli.findings.read import scripts_of
from autograph_cli.graph import Step


def panels_of(opened: Opened, source: Source, chosen: Step) -> Panels:
    """The findings of a run, what was watched of its parameters, and the run itself."""
    findings = explain(opened.trace, scripts_of(opened.trace, script_of(opened.trace, source)), at=chosen.number)
    return Panels(findings, opened.trace.watched, opened.trace)
