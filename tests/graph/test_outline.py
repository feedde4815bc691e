"""The outline of a graph: few nodes, each for what ran one after the other, and nothing that leads back."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Graph
from autograph_cli.graph.outline import outlined
from autograph_cli.graph.records import Measured, Values
from autograph_cli.graph.views import edges_of
from tests.export.nets import Net, layers
from tests.export.random_graphs import random_graph


def recurrence(turns: int) -> Graph:
    net = Net()
    w, h = net.leaf("w"), net.leaf("h")
    for _ in range(turns):
        h = net.op("tanh", net.op("mm", h, w))
    return net.graph(h)


GRAPHS = {
    "layers": layers(300),
    "recurrence": recurrence(500),
    **{f"random {seed}": random_graph(seed) for seed in range(20)},
}


@pytest.mark.parametrize("budget", [1, 7, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_each_node_has_its_run_and_edges_lead_as_they_did(name: str, budget: int) -> None:
    graph = GRAPHS[name]
    outline = outlined(graph, budget)
    coarse, place = outline.graph, outline.place
    assert [node.id for node in coarse] == list(range(len(coarse)))
    assert all(edge.node < node.id for node in coarse for edge in edges_of(node))
    assert set(place.values()) == set(range(len(coarse)))
    assert all(number in place for number in range(len(graph)) if graph[number].computes)
    led = {(place[edge.node], place[node.id]) for node in graph for edge in node.args if edge.node in place}
    told = {(edge.node, node.id) for node in coarse for edge in node.args}
    assert told == {(one, other) for one, other in led if one != other}
    assert [root.name for root in coarse.roots] == [root.name for root in graph.roots]
    assert all(node.call is None or node.call < len(coarse.calls) for node in coarse)


def test_a_budget_is_kept_and_titles_say_what_ran() -> None:
    coarse = outlined(layers(300), 20).graph
    assert len(coarse) < 3 * 20
    assert next(node.op for node in coarse if node.computes) == "model.blocks.0–14: Block {30 nodes}"
    turns = outlined(recurrence(500), 20).graph
    assert {node.op.partition(" {")[0] for node in turns if node.computes} <= {"mm, tanh", "tanh, mm"}
    assert next(node for node in turns if node.kind == "leaf").outputs[0].names == ("w",)


@pytest.mark.parametrize("fact", ["values", "gradients"])
def test_a_run_has_the_numbers_of_what_it_hands_on(fact: str) -> None:
    graph = recurrence(50)
    told = {node.id: tuple([Values(whole=(str(node.id),))] * len(node.outputs)) for node in graph if node.computes}
    nodes = [replace(node, measured=Measured(time=1, **{fact: told.get(node.id, ())})) for node in graph]
    outline = outlined(replace(graph, nodes=tuple(nodes)), 7)
    last = {new: old for old, new in sorted(outline.place.items())}
    runs = [node for node in outline.graph if node.computes]
    assert len(runs) < 10
    assert [getattr(node.measured, fact) for node in runs] == [told[last[node.id]] for node in runs]
