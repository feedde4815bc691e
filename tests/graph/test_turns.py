"""Loops are found where turns are alike, and only there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autograph_cli.graph import Edge, Graph, Node, Output, Root, Source, TensorType, verify
from autograph_cli.graph.loops import find_turns
from tests.export.nets import Net

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
        return self.add(
            Node(len(self.nodes), "operation", f"{name}Backward0", name, (Output(kind),), edges, edges, source=source)
        )

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
    """Of each node the position in a turn, the turn, and the number of turns."""
    found = find_turns(graph)
    return [
        (found[n.id].path[-1], *found[n.id].turn, found[n.id].turns[0][1]) if n.id in found else None for n in graph
    ]


@pytest.mark.parametrize(("end", "turns"), [(None, (5, 5, 4)), ("exp", (4, 4, 4))], ids=["lacks", "differs"])
def test_the_last_turn_may_lack_its_end_but_not_have_another(end: str | None, turns: tuple[int, ...]) -> None:
    def step(writer: Writer, h: int, turn: int) -> int:
        h = writer.op("tanh", writer.op("mul", h, 0))
        name = "neg" if turn < 4 else end
        return writer.op(name, h, line=2) if name else h

    found = seats(recurrence(5, step))
    assert [seat for seat in found if seat and not seat[1]] == [(at, 0, many) for at, many in enumerate(turns)]
    assert sum(seat is not None for seat in found) == sum(turns)


def counts(graph: Graph) -> set[tuple[tuple[int, int], ...]]:
    """The numbers of turns that are found, fewest and most, of loops and of loops in them."""
    return {seat.turns for seat in find_turns(graph).values()}


def test_turns_are_found_from_the_first_on_which_is_fed_from_outside() -> None:
    expected = [None, None, *((position, turn, 5) for turn in range(5) for position in (0, 1)), None]
    assert seats(recurrence(5)) == expected


def test_two_turns_are_no_loop() -> None:
    assert not find_turns(recurrence(2))


def test_operations_of_other_lines_are_no_turns() -> None:
    assert not find_turns(recurrence(8, lambda writer, h, i: writer.op("tanh", h, line=i)))


@pytest.mark.parametrize(
    "kind, alike",
    [
        (lambda i: TensorType("float32", (i + 1,)), True),
        (lambda i: TensorType("float32", (3,) * (i + 1)), False),
        (lambda i: TensorType("float64" if i % 3 else "float32", (3,)), False),
    ],
    ids=["sizes", "dimensions", "dtypes"],
)
def test_turns_may_differ_in_sizes_alone(kind: Callable[[int], TensorType], alike: bool) -> None:
    assert bool(find_turns(recurrence(8, lambda writer, h, i: writer.op("tanh", h, kind=kind(i))))) is alike


def test_a_turn_that_reaches_further_back_begins_another_loop() -> None:
    def step(writer: Writer, h: int, i: int) -> int:
        return writer.op("add", h, 2 if i == 6 else h)

    found = find_turns(recurrence(12, step))
    assert [(seat.path[1], *seat.turn) for seat in found.values()] == [(at, turn) for at in (0, 1) for turn in range(6)]


def test_a_leaf_of_its_own_for_every_turn_is_a_loop() -> None:
    assert counts(recurrence(6, lambda writer, h, i: writer.op("mul", h, writer.leaf(f"w{i}")))) == {((6, 6),)}


def test_every_turn_may_take_another_output_of_one_operation() -> None:
    writer = Writer()
    h = writer.leaf("h")
    edges = (Edge(writer.leaf("seq")),)
    parts = writer.add(Node(2, "operation", "UnbindBackward0", "unbind", (Output(KIND),) * 5, edges, edges))
    for turn in range(5):
        edges = Edge(h), Edge(parts, turn)
        h = writer.add(Node(3 + turn, "operation", "MulBackward0", "mul", (Output(KIND),), edges, edges))
    assert counts(writer.graph()) == {((5, 5),)}


def nested(inner: Callable[[int], int], turns: int = 6) -> Graph:
    """`for i in range(turns): for _ in range(inner(i)): h = sin(h * w)`, and `h = exp(h)` at the end of each turn."""

    def step(writer: Writer, h: int, i: int) -> int:
        for _ in range(inner(i)):
            h = writer.op("sin", writer.op("mul", h, 0, line=2), line=2)
        return writer.op("exp", h, line=3)

    return recurrence(turns, step)


def test_a_loop_in_a_loop_is_found_in_each_of_its_turns() -> None:
    assert counts(nested(lambda i: 4)) == {((6, 6),), ((6, 6), (4, 4))}
    positions = {(seat.path[2:], seat.turn) for seat in find_turns(nested(lambda i: 4)).values() if len(seat.turn) == 2}
    assert positions == {
        ((0, position), (outer, inner)) for position in (0, 1) for outer in range(6) for inner in range(4)
    }


def test_a_loop_in_a_loop_may_have_another_number_of_turns_each_time() -> None:
    assert counts(nested(lambda i: 1 + i % 4)) == {((6, 6),), ((6, 6), (1, 4))}


def test_single_turns_of_a_loop_are_no_loop_by_themselves() -> None:
    def step(writer: Writer, h: int, i: int) -> int:
        return writer.op("sin", h, line=2) if i not in (4, 6) else writer.op("exp", h, line=i)

    assert counts(recurrence(8, step)) == {((4, 4),)}


def test_what_a_turn_takes_from_another_one_is_carried() -> None:
    found = find_turns(nested(lambda i: 4))
    first, second, *_, last = (seat for seat in found.values() if len(seat.turn) == 2)
    assert not first.carried(second) and first.carried(last)


def test_a_long_loop_is_found_in_linear_time() -> None:
    assert counts(recurrence(4_000)) == {((4_000, 4_000),)}


def test_long_turns_that_are_too_few_are_compared_once() -> None:
    def step(writer: Writer, h: int, i: int) -> int:
        for line in range(3_000):
            h = writer.op("sin", h, line=line)
        return h

    assert not find_turns(recurrence(2, step))


def test_a_turn_begins_where_its_module_does() -> None:
    net = Net()
    x = net.leaf("x")
    for turn in range(1, 6):
        cell = net.call("cell", "Cell", turn=turn, turns=5)
        for name in ("sin", "cos", "tanh") if turn < 5 else ("sin",):
            x = net.op(name, x, call=cell)
    graph = net.graph(x)
    begins = {graph[number].op for number, seat in find_turns(graph).items() if seat.path[-1] == 0}
    assert begins == {"sin"}
