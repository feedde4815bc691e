"""Loops are found where turns are alike, and only there."""

from __future__ import annotations

from collections.abc import Callable

from autograph_cli.graph import Edge, Graph, Node, Output, Root, Source, TensorType, verify
from autograph_cli.graph.turns import find_turns

KIND = TensorType("float32", (3,))


class Writer:
    """Writes a graph down, one operation after another."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def leaf(self, name: str = "", kind: TensorType = KIND) -> int:
        return self.add(Node(len(self.nodes), "leaf", "AccumulateGrad", "", (Output(kind, (name,)),)))

    def op(self, name: str, *args: int, line: int = 1, kind: TensorType = KIND) -> int:
        edges = tuple(map(Edge, args))
        source = Source("a.py", line)
        return self.add(Node(len(self.nodes), "operation", f"{name}Backward0", name, (Output(kind),), edges, edges, source=source))

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return node.id

    def graph(self) -> Graph:
        graph = Graph(tuple(self.nodes), (Root("y", len(self.nodes) - 1),))
        verify(graph)
        return graph


def recurrence(turns: int, step: Callable[[Writer, int, int], int] | None = None) -> Graph:
    """`for i in range(turns): h = tanh(h * w)`, and a sum of it."""
    writer = Writer()
    w, h = writer.leaf("w"), writer.leaf("h")
    for i in range(turns):
        h = step(writer, h, i) if step else writer.op("tanh", writer.op("mul", h, w))
    writer.op("sum", h, line=9)
    return writer.graph()


def seats(graph: Graph) -> list[tuple[int, int, int] | None]:
    found = find_turns(graph)
    return [(found[n.id].offset, found[n.id].turn, found[n.id].turns) if n.id in found else None for n in graph]


def test_turns_of_a_loop_are_found_without_the_first_which_is_fed_from_outside() -> None:
    expected = [None, None, None, None, (0, 0, 4), (1, 0, 4), (0, 1, 4), (1, 1, 4), (0, 2, 4), (1, 2, 4), (0, 3, 4), (1, 3, 4), None]
    assert seats(recurrence(5)) == expected


def test_two_turns_are_no_loop() -> None:
    assert not find_turns(recurrence(3))


def test_operations_of_other_lines_are_no_turns() -> None:
    assert not find_turns(recurrence(8, lambda writer, h, i: writer.op("tanh", h, line=i)))


def test_other_shapes_are_other_turns() -> None:
    shapes = [TensorType("float32", (i,)) for i in range(8)]
    assert not find_turns(recurrence(8, lambda writer, h, i: writer.op("tanh", h, kind=shapes[i])))


def test_a_turn_that_reaches_further_back_ends_the_loop() -> None:
    def step(writer: Writer, h: int, i: int) -> int:
        return writer.op("add", h, 2 if i == 6 else h)

    found = {seat.turns for seat in find_turns(recurrence(12, step)).values()}
    assert found == {5}


def test_a_leaf_of_its_own_for_every_turn_is_a_loop() -> None:
    graph = recurrence(6, lambda writer, h, i: writer.op("mul", h, writer.leaf(f"w{i}")))
    assert {seat.turns for seat in find_turns(graph).values()} == {5}


def test_a_loop_in_a_loop_is_one_turn_of_the_outer_one() -> None:
    def step(writer: Writer, h: int, i: int) -> int:
        for _ in range(4):
            h = writer.op("sin", h, line=2)
        return writer.op("exp", h, line=3)

    found = find_turns(recurrence(6, step)).values()
    assert {seat.loop for seat in found} == {0}
    assert {seat.offset for seat in found} == set(range(5))


def test_a_long_loop_is_found_in_linear_time() -> None:
    graph = recurrence(4_000)
    assert {seat.turns for seat in find_turns(graph).values()} == {3_999}
