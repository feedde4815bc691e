"""What a page shows of a run beside its pictures."""

from __future__ import annotations

from autograph_cli.cli.options import Opened, Source, script_of
from autograph_cli.export.options import Panels
from autograph_cli.findings import explain
from autograph_cli.findings.read import scripts_of
from autograph_cli.graph import Step


def panels_of(opened: Opened, source: Source, chosen: Step) -> Panels:
    """The findings of a run, those of other steps without their nodes, and what was watched of its parameters."""
    found = explain(opened.trace, scripts_of(opened.trace, script_of(opened.trace, source)), at=chosen.number)
    here = [finding if finding.step == chosen.number else finding.elsewhere() for finding in found]
    return Panels(here, opened.trace.watched)
