"""Traces survive JSON, and what is not one is refused in one clear sentence."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.graph import (
    Edge,
    Graph,
    Measured,
    Node,
    Output,
    Root,
    Saved,
    Source,
    Step,
    TensorType,
    Trace,
    TraceError,
    Values,
    Watched,
    from_json,
    to_json,
)
from autograph_cli.graph.records import Number

NODE = Node(
    0,
    "input",
    "Input",
    "",
    (Output(TensorType("int64", (2, 0), "cuda:1"), ("权", 'a"\n', "\ud800")),),
    source=Source("a.py", 3, "x = 1", "f"),
    module="m",
    saved=(Saved("s", TensorType("bool", ()), "", 8, 1), Saved("dim", None, "1")),
)
TRACE = Trace("a.py", (Step(3, Graph((NODE,)), "made"),), 7, "torch", "ValueError: no")


def test_a_trace_survives(traces: dict[str, Trace]) -> None:
    for trace in (TRACE, Trace("a.py"), *traces.values()):
        text = to_json(trace)
        assert from_json(text) == trace
        assert to_json(from_json(text)) == text


def test_the_text_is_json_that_can_be_written_as_utf8() -> None:
    assert json.loads(to_json(TRACE).encode())["version"] == 7


def test_a_graph_alone_has_the_form_that_it_has_in_a_trace() -> None:
    assert json.loads(TRACE.steps[0].graph.to_json()) == json.loads(to_json(TRACE))["steps"][0]["graph"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "t.json is empty, and not an autograph trace."),
        ("import torch\n", "t.json is not an autograph trace."),
        ('{"format": "other"}', "t.json is not an autograph trace."),
        ("[1]", "t.json is not an autograph trace."),
        ("[" * 100_000, "t.json is not an autograph trace."),
        (
            '{"format": "autograph-trace", "version": 8}',
            "t.json has version 8, and this autograph reads up to version 7",
        ),
        ('{"format": "autograph-trace", "version": "1"}', "version must be a whole number from 1"),
        ('{"format": "autograph-trace", "version": 1}', "t.json is malformed: the trace has no 'script'."),
        (to_json(TRACE).replace("\n", "\nx", 1), "t.json is damaged:"),
    ],
)
def test_what_is_not_a_trace_is_told(text: str, sentence: str) -> None:
    with pytest.raises(TraceError) as caught:
        from_json(text, "t.json")
    assert str(caught.value).startswith(sentence) or sentence in str(caught.value)


def test_every_shorter_text_is_truncated() -> None:
    text = to_json(TRACE).rstrip()
    for length in range(1, len(text)):
        with pytest.raises(TraceError, match="is truncated: it ends in the middle"):
            from_json(text[:length])


_INPUT = {"id": 0, "kind": "input", "name": "Input", "op": "", "outputs": [{"type": "float32[]"}]}


def node_with(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["steps"][0]["graph"]["nodes"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (node_with(next=[[]]), "steps[0].graph.nodes[0].next[0] must be a list of at least length 1, not []"),
        (node_with(next=[[0, 0, 0]]), "nodes[0].next[0] must be a list of at most length 2, not [0, 0, 0]"),
        (node_with(next=[[0, -1]]), "nodes[0].next[0][1] must be a whole number from 0, not -1"),
        (node_with(outputs=[{"type": "float32(3)"}]), 'outputs[0].type must be a type such as "float32[3, 4]"'),
        (node_with(kind="leaves"), "nodes[0].kind must be one of operation, leaf, input"),
        (node_with(id=True), "nodes[0].id must be a whole number from 0, not true"),
        (node_with(names=3), "nodes[0] has the unknown field 'names'"),
        (node_with(name=None), "nodes[0].name must be a string, not null"),
        (node_with(kind="\ud800"), "it has a text with a lone surrogate where none can be"),
        (node_with(id="\ud800"), "it has a text with a lone surrogate where none can be"),
        (node_with(id=4), "step 4: node 4 (Input) stands at position 0"),
        (
            lambda data: data["steps"][0]["graph"].update(numbers=[0]),
            "graph.numbers must be a list of length <= 0, not [0]",
        ),
        (
            node_with(measured={"inside": {"nodes": [_INPUT | {"measured": {"inside": {"nodes": [_INPUT]}}}]}}),
            "step 4: node 0 (Input) has nodes inside, one of which has nodes inside again",
        ),
        (lambda data: data.update(steps={}), "steps must be a list, not {}"),
        (
            lambda data: data["steps"][0]["graph"].pop("nodes") and data["steps"][0]["graph"].update(nodes=[5]),
            "nodes[0] must be an object, not 5",
        ),
    ],
)
def test_a_malformed_part_is_named(change: Callable[[dict[str, Any]], None], sentence: str) -> None:
    data = json.loads(to_json(TRACE))
    change(data)
    with pytest.raises(TraceError) as caught:
        from_json(json.dumps(data), "t.json")
    assert str(caught.value).startswith("t.json is malformed: ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "value", "sentence"),
    [
        (("outputs", 0, "type"), 3, "nodes[200].outputs[0].type must be a type"),
        (("outputs", 0, "names"), [1], "nodes[200].outputs[0].names[0] must be a string, not 1"),
        (("source", "line"), 3.0, "nodes[200].source.line must be a whole number from 0, not 3.0"),
        (("source", "line"), True, "nodes[200].source.line must be a whole number from 0, not true"),
        (("saved", 0, "storage"), 1.0, "nodes[200].saved[0].storage must be a whole number from 0 or null, not 1.0"),
        (("saved", 0, "bytes"), -1, "nodes[200].saved[0].bytes must be a whole number from 0, not -1"),
        (("args",), [[0, 0], [0.0, 0]], "nodes[200].args[1][0] must be a whole number from 0, not 0.0"),
        (("args",), [[0, 0], "01"], 'nodes[200].args[1] must be a list, not "01"'),
        (("next",), [None, [0, True]], "nodes[200].next[1][1] must be a whole number from 0, not true"),
    ],
)
def test_a_malformed_part_is_named_after_many_that_are_well_formed(
    keys: tuple[Any, ...], value: Any, sentence: str
) -> None:
    nodes = tuple(replace(NODE, id=number) for number in range(300))
    data = json.loads(to_json(Trace("a.py", (Step(3, Graph(nodes)),))))
    part = data["steps"][0]["graph"]["nodes"][200]
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    with pytest.raises(TraceError) as caught:
        from_json(json.dumps(data), "t.json")
    assert sentence in str(caught.value)


def test_the_order_of_keys_is_free() -> None:
    row = {"name": "w", "node": 0, "nr": 0}
    orders = [dict(pairs) for pairs in itertools.permutations(row.items())]
    data = json.loads(to_json(TRACE))
    data["steps"][0]["graph"]["roots"] = [order | {"name": f"w{n}"} for n, order in enumerate(orders)]
    roots = from_json(json.dumps(data)).steps[0].graph.roots
    assert roots == tuple(Root(f"w{number}", 0) for number in range(6))


def test_any_set_of_keys_is_read() -> None:
    words = ["low", "mean", "high", "count", "zeros", "nans", "norm"]
    chosen = [pick for size in range(8) for pick in itertools.combinations(words, size)]
    texts = {"low": "1", "mean": "2", "high": "3", "norm": "4"}
    rows = [{word: texts.get(word, 5) for word in pick} for pick in chosen]
    data = json.loads(to_json(TRACE))
    data["steps"][0]["graph"]["nodes"][0]["measured"] = {"values": rows}
    (node,) = from_json(json.dumps(data)).steps[0].graph
    assert node.measured is not None
    assert node.measured.values == tuple(Values(**row) for row in rows)


def test_numbers_that_json_has_not_are_texts() -> None:
    rows = ((Number(3), Number("nan"), Number("-inf"), Number(0.5)),)
    node = replace(NODE, measured=Measured(error=Number("inf")))
    text = to_json(replace(TRACE, steps=(Step(3, Graph((node,))),), watched=(Watched("w", "values", rows),)))
    data = json.loads(text, parse_constant=pytest.fail)
    assert data["watched"][0]["rows"] == [[3, "nan", "-inf", 0.5]]
    found = from_json(text)
    assert to_json(found) == text
    assert math.isnan(found.watched[0].rows[0][1]) and found.watched[0].rows[0][2] == -math.inf
    assert found.steps[0].graph[0].measured == node.measured


def test_an_edge_without_a_number_leads_to_the_first_output() -> None:
    nodes = (replace(NODE, kind="leaf"), Node(1, "operation", "SinBackward0", "sin", NODE.outputs, (Edge(0),)))
    text = to_json(Trace("a.py", (Step(3, Graph(nodes)),)))
    assert from_json(text.replace("[0, 0]", "[0]")) == from_json(text)


def test_a_type_is_its_text_and_there_is_one_of_it() -> None:
    kind = TensorType("int64", (2, -1), "cuda:1")
    assert str(kind) == kind == "int64[2, -1]@cuda:1"
    for same in (TensorType("int64", (2, -1), "cuda:1"), copy.deepcopy(kind), pickle.loads(pickle.dumps(kind))):
        assert same is kind
