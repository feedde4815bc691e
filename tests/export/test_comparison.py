"""Pictures of a diff: what changed is shown, the rest folded."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from autograph_cli.export import ExportError
from autograph_cli.export.comparison import render_diff, side_by_side
from autograph_cli.graph import Trace, diff
from tests.graph.nets import inserted, net


def styles(svg: bytes) -> Counter[str]:
    return Counter(re.findall(r'class="(\w+)"', svg.decode()))


def test_a_big_graph_is_folded_around_what_changed() -> None:
    graph = net(1_000)
    at = next(node.id for node in graph if node.id > 500 and node.kind == "operation")
    found = styles(render_diff(diff(graph, inserted(graph, at, "cosh"))))
    assert found["added"] == 1
    assert found["folded"] < 8
    assert found["operation"] < 8


def test_added_removed_and_changed_are_told_apart() -> None:
    graph = net(12)
    at = next(node.id for node in graph if node.kind == "operation")
    added, removed = diff(graph, inserted(graph, at, "cosh")), diff(inserted(graph, at, "cosh"), graph)
    assert styles(render_diff(added))["added"] == styles(render_diff(removed))["removed"] == 1
    assert b"dashed: no longer" in render_diff(removed)


def test_derivatives_are_in_bands_of_their_own(traces: dict[str, Trace]) -> None:
    graph = traces["sinh_function"].steps[-1].graph
    texts = [element.text for element in ET.fromstring(render_diff(diff(graph, net(5)))).iter() if element.text]
    assert {"order 0 · forward", "order 1 · backward"} <= set(texts)


@pytest.mark.parametrize("format", ["svg", "dot"])
def test_the_same_diff_gives_the_same_bytes(format: str) -> None:
    graph = net(60)
    other = inserted(graph, 59, "cosh")
    assert render_diff(diff(graph, other), format) == render_diff(diff(graph, other), format)


def test_equal_graphs_and_unknown_formats_are_refused() -> None:
    graph = net(5)
    with pytest.raises(ExportError, match="the graphs are the same"):
        render_diff(diff(graph, graph))
    with pytest.raises(ExportError, match="There is no format 'gif' for a diff"):
        render_diff(diff(graph, graph), "gif")


def test_two_graphs_stand_side_by_side() -> None:
    root = ET.fromstring(side_by_side(net(6), net(9)))
    inner = [child for child in root if child.tag.endswith("svg")]
    assert len(inner) == 2
    assert float(inner[1].get("x", "0")) > 0
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))
