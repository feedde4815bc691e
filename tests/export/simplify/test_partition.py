"""What is too big and cannot be folded otherwise is cut across into pieces, and nothing of it is lost."""

from __future__ import annotations

import random
import re

import pytest

from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.ranks import heights
from autograph_cli.export.scene.scene import Scene, build
from autograph_cli.export.simplify.partition import PARTS, cut_across
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType, backward, forward

KIND = (Output(TensorType("float32", (3,))),)


def tangle(size: int) -> Graph:
    """Operations that take two of the last twenty tensors each; every hundredth has a name."""
    chosen = random.Random(1)
    nodes = [Node(i, "leaf", "AccumulateGrad", "", (Output(KIND[0].type, (f"x{i}",)),)) for i in range(20)]
    for number in range(20, 20 + size):
        edges = tuple(Edge(number - chosen.randint(1, 20)) for _ in range(2))
        nodes.append(Node(number, "operation", "MulBackward0", chosen.choice(("mul", "add")), KIND, edges, edges))
    return Graph(tuple(nodes), tuple(Root(f"y{i}", i) for i in range(119, 20 + size, 100)))


@pytest.fixture(scope="module", params=[True, False], ids=["forward", "backward"])
def drawn(request: pytest.FixtureRequest) -> tuple[Scene, Graph]:
    view = forward(tangle(2_000)) if request.param else backward(tangle(2_000))
    return build(view, "", data=request.param), view


def test_a_tangle_becomes_a_picture_within_the_limit(drawn: tuple[Scene, Graph]) -> None:
    cut = cut_across(*drawn, 100)
    assert len(cut.boxes) <= 100
    assert sum("operations" in box.subtitle for box in cut.boxes) <= PARTS
    lay_out(cut)


def test_all_operations_are_in_the_pieces(drawn: tuple[Scene, Graph]) -> None:
    counts = [re.search(r"([\d,]+) operations", box.subtitle) for box in cut_across(*drawn, 100).boxes]
    whole = sum(box.style == "operation" for box in drawn[0].boxes)
    assert sum(int(found[1].replace(",", "")) for found in counts if found) == whole


def test_no_arrow_leads_back(drawn: tuple[Scene, Graph]) -> None:
    cut = cut_across(*drawn, 100)
    index = {box.id: number for number, box in enumerate(cut.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in cut.arrows]
    height = heights(len(index), edges)
    assert edges and all(height[tail] > height[head] for tail, head in edges)


def test_a_small_scene_stays_as_it_is(drawn: tuple[Scene, Graph]) -> None:
    assert cut_across(*drawn, len(drawn[0].boxes)) is drawn[0]
