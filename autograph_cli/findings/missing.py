"""Parameters that no gradient reaches."""

from __future__ import annotations

from collections.abc import Iterator

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.graph import Source
from autograph_cli.graph.cuts import LISTED
from autograph_cli.record.causes import causes, first_binding, unused


def _unused(seen: Seen) -> Iterator[Found]:
    if not seen.is_last:
        return
    scripts = dict(seen.scripts)
    starts = [(edge.node, edge.nr) for edge in seen.outcome()]
    for notice in seen.trace.notices:
        if notice.kind == "unused":
            facts = causes(seen.graph, starts, [], notice.name, scripts) or unused(notice.name, scripts)
            made = first_binding(scripts, notice.name)
            line = None if made is None else Source(made[0], made[2].line, made[2].text)
            yield Found(f"{notice.name} never gets a gradient, and an optimizer has it", line, tuple(facts[:LISTED]))


RULES = (
    Rule(
        "AG201",
        "a parameter never gets a gradient",
        "No recorded operation takes it, so it stays as it was at the start.",
        "Use it in forward, outside of no_grad and detach, or give the optimizer only what is to be learned.",
        _unused,
    ),
)
