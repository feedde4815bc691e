"""What a page shows beside the picture of what is known of the whole run: findings, and parameters over the steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from autograph_cli.export.formats.watching import KINDS, curves
from autograph_cli.export.options import Panels
from autograph_cli.graph import Graph, Watched
from autograph_cli.graph.names import visible

if TYPE_CHECKING:
    from autograph_cli.findings import Finding

MOST = 200
"""Findings that a page lists, and parameters."""


def told_panels(panels: Panels, ran: Graph, whole: Graph) -> dict[str, Any]:
    """Both, with the nodes that they are about by their numbers in the whole graph."""
    return {
        "findings": [_finding(finding, ran, whole) for finding in panels.findings[:MOST]],
        "watched": list(_watched(panels.watched, whole)),
    }


def _finding(finding: Finding, ran: Graph, whole: Graph) -> dict[str, Any]:
    def same(number: int) -> bool:
        """Whether a node of the graph that the script made is this one in the whole graph, too."""
        return number < min(len(ran), len(whole)) and ran[number].name == whole[number].name

    source = finding.source
    return {
        "code": finding.code,
        "said": visible(finding.said),
        "line": f"{visible(source.file)}:{source.line}" if source else "",
        "facts": [visible(fact) for fact in finding.facts],
        "reason": finding.reason,
        "remedy": finding.remedy,
        "nodes": [number for number in finding.nodes if same(number)],
    }


def _watched(watched: Sequence[Watched], whole: Graph) -> Iterator[dict[str, Any]]:
    """Of each parameter its leaf, its module and its curves, each in a box of 100 by 30."""
    leaves = {name: node for node in whole if node.kind == "leaf" for name in node.outputs[0].names}
    drawn = curves(watched, 100.0, 30.0)
    for name in list(dict.fromkeys(each.name for each in watched))[:MOST]:
        leaf = leaves.get(name)
        yield {
            "name": visible(name),
            "nodes": [] if leaf is None else [leaf.id],
            "curves": [{"kind": KINDS[kind], **drawn[name, kind]} for kind in KINDS if (name, kind) in drawn],
        }
