"""Modules that are deep in one another: pictures of them take time in proportion to their size, and never fail."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.picture import DEEPEST
from autograph_cli.export.rendering import notebook_svg
from autograph_cli.graph import Edge, Graph, ModuleCall, Node, Output, Root, TensorType

VECTOR = TensorType("float32", (3,))


def nested(depth: int) -> Graph:
    """A product in each of so many modules, each of which runs the next one."""
    calls = [ModuleCall(n, f"m{n}", "Nest", parent=n - 1 if n else None) for n in range(depth)]
    nodes = [Node(0, "leaf", "AccumulateGrad", "", (Output(VECTOR, ("w",)),), module="m0")]
    for position in range(depth):
        call = depth - 1 - position
        before = Edge(position)
        outputs = (Output(VECTOR, () if call else ("y",)),)
        nodes.append(
            Node(
                position + 1,
                "operation",
                "MulBackward0",
                "mul",
                outputs,
                (before, None),
                (before,),
                module="m",
                call=call,
            )
        )
    return Graph(tuple(nodes), (Root("y", depth),), (), tuple(calls))


@pytest.mark.parametrize("format_", ["svg", "html", "dot"])
def test_work_is_in_proportion_to_the_depth(format_: str) -> None:
    def calls(depth: int) -> int:
        count, graph = 0, nested(depth)

        def note(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            render(graph, "forward", format_)
        finally:
            sys.setprofile(None)
        return count

    calls(10)
    assert calls(1_000) < 2.5 * calls(500)


@pytest.mark.parametrize("format_", ["graphml", "gexf", "cytoscape", "model-explorer", "text", "json"])
def test_data_keep_every_module(format_: str) -> None:
    assert render(nested(2_000), "forward", format_)


def test_note_tells_that_inner_modules_have_no_frame() -> None:
    assert f"modules deeper than {DEEPEST} have no frame" in render(nested(DEEPEST + 1), "forward").decode()
    assert "have no frame" not in render(nested(DEEPEST), "forward").decode()


@pytest.mark.parametrize("options", [{"depth": 3}, {"depth": 1_000}, {"max_nodes": 100}, {"roll": True}])
def test_deep_modules_can_be_closed(options: dict[str, int]) -> None:
    assert render(nested(1_000), "forward", "svg", **options)  # type: ignore[arg-type]


def test_notebook_shows_them() -> None:
    assert notebook_svg(nested(1_500))
