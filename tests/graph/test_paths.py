"""Paths between two positions: counted without being listed, the shortest and the longest of them listed."""

from __future__ import annotations

from collections.abc import Iterator
from math import log10

import pytest

from autograph_cli.graph import Edge, Graph, GraphError, Node, Output, Root, TensorType, Trace
from autograph_cli.graph.paths import Paths, count_words, find_positions, known_names, leading_to, paths
from tests.graph.nets import leaf, net, operation

VECTOR = TensorType("float32", (3,))


def every_path(graph: Graph, start: int, end: int) -> Iterator[tuple[int, ...]]:
    if start == end:
        yield (end,)
        return
    for other in dict.fromkeys(edge.node for edge in graph[start].next if edge):
        yield from ((start, *rest) for rest in every_path(graph, other, end))


def fibonacci(size: int) -> Graph:
    """Each node takes the two before it."""
    nodes = [leaf(0, "x"), operation(1, "tanh", 0)]
    nodes += [operation(number, "add", number - 1, number - 2) for number in range(2, size)]
    return Graph(tuple(nodes), (Root("loss", size - 1),))


@pytest.mark.parametrize("seed", range(20))
def test_count_and_paths_are_those_of_a_full_search(seed: int) -> None:
    graph = net(24, seed)
    for end in range(0, 24, 3):
        every = sorted(every_path(graph, 23, end), key=len)
        found = paths(graph, [(23, 0)], [(end, 0)], limit=10_000)
        assert found.count == len(every)
        assert sorted(found.shortest) == sorted(every)
        assert [len(path) for path in found.shortest] == [len(path) for path in every]
        assert found.longest == ()


@pytest.mark.parametrize("limit", range(1, 9))
def test_of_many_the_shortest_and_the_longest_are_listed(limit: int) -> None:
    graph = fibonacci(10)
    every = sorted(map(len, every_path(graph, 9, 0)))
    found = paths(graph, [(9, 0)], [(0, 0)], limit)
    half = (limit + 1) // 2
    assert found.count == len(every) == 55
    assert [len(path) for path in found.shortest] == every[:half]
    assert [len(path) for path in found.longest] == every[::-1][: limit - half]
    assert len({*found.shortest, *found.longest}) == limit


def test_paths_of_one_length_are_listed_once() -> None:
    nodes = [leaf(0), *(operation(number, "tanh", 0) for number in range(1, 6)), operation(6, "sum", 1, 2, 3, 4, 5)]
    found = paths(Graph(tuple(nodes)), [(6, 0)], [(0, 0)], limit=4)
    assert found.count == 5
    assert len({*found.shortest, *found.longest}) == 4


def test_a_tensor_that_is_taken_twice_is_on_one_path() -> None:
    graph = Graph((leaf(0), operation(1, "mul", 0, 0)))
    assert paths(graph, [(1, 0)], [(0, 0)]) == Paths(1, ((1, 0),))


def test_a_huge_graph_has_its_paths_counted_and_listed() -> None:
    found = paths(fibonacci(20_000), [(19_999, 0)], [(0, 0)], limit=2)
    # The Fibonacci numbers grow by the golden ratio.
    assert log10(found.count) == pytest.approx(4_179, abs=1)
    assert [len(path) for path in (*found.shortest, *found.longest)] == [10_001, 20_000]


def test_no_path_is_told_as_none() -> None:
    graph = Graph((leaf(0), leaf(1), operation(2, "tanh", 0)))
    assert not paths(graph, [(2, 0)], [(1, 0)])
    assert not paths(graph, [(0, 0)], [(2, 0)])
    assert not paths(graph, [(2, 0)], [])


def test_a_place_leads_to_itself() -> None:
    assert paths(Graph((leaf(0),)), [(0, 0)], [(0, 0)]) == Paths(1, ((0,),))


def test_only_the_output_that_was_asked_for_is_an_end() -> None:
    split = Node(
        1, "operation", "UnbindBackward0", "unbind", (Output(VECTOR, ("a",)), Output(VECTOR, ("b",))), (Edge(0),)
    )
    use = Node(2, "operation", "TanhBackward0", "tanh", (Output(VECTOR),), (Edge(1, 1),), (Edge(1, 1),))
    graph = Graph((leaf(0), split, use))
    assert not paths(graph, [(2, 0)], find_positions(graph, "a"))
    assert paths(graph, [(2, 0)], find_positions(graph, "b")).count == 1
    assert paths(graph, [(2, 0)], find_positions(graph, "unbind")).count == 1


def test_several_starts_and_ends_count_together() -> None:
    graph = Graph((leaf(0), leaf(1), operation(2, "mul", 0, 1), operation(3, "tanh", 2)))
    assert paths(graph, [(2, 0), (3, 0)], [(0, 0), (1, 0)]).count == 4


def test_nodes_in_any_order_are_walked() -> None:
    nodes = (operation(0, "tanh", 2), leaf(1), operation(2, "mul", 1, 3), operation(3, "exp", 1))
    assert paths(Graph(nodes), [(0, 0)], [(1, 0)]).shortest == ((0, 2, 1), (0, 2, 3, 1))


def test_a_derivative_is_reached_as_any_other(traces: dict[str, Trace]) -> None:
    graph = traces["higher_order"].steps[0].graph
    for root in graph.roots:
        end = next(node.id for node in graph if node.kind == "leaf")
        assert paths(graph, [(root.node, root.nr)], [(end, 0)]).count >= 0


def test_what_leads_to_a_place_is_told() -> None:
    graph = Graph((leaf(0), leaf(1), operation(2, "tanh", 0), operation(3, "exp", 1), operation(4, "exp", 2)))
    assert leading_to(graph, [(0, 0)]) == {0, 2, 4}


def test_names_are_roots_variables_numbers_and_operations() -> None:
    graph = fibonacci(4)
    assert find_positions(graph, "loss") == [(3, 0)]
    assert find_positions(graph, "x") == [(0, 0)]
    assert find_positions(graph, "%2") == [(2, 0)]
    assert find_positions(graph, "add") == [(2, None), (3, None)]
    assert known_names(graph) == ["loss", "x"]
    with pytest.raises(GraphError, match="There is no 'y' here"):
        find_positions(graph, "y")


def test_long_counts_are_written_as_powers() -> None:
    assert [count_words(count) for count in (0, 999_999_999_999, 10**5000)] == ["0", "999999999999", "about 10^5000"]
