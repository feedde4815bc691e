"""Snapshots as text: written, read back, compared; what is damaged is named."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from autograph_cli import record, torch
from autograph_cli.graph import (
    Graph,
    Output,
    Root,
    Section,
    Snapshot,
    SnapshotError,
    Trace,
    backward,
    compare,
    double_backward,
    forward,
    read_snapshot,
)
from autograph_cli.graph.snapshot import HOLDS
from tests.graph.nets import VECTOR, inserted, leaf, net, operation

TEXT = """autograph snapshot 3: expr.py
holds names, shapes, dtypes, constants, untracked
steps 1

[step 0]
order 0
  leaf w: float32[3]
  input x: float32[3]
  y: float32[3] = mul(w, x)  grad_fn MulBackward0(w, _)
results
  y
passes
  0: backward(y) order 1, gradients of all leaves
"""


def snapshot(*graphs: Graph, **fields: object) -> Snapshot:
    sections = tuple(Section(f"step {number}", graph) for number, graph in enumerate(graphs))
    return replace(Snapshot("expr.py", sections, steps=len(graphs)), **fields)  # type: ignore[arg-type]


def test_a_snapshot_reads_like_this(product: Graph) -> None:
    assert snapshot(product).to_text() == TEXT


@pytest.mark.parametrize("holds", [(), ("names",), ("shapes",), ("dtypes", "names"), HOLDS])
def test_what_was_written_is_read_back(traces: dict[str, Trace], holds: tuple[str, ...]) -> None:
    for trace in traces.values():
        for step in trace.steps:
            for cut in (lambda graph: graph, forward, backward, double_backward):
                written = snapshot(cut(step.graph), holds=holds, values=(), formulas=())
                read = read_snapshot(written.to_text())
                assert read.to_text() == written.to_text()
                assert not compare(read, written)


@given(st.integers(0, 10_000), st.integers(2, 40), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_graph_is_read_back(seed: int, size: int, named: bool) -> None:
    written = snapshot(net(size, seed, named=named))
    assert not compare(read_snapshot(written.to_text()), written)


@pytest.mark.parametrize("name", ["d['w']", 'a"b', "x~2", "w, b: float32[3]", "größe", "a\nb", "_", "%mul", "order 0"])
def test_any_name_is_read_back(name: str) -> None:
    nodes = (replace(leaf(0), outputs=(Output(VECTOR, (name,)),)), operation(1, "tanh", 0))
    read = read_snapshot(snapshot(Graph(nodes, (Root("y", 1),))).to_text())
    assert not compare(read, snapshot(Graph(nodes, (Root("y", 1),))))


def test_steps_with_the_same_graph_are_written_once() -> None:
    graph = net(20)
    text = snapshot(graph, graph, inserted(graph, 5, "exp")).to_text()
    assert "[step 1] as [step 0]\n" in text
    assert "[step 2]\n" in text
    assert [len(section.graph) for section in read_snapshot(text).sections] == [20, 20, 21]


def test_variables_with_other_names_are_no_difference() -> None:
    renamed = re.sub(r"\by\b", "out", re.sub(r"\bw\b", "weight", TEXT))
    assert not compare(read_snapshot(TEXT), read_snapshot(renamed))


DAMAGE = {
    "": "the snapshot is empty.",
    "\n \n": "the snapshot is empty.",
    "hello\n": "the snapshot is no autograph snapshot: its first line is 'hello'.",
    TEXT.replace("snapshot 3", "snapshot 4"): "the snapshot has version 4, and this autograph reads up to version 3: "
    "a newer autograph wrote it.",
    TEXT.replace(
        "order 0\n", "<<<<<<< HEAD\norder 0\n"
    ): "the snapshot, line 6: there is a merge conflict; resolve it, or write it again with --update.",
    TEXT.replace("order 0\n", "=======\norder 0\n"): "the snapshot, line 6: there is a merge conflict; resolve it, "
    "or write it again with --update.",
    TEXT.replace("mul(w, x)", "mul(w, z)"): "the snapshot, line 9: there is no z in [step 0].",
    TEXT.replace("mul(w, x)", "mul(w x)"): "the snapshot, line 9: ',' is missing at ' x)  grad_fn MulBackward0(w, _)'.",
    TEXT.replace("input x", "leaf w"): "the snapshot, line 8: there is a second w.",
    TEXT.replace("order 0\n", ""): "the snapshot, line 6: there is no heading above this line.",
    TEXT.replace("dtypes", "colours"): "the snapshot, line 2: it holds 'colours', which is none of names, shapes, "
    "dtypes, constants, lines, modules, untracked, values, formulas, digests.",
    TEXT.replace(
        "[step 0]", "[step 0] as [step 9]"
    ): "the snapshot, line 5: there is no section [step 9] before this one.",
    TEXT + "surprise\n": "the snapshot, line 14: 'surprise' is no line of a snapshot.",
    TEXT.replace(
        "(w, _)", "(w, x)"
    ): "the snapshot is malformed: node 2 (MulBackward0): next[1] points to node 1 (Input), "
    "an input, which has no gradient.",
}


@pytest.mark.parametrize("number", range(len(DAMAGE)))
def test_a_damaged_file_is_a_clear_error(number: int) -> None:
    text, message = list(DAMAGE.items())[number]
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(text)
    assert str(caught.value) == message


def scaled(factor: int) -> Snapshot:
    """The snapshot of a script that multiplies by a number."""
    x = torch.ones(3, requires_grad=True)
    with record() as recording:
        loss = (x * factor).sum()
    assert loss is not None
    return Snapshot("expr.py", (Section("step 0", recording.step.graph),), steps=1)


def test_a_number_in_the_place_of_a_tensor_is_a_difference() -> None:
    assert "with other=2" in scaled(2).to_text()
    assert not compare(read_snapshot(scaled(2).to_text()), scaled(2))
    assert compare(scaled(2), scaled(5)).sentences[0].endswith(" is called with other=5, not other=2")


def test_a_snapshot_of_version_1_is_compared_without_such_numbers() -> None:
    old = read_snapshot(scaled(2).to_text().replace("snapshot 3", "snapshot 1").replace("  with other=2", ""))
    assert old.version == 1
    assert not compare(old, scaled(5))


def test_every_cut_of_a_snapshot_is_read_or_refused() -> None:
    for end in range(len(TEXT)):
        try:
            read_snapshot(TEXT[:end])
        except SnapshotError:
            continue


def test_line_ends_of_windows_are_no_difference(product: Graph) -> None:
    assert not compare(read_snapshot(TEXT.replace("\n", "\r\n")), snapshot(product))


def test_values_are_compared_with_a_tolerance_and_their_words_exactly(product: Graph) -> None:
    one, near, far, other = (
        snapshot(product, holds=("values",), values=(f"loss = {text}",))
        for text in ("[1.0, nan]", "[1.00001, nan]", "[1.1, nan]", "mean 1.0")
    )
    assert not compare(one, near)
    assert compare(one, far).sentences == ["value of `loss` [1.0, nan] -> [1.1, nan]"]
    assert compare(one, other)
    assert not compare(one, far, tolerance=0.2)


def test_what_is_known_of_the_numbers_of_one_side_alone_is_no_line_of_a_difference(product: Graph) -> None:
    nodes = [replace(node, constants=(("drawn", "randn"),)) if node.kind == "leaf" else node for node in product]
    others = [replace(node, op="div", name="DivBackward0") if node.is_operation else node for node in product]
    old, new = (snapshot(replace(product, nodes=tuple(its))) for its in (nodes, others))
    told = compare(old, new).to_text()
    assert "leaf w" in told
    assert [line for line in told.splitlines() if line.lstrip()[:6] in ("- leaf", "+ leaf")] == []


def test_steps_sections_and_parts_are_compared(product: Graph) -> None:
    one = snapshot(product)
    other = replace(snapshot(product, product), holds=("names",))
    assert compare(one, other).sentences == [
        "the snapshot holds names, shapes, dtypes, constants, untracked; asked for is names",
        "the script made 2 steps, not 1",
        "step 1 is new",
    ]


def test_the_last_steps_are_compared_whichever_number_they_have() -> None:
    graph = net(20)
    old = Snapshot("a.py", (Section("step 0", graph), Section("step 9", graph)), steps=10)
    new = Snapshot("a.py", (Section("step 0", graph), Section("step 19", inserted(graph, 5, "cosh"))), steps=20)
    found = compare(old, new)
    assert [title for title, _ in found.graphs] == ["step 19"]
    assert found.sentences[1] == "the script made 20 steps, not 10"
    assert "[step 19]" in found.to_text()


EXCHANGED = ("step 0: all_reduce, 12 bytes, ranks 0-1 (w.grad)", "step 0: barrier, 4 bytes, ranks 0-1")
"""What two ranks exchanged, and the differences from it."""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (EXCHANGED, []),
        ((EXCHANGED[0].replace("w.grad", "v.grad"), EXCHANGED[1]), []),
        (EXCHANGED[:1], [f"collective gone: {EXCHANGED[1]}"]),
        ((*EXCHANGED, EXCHANGED[0]), [f"collective new: {EXCHANGED[0]}"]),
        (
            EXCHANGED[::-1],
            [f"collective gone: {EXCHANGED[1]}", f"collective new: {EXCHANGED[1]}"],
        ),
    ],
)
def test_what_ranks_exchanged_is_read_back_and_compared(
    product: Graph, lines: tuple[str, ...], said: list[str]
) -> None:
    old, new = (replace(snapshot(product), ranks=2, collectives=each) for each in (EXCHANGED, lines))
    assert sorted(compare(read_snapshot(old.to_text()), read_snapshot(new.to_text())).others) == sorted(said)


def test_the_number_of_ranks_is_compared(product: Graph) -> None:
    found = compare(replace(snapshot(product), ranks=2), snapshot(product))
    assert found.others == ("the script ran on 1 rank, not 2",)


def test_versions_of_pytorch_are_named_where_graphs_differ_alone(product: Graph) -> None:
    old, new = (replace(snapshot(product), engine="torch", pytorch=version) for version in ("2.5.1", "2.13.0"))
    assert read_snapshot(old.to_text()).pytorch == "2.5.1" and not compare(old, new)
    found = compare(old, replace(new, steps=7))
    assert found.others[-1] == "the snapshot was made with PyTorch 2.5.1, and this is PyTorch 2.13.0"
    assert len(compare(replace(old, pytorch=""), replace(new, steps=7)).others) == 1


NAMED = {
    "another name": ("2.5.1", {"MulBackward0": "MulBackward7"}, "mul", False),
    "another name in the same version": ("2.13.0", {"MulBackward0": "MulBackward7"}, "mul", True),
    "another operation": ("2.5.1", {"MulBackward0": "MulBackward7"}, "addcmul", True),
    "a custom Function": ("2.5.1", {"MulBackward0": "mulBackward"}, "mul", True),
}


@pytest.mark.parametrize("what", NAMED)
def test_another_name_of_a_node_is_no_difference_between_versions_of_pytorch(product: Graph, what: str) -> None:
    version, names, op, differs = NAMED[what]
    before = [replace(node, name=names[node.name], op=op) if node.name in names else replace(node) for node in product]
    old = replace(snapshot(replace(product, nodes=tuple(before))), engine="torch", pytorch=version)
    found = compare(old, replace(snapshot(product), engine="torch", pytorch="2.13.0"))
    assert bool(found) == differs
    assert found.notes == ([] if differs else ["PyTorch calls the node of `mul` MulBackward0 now, not MulBackward7"])
