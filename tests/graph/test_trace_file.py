"""Traces in files are what they are as text, compressed or not; a double-backward graph is read when it is needed."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.graph import (
    Edge,
    Graph,
    ModuleCall,
    Node,
    Output,
    Saved,
    Step,
    TensorType,
    Trace,
    TraceError,
    read_trace,
    to_json,
    trace_file,
    write_trace,
)
from autograph_cli.graph.trace_writer import BATCH

TYPE = TensorType("float32", ())


def chain(length: int) -> Graph:
    return Graph(tuple(Node(number, "input", "Input", "", (Output(TYPE, ("权",)),)) for number in range(length)))


def trace_of(graph: Graph, double: Graph | None = None) -> Trace:
    return Trace("a.py", (Step(0, graph, double=double), Step(1, graph)), 2)


def written(trace: Trace, compressed: bool = True) -> bytes:
    file = io.BytesIO()
    write_trace(trace, file, compressed=compressed)
    return file.getvalue()


@pytest.mark.parametrize("length", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH])
def test_graphs_of_any_length_survive(length: int) -> None:
    trace = trace_of(chain(length), chain(length) if length else None)
    for compressed in (False, True):
        found = read_trace(written(trace, compressed))
        assert found == trace
        assert to_json(found) == to_json(trace)


def test_recorded_traces_survive(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        assert read_trace(written(trace)) == trace


def test_a_file_holds_the_text_and_the_same_trace_gives_the_same_bytes(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        assert written(trace, compressed=False).decode() == to_json(trace)
        assert gzip.decompress(written(trace)).decode() == to_json(trace)
        assert written(trace) == written(replace(trace))


def test_a_text_of_another_layout_is_read(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        data = json.loads(to_json(trace))
        for text in (json.dumps(data), json.dumps(data, indent=0), json.dumps(data, indent=2)):
            assert read_trace(text.encode()) == trace


def test_names_that_utf8_has_not_are_read_line_by_line_too() -> None:
    names = ("\ud800", "\u202e", "|", '", {"": 0}, "', "\x85")
    nodes = tuple(Node(number, "input", "Input", "", (Output(TYPE, names),)) for number in range(BATCH + 1))
    data = written(trace_of(Graph(nodes), Graph(nodes)), compressed=False)
    assert data.count(b'\n  {"id": ') == 3 * len(nodes) and b"\\ud800" in data and b"\\u202e" in data
    found = read_trace(data)
    assert found.steps[0].double and not isinstance(found.steps[0].double.nodes, tuple)
    assert found == trace_of(Graph(nodes), Graph(nodes))


def test_graphs_in_another_order_are_told_apart() -> None:
    text = written(Trace("a.py", (Step(0, chain(1), double=chain(2)),)), compressed=False)
    for names in ((b"graph", b"double"), (b"double", b"graph")):
        swapped = (
            text.replace(b'"graph"', b"@").replace(b'"double"', b'"%s"' % names[1]).replace(b"@", b'"%s"' % names[0])
        )
        step = read_trace(swapped).steps[0]
        assert step.double and (len(step.graph), len(step.double)) == ((1, 2) if names[0] == b"graph" else (2, 1))


def test_a_double_backward_graph_is_read_when_it_is_needed() -> None:
    found = read_trace(written(trace_of(chain(2), chain(3)))).steps[0].double
    assert found is not None and not isinstance(found.nodes, tuple)
    assert len(found) == 3
    assert not isinstance(found.nodes, tuple)
    assert found[2].id == 2
    assert found.nodes == chain(3).nodes and isinstance(found.nodes, tuple)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b'"kind": "input"', b'"kind": "other"', "steps[0].double.nodes[0].kind must be one of"),
        (b'{"id": 1,', b'{"id": 2,', "step 1: node 2 (Input) stands at position 1; ids are dense and in order."),
        (b'"float32[]"', b'"float32[]', "t.json is damaged: Expecting"),
    ],
)
def test_what_is_wrong_in_it_is_told_then(old: bytes, new: bytes, sentence: str) -> None:
    before, double, after = written(trace_of(Graph(), chain(2)), compressed=False).partition(b'"double"')
    trace = read_trace(before + double + after.replace(old, new, 1), "t.json")
    with pytest.raises(TraceError) as caught:
        list(trace.steps[0].double or ())
    assert sentence in str(caught.value)


def broken(change: str) -> Any:
    data = written(trace_of(chain(3)))
    text = written(trace_of(chain(3)), compressed=False)
    return {
        "cut": (data[:-20], "is truncated: it ends in the middle."),
        "changed": (data[:-8] + bytes(8), "is damaged: "),
        "text cut": (text[:-30], "is truncated: it ends in the middle, at line"),
        "no comma": (text.replace(b"},\n  {", b"}\n  {", 1), "is damaged: "),
        "infinite": (text.replace(b'"total_steps": 2', b'"total_steps": -Infinity'), "total_steps must be"),
        "newer": (text.replace(b'"version": 7', b'"version": 99'), "has version 99"),
    }[change]


@pytest.mark.parametrize("change", ["cut", "changed", "text cut", "no comma", "infinite", "newer"])
def test_what_is_no_whole_trace_is_refused(change: str) -> None:
    data, sentence = broken(change)
    with pytest.raises(TraceError) as caught:
        read_trace(data, "t.json")
    assert str(caught.value).startswith("t.json ") and sentence in str(caught.value)


HEAD = b'{"format": "autograph-trace", "nodes": [\n'
BOMBS = {
    "one line": (b"", b" " * (1 << 20)),
    "empty lines": (b"", b"\n" * (1 << 20)),
    "rows": (HEAD, b'  {"id": 0},\n' * (1 << 16)),
    "nothing of JSON": (b"", bytes(1 << 20)),
    "a word": (b'{"format": "', b"a" * (1 << 20)),
}


@pytest.mark.parametrize("what", BOMBS)
@pytest.mark.parametrize("members", [1, 20])
def test_what_unpacks_to_more_than_a_trace_is_refused_before_it_is_unpacked(
    what: str, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, block = BOMBS[what]
    small = 1 << 22 if block.endswith(b"\n") else trace_file._SMALL  # to trace many lines takes long
    monkeypatch.setattr(trace_file, "_SMALL", small)
    data = b"".join(gzip.compress(head + block * (60 // members)) for _ in range(members))
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match=r"^t\.gz is no trace: it unpacks to more than 100 times its size\.$"):
            read_trace(data, "t.gz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * (small + 100 * len(data))


def test_the_most_alike_trace_is_not_taken_for_a_bomb() -> None:
    """Rows without names, as loops leave them, are packed in a tenth to a thirtieth."""
    nodes = tuple(Node(number, "input", "Input", "", (Output(TYPE),)) for number in range(20_000))
    trace = Trace("a.py", (Step(0, Graph(nodes)),), 1)
    packed, plain = written(trace), written(trace, compressed=False)
    assert len(plain) < 50 * len(packed)
    assert len(gzip.compress(plain, 9)) * 100 > len(plain)
    assert read_trace(packed) == trace


def test_modules_that_are_thousands_deep_are_not_taken_for_a_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each path holds those of all modules around it, so that they pack too well."""
    monkeypatch.setattr(trace_file, "_SMALL", 1 << 20)
    calls = tuple(ModuleCall(n, "m" + ".inner" * n, "M", parent=n - 1 if n else None) for n in range(2_000))
    nodes = (Node(0, "input", "Input", "", (Output(TYPE),), module=calls[-1].path, call=1_999),)
    trace = Trace("a.py", (Step(0, Graph(nodes, (), (), calls)),), 1)
    assert read_trace(written(trace)) == trace


