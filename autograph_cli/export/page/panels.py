"""The panels of a page beside its picture: findings of the whole run, and parameters over the steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from autograph_cli.export.formats.watching import KINDS, curves
from autograph_cli.export.options import Panels
from autograph_cli.graph import Graph, Watched
from autograph_cli.graph.names import visible

if TYPE_CHECKING:
    from autograph_cli.findings import Finding

MOST = 200
"""Findings that a page lists."""
MOST_WATCHED = 2_000
"""Parameters whose curves it has."""


def told_panels(panels: Panels, ran: Graph, whole: Graph, number: int | None = None) -> dict[str, Any]:
    """Both, with the nodes of the step of this number that they are about, by their numbers in the whole graph."""
    return {
        "findings": [_finding(finding, ran, whole, number) for finding in panels.findings[:MOST]],
        "watched": list(_watched(panels.watched, whole)),
    }


def _finding(finding: Finding, ran: Graph, whole: Graph, step: int | None) -> dict[str, Any]:
    here = finding.step is None or step is None or finding.step == step

    def same(number: int) -> bool:
        """Return whether a node has the same number in the script's own graph and in the whole graph."""
        return number < min(len(ran), len(whole)) and ran[number].name == whole[number].name

    source = finding.source
    return {
        "code": visible(finding.code),
        "said": visible(finding.said),
        "line": f"{visible(source.file)}:{source.line}" if source else "",
        "facts": [visible(fact) for fact in finding.facts],
        "reason": visible(finding.reason),
        "remedy": visible(finding.remedy),
        "nodes": [number for number in finding.nodes if same(number)],
        "step": None if here or finding.step is None else finding.step + 1,
    }


def _watched(watched: Sequence[Watched], whole: Graph) -> Iterator[dict[str, Any]]:
    """Yield the leaf, the module and the curves of each parameter, each curve in a box of 100 by 30."""
    leaves = {name: node for node in whole if node.kind == "leaf" for name in node.outputs[0].names}
    drawn = curves(watched, 100.0, 30.0)
    by_name: dict[str, list[Watched]] = {}
    for each in watched:
        by_name.setdefault(each.name, []).append(each)
    at = {name: node.id for name, node in leaves.items()}  # leaves stand as the model ran
    for name in sorted(by_name, key=lambda name: at.get(name, len(whole)))[:MOST_WATCHED]:
        leaf = leaves.get(name)
        yield {
            "name": visible(name),
            "nodes": [] if leaf is None else [leaf.id],
            "last": _last(by_name[name]),
            "sick": sum(not all(map(math.isfinite, row)) for each in by_name[name] for row in each.rows),
            "curves": [{"kind": KINDS[kind], **drawn[name, kind]} for kind in KINDS if (name, kind) in drawn],
        }


def _last(watched: Sequence[Watched]) -> float | None:
    """Return the last norm of the first kind of numbers, if it is finite."""
    rows = next((each.rows for each in watched if each.rows), ())
    return float(rows[-1][1]) if rows and math.isfinite(rows[-1][1]) else None
