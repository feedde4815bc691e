"""Parts of a graph: what is between names, or around one, with its border marked."""

from __future__ import annotations

import pytest

from autograph_cli.graph import (
    GraphError,
    Slice,
    Trace,
    backward,
    double_backward,
    forward,
    slice_to_roots,
    to_text,
    verify,
)
from tests.export.nets import layers

VIEWS = (forward, backward, double_backward, slice_to_roots)


def test_between_two_names_lies_what_depends_on_one_and_leads_to_the_other(traces: dict[str, Trace]) -> None:
    graph = traces["logits_loss"].steps[0].graph
    part = Slice(start=("b",), end=("loss",)).of(forward(graph))
    assert to_text(part).splitlines()[2:7] == [
        "  input target: float32[3]",
        "  %1: float32[3] = …squeeze()",
        "  leaf b: float32[3]",
        "  z: float32[3] = add(%1, b)",
        "  loss: float32[] = binary_cross_entropy_with_logits(z, target)",
    ]


def test_around_a_node_lies_what_is_near_it(traces: dict[str, Trace]) -> None:
    graph = forward(traces["logits_loss"].steps[0].graph)
    sizes = [len(Slice(around=("z",), radius=radius).of(graph)) for radius in range(5)]
    assert sizes[-1] == len(graph)
    assert sizes == sorted(sizes)
    assert [node.op for node in Slice(around=("z",), radius=0).of(graph)] == ["…squeeze", "", "add"]


def test_a_module_has_what_comes_in_at_its_border_and_what_goes_out_as_its_roots() -> None:
    graph = layers(4)
    for name in ("model.blocks.2", "blocks.2"):
        part = Slice(modules=(name,)).of(forward(graph))
        verify(part)
        assert [(node.op, node.module) for node in part if node.computes and node.args] == [
            ("mul", "model.blocks.2.fc"),
            ("add", "model.blocks.2"),
        ]
        assert [node.op for node in part if not node.args] == ["…add", ""]
        assert [(root.name, part[root.node].op) for root in part.roots] == [("output", "add")]


def test_every_part_of_every_graph_is_a_whole_graph(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        for view in VIEWS:
            graph = view(trace.steps[0].graph)
            for number in range(len(graph)):
                for part in (Slice(start=(f"%{number}",)), Slice(end=(f"%{number}",)), Slice(around=(f"%{number}",))):
                    verify(part.of(graph))


def test_no_request_is_the_whole_graph(traces: dict[str, Trace]) -> None:
    graph = traces["higher_order"].steps[0].graph
    assert Slice().of(graph) is graph


@pytest.mark.parametrize("name", ["tanh", "TanhBackward0"])
def test_an_operation_is_found_by_its_names(traces: dict[str, Trace], name: str) -> None:
    part = Slice(around=(name,), radius=0).of(forward(traces["higher_order"].steps[0].graph))
    assert [node.op for node in part][-1] == "tanh"


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Slice(start=("scroes",)), "There is no 'scroes' here; names: 'scores'"),
        (Slice(end=("%99",)), "There is no '%99' here; names: "),
        (Slice(modules=("encoder",)), "There is no module 'encoder' here; modules: none"),
        (Slice(start=("scores",), end=("w1",)), "Nothing lies from scores to w1: no path leads there."),
    ],
)
def test_what_is_not_there_is_told(traces: dict[str, Trace], part: Slice, sentence: str) -> None:
    with pytest.raises(GraphError) as caught:
        part.of(forward(traces["higher_order"].steps[0].graph))
    assert sentence in str(caught.value)


def test_the_request_reads_as_a_sentence() -> None:
    assert Slice(("w", "b"), ("loss",), ("z",), 1).words() == "from w, b to loss around z (radius 1)"