def test_what_nodes_have_in_common_is_one_object() -> None:
    def node(number: int) -> Node:
        saved = (Saved("_saved_self", "float32[]", "", 4, number),)
        given = (Edge(0),) if number else ()
        return Node(number, "operation", "ExpBackward0", "exp", (Output(TYPE),), given, tuple(given), saved=saved)

    _, first, second = read_trace(written(trace_of(Graph(tuple(map(node, range(3))))))).steps[0].graph.nodes
    assert first.name is second.name and first.op is second.op and first.saved[0].name is second.saved[0].name
    assert first.args is first.next == second.next


def test_a_node_of_a_long_chain_takes_little_memory() -> None:
    """It has its number, its edge and two tuples of its own; all else it has in common with the one before."""

    def node(at: int) -> Node:
        edge, given = ((Edge(at - 1), None), (Edge(at - 1),)) if at else ((), ())
        kept = (Saved("_saved_other", "float32[]", "", 4, 0),)
        constants = (("other", "1.0"),)
        return Node(
            at, "operation", "MulBackward0", "mul", (Output(TYPE),), edge, given, saved=kept, constants=constants
        )

    data = written(trace_of(Graph(tuple(map(node, range(20_000))))))
    tracemalloc.start()
    try:
        nodes = read_trace(data).steps[0].graph.nodes
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 480 * len(nodes)
    assert nodes[7].outputs is nodes[9].outputs and nodes[7].saved is nodes[9].saved
    assert nodes[7].args[0] is nodes[7].next[0]
