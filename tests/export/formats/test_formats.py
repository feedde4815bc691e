"""The formats for other programs: well-formed, complete, and safe with any name."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from autograph_cli.export import ExportError, render
from autograph_cli.export.formats import mermaid
from autograph_cli.export.formats.placed_dot import placed_dot
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.scene.records import Band, Box, Scene
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType, Trace, backward, forward

ODD = (
    'a"b',
    "line\nbreak",
    "<script>alert(1)</script>",
    "权重",
    "back\\slash\\n",
    "&amp;",
    "#35;",
    "`x`",
    "1. a",
    "a|b",
)
XML = "{http://graphml.graphdrawing.org/xmlns}"


def one_leaf(name: str) -> Graph:
    kind = TensorType("float32", (3,))
    leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(kind, (name,)),))
    return Graph(
        (leaf, Node(1, "operation", "SinBackward0", "sin", (Output(kind),), (Edge(0),), (Edge(0),))), (Root("y", 1),)
    )


# ---------------------------------------------------------------- mermaid


def test_a_flowchart_has_shapes_labels_bands_and_dashes(traces: dict[str, Trace]) -> None:
    picture = render(traces["higher_order"].steps[0], "double-backward", "mermaid", order=2, title="a.py")
    lines = picture.decode().splitlines()
    assert lines[:4] == ["---", 'title: "a.py · double-backward · value, scores, …, penalty"', "---", "flowchart TD"]
    assert [line.strip() for line in lines if "subgraph" in line] == [
        'subgraph band_4["order 2 · double backward"]',
        'subgraph band_3["order 0 · made from gradients"]',
        'subgraph band_2["order 1 · backward"]',
        'subgraph band_0["order 0 · forward"]',
    ]
    assert any(re.fullmatch(r'    n\d+\(\["w2<br/>AccumulateGrad"\]\):::leaf', line) for line in lines)
    assert any(re.fullmatch(r'  n\d+ -->\|"\[8, 16\]"\| n\d+', line) for line in lines)
    assert any(re.fullmatch(r"  n\d+ -\.-> n\d+", line) for line in lines)


@pytest.mark.parametrize("name", ODD)
def test_a_flowchart_takes_no_name_for_its_own_words(name: str) -> None:
    line = render(one_leaf(name), "forward", "mermaid").decode().splitlines()[1]
    inside = re.fullmatch(r'  n0\(\["(.*)"\]\):::leaf', line)
    assert inside
    assert not set(inside[1]) & set('"<>&`|\\')
    assert "#35;" not in inside[1] or "#" in name


def test_a_flowchart_that_mermaid_would_refuse_is_not_made(
    traces: dict[str, Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mermaid, "MOST_ARROWS", 3)
    with pytest.raises(ExportError, match="Mermaid draws 3 arrows at most, and this graph has 9"):
        render(traces["logits_loss"].steps[0], "forward", "mermaid")


# ---------------------------------------------------------------- graphml


@pytest.mark.parametrize(("view", "cut"), [("forward", forward), ("backward", backward)])
def test_graphml_has_every_node_and_edge(traces: dict[str, Trace], view: str, cut: object) -> None:
    step = traces["higher_order"].steps[0]
    graph = cut(step.graph)  # type: ignore[operator]
    root = ElementTree.fromstring(render(step, view, "graphml"))
    assert len(list(root.iter(f"{XML}node"))) == len(graph)
    ends = sorted((edge.get("source"), edge.get("target")) for edge in root.iter(f"{XML}edge"))
    used = [(node.id, edge.node) for node in graph for edge in (*node.args, *node.next) if edge is not None]
    assert ends == sorted((f"n{b}", f"n{a}") if view == "forward" else (f"n{a}", f"n{b}") for a, b in used)


@pytest.mark.parametrize("name", ODD)
def test_graphml_keeps_names(name: str) -> None:
    root = ElementTree.fromstring(render(one_leaf(name), "forward", "graphml"))
    kind = next(found.text for found in root.iter(f"{XML}data") if found.get("key") == "node_type")
    assert kind
    assert kind.endswith(": float32[3]")


# ---------------------------------------------------------------- pdf


def test_a_pdf_points_to_its_objects(traces: dict[str, Trace]) -> None:
    pdf = render(traces["higher_order"].steps[0], "double-backward", "pdf", title="λ and ∂")
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf)[1])  # type: ignore[index]
    assert pdf[start:].startswith(b"xref\n0 10\n")
    positions = [int(position) for position in re.findall(rb"^(\d{10}) 00000 n $", pdf[start:], re.MULTILINE)]
    for number, position in enumerate(positions, 1):
        assert pdf[position:].startswith(b"%d 0 obj\n" % number)
    length = int(re.search(rb"/Length (\d+)", pdf)[1])  # type: ignore[index]
    begin = pdf.index(b"stream\n") + 7
    assert pdf[begin + length :].startswith(b"\nendstream")


def test_a_pdf_shows_every_word(traces: dict[str, Trace]) -> None:
    pdf = render(traces["logits_loss"].steps[0], "forward", "pdf")
    shown = b"".join(bytes.fromhex(found.decode()) + b"\n" for found in re.findall(rb"<([0-9a-f]+)> Tj", pdf))
    for word in (b"target", b"binary_cross_entropy_with_logits", b"[5, 3]", b"leaf, requires grad"):
        assert word + b"\n" in shown


def test_a_pdf_does_not_drop_characters() -> None:
    with pytest.raises(ExportError, match="no glyph for '权': choose svg"):
        render(one_leaf("权重"), "forward", "pdf")


# ---------------------------------------------------------------- notebooks


def test_a_graph_shows_itself_in_a_notebook(traces: dict[str, Trace]) -> None:
    graph = traces["logits_loss"].steps[0].graph
    assert ">mm</text>" in (graph._repr_svg_() or "")
    assert ">MmBackward0</text>" in (backward(graph)._repr_svg_() or "")
    assert Graph()._repr_svg_() is None


# ---------------------------------------------------------------- PNG


def test_nothing_in_a_placed_picture_takes_the_name_of_something_else() -> None:
    boxes = [
        Box(key, "module", key, lines=("one", "two", "three"), band=band)
        for band, key in enumerate(("m8", "m8_1", "m8_2"))
    ]
    bands = tuple(Band(number, f"band {number}") for number in range(3))
    text = placed_dot(lay_out(Scene("modules", tuple(boxes), (), bands)))
    names = re.findall(r"^\t*(\w+) \[label", text, re.MULTILINE)
    assert len(names) > 9
    assert len(names) == len(set(names))
