"""What stands on a box: facts on lines below its title, in every format, within its borders."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.export import VIEWS, ExportError, render
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import bars, links, written
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.labels import abridged
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.simplify.saved_boxes import gathered
from autograph_cli.export.style import Style, is_bars, text_width
from autograph_cli.graph import (
    Edge,
    Graph,
    GraphError,
    Measured,
    ModuleCall,
    Node,
    Output,
    Root,
    Saved,
    TensorType,
    Trace,
    Values,
    forward,
)
from autograph_cli.graph.facts import WORDS
from tests.export.pages import pictures_of

SVG = "{http://www.w3.org/2000/svg}"
TYPE = TensorType("float32", (3,))
VALUES = Values((), "-1", "0", "1", 99, 3, 0, (1, 2, 4, 0, 8))
CODE = ("def backward(ctx, grad):", "    if a < b & c:", "        return grad")


def measured(graph: Graph) -> Graph:
    """The same graph, with something measured on each node."""
    facts = Measured((VALUES,), (VALUES,), 10, 20, CODE, flops=30, error=0.001)
    return replace(graph, nodes=tuple(replace(node, measured=facts) for node in graph))


def texts(svg: bytes) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# ---------------------------------------------------------------- lines on boxes

LINES = (("one",), ("one", "▁▂▃"), ("[[1, 2],", " [3, 4]]"), CODE, tuple(f"line {n}" * 3 for n in range(9)))


@pytest.mark.parametrize("style", ["operation", "leaf", "input", "root", "result", "saved"])
@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("subtitle", ["", "subtitle"])
def test_lines_stand_within_their_box_and_below_each_other(style: Style, lines: tuple[str, ...], subtitle: str) -> None:
    box = Box("n0", style, "title", subtitle, lines)
    (spot,) = lay_out(Scene("", (box,), ())).positions
    found = list(written(box, spot))
    assert [words for words, _, _ in found] == ["title", *(line.lstrip() for line in box.below if not is_bars(line))]
    heights = [y for _, (_, y), _ in found]
    assert heights == sorted(set(heights))
    assert spot.y - spot.height / 2 < heights[0] - 4 and heights[-1] < spot.y + spot.height / 2
    for number, (words, (x, _), size) in enumerate(found):
        left = x if number and box.left else x - text_width(words) * size / 2
        assert spot.x - spot.width / 2 <= left
        assert left + text_width(words) * size <= spot.x + spot.width / 2


def test_lines_of_an_ellipse_stand_within_it() -> None:
    box = Box("n0", "leaf", "weight", "AccumulateGrad", ("min -1 · mean 0.5 · max 2", "25 % zeros", "24 B"))
    (spot,) = lay_out(Scene("", (box,), ())).positions
    for words, (x, y), size in written(box, spot):
        half = text_width(words) * size / 2
        for dx in (-half, half):
            for dy in (-size * 0.6, 0.0):
                assert (2 * (x + dx - spot.x) / spot.width) ** 2 + (2 * (y + dy - spot.y) / spot.height) ** 2 <= 1.001


def test_bars_stand_on_one_line_and_within_the_box() -> None:
    box = Box("n0", "operation", "mul", "", ("▁ █▄",))
    (spot,) = lay_out(Scene("", (box,), ())).positions
    found = list(bars(box, spot))
    assert len(found) == 3
    assert len({round(bar.y + bar.height / 2, 6) for bar in found}) == 1
    assert [bar.height / found[0].height for bar in found] == pytest.approx([1, 8, 4])
    assert found[-1].y + found[-1].height / 2 < spot.y + spot.height / 2


def test_a_box_of_one_line_is_where_it_always_was() -> None:
    box = Box("n0", "operation", "mul", "y")
    (spot,) = lay_out(Scene("", (box,), ())).positions
    (_, title, _), (_, below, _) = written(box, spot)
    assert (title[1] - spot.y, below[1] - spot.y) == pytest.approx((-1.0, 10.35))


# ---------------------------------------------------------------- in every format


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "format", ["svg", "pdf", "dot", "mermaid", "html", "text", "json", "graphml", "gexf", "cytoscape", "model-explorer"]
)
def test_every_fact_can_be_shown_in_every_format(traces: dict[str, Trace], view: str, format: str) -> None:
    every = format != "html" or view == "forward"  # a page has all views, with whichever it begins
    for trace in traces.values() if every else (traces["logits_loss"],):
        graph = measured(trace.steps[0].graph)
        made = render(graph, view, format, shown=WORDS)
        if format in ("dot", "mermaid", "text", "html"):
            words = "".join(pictures_of(made.decode())) if format == "html" else made.decode()
            assert "mean 0" in words
            assert "return grad" in words
        if format in ("mermaid", "html"):
            assert b"a < b & c" not in made


def test_a_png_of_many_lines_can_be_made(traces: dict[str, Trace]) -> None:
    assert render(measured(traces["logits_loss"].steps[0].graph), "forward", "png", shown=WORDS)[:4] == b"\x89PNG"


def test_facts_are_shown_only_when_they_are_asked_for(traces: dict[str, Trace]) -> None:
    graph = measured(traces["logits_loss"].steps[0].graph)
    plain, shown = texts(render(graph)), texts(render(graph, shown=("shapes", "names", "arguments", "values")))
    assert "[5, 3] -1 … 1" not in plain
    assert "[5, 3] -1 … 1" in shown
    assert {words for words in plain if words[0] != "[" and words != "scalar"} <= set(shown)


def test_shapes_and_names_can_be_left_out(traces: dict[str, Trace]) -> None:
    graph = traces["logits_loss"].steps[0].graph
    bare = texts(render(graph, shown=()))
    assert "[5, 3]" in texts(render(graph)) and "[5, 3]" not in bare
    assert not any("shape" in words for words in bare)
    named = replace(
        saving_graph(),
        nodes=(*saving_graph().nodes[:2], replace(saving_graph().nodes[2], outputs=(Output(TYPE, ("n",)),))),
    )
    assert "n" in texts(render(named)) and "n" not in texts(render(named, shown=()))


def test_code_keeps_its_indentation(traces: dict[str, Trace]) -> None:
    graph = measured(traces["logits_loss"].steps[0].graph)
    root = ElementTree.fromstring(render(graph, shown=("formula",)))
    starts = {
        "".join(t.itertext()): float(t.attrib["x"]) for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "start"
    }
    assert starts["def backward(ctx, grad):"] < starts["if a < b & c:"] < starts["return grad"]


def test_what_was_not_recorded_is_no_picture(traces: dict[str, Trace]) -> None:
    with pytest.raises(GraphError, match=r"recorded on request only: autograph run --record values a\.py"):
        render(traces["logits_loss"].steps[0], shown=("values",), title="a.py")


# ---------------------------------------------------------------- saved tensors, links, inside


def saving_graph() -> Graph:
    kept = (
        Saved("_saved_self", TYPE, bytes=12, storage=0, given=True),
        Saved("_saved_other", TYPE, bytes=12, storage=1),
    )
    return Graph(
        (
            Node(0, "leaf", "AccumulateGrad", "", (Output(TYPE, ("w",), 0),)),
            Node(1, "operation", "ExpBackward0", "exp", (Output(TYPE, (), 1),), (Edge(0),), (Edge(0),), saved=kept[1:]),
            Node(
                2,
                "operation",
                "MulBackward0",
                "mul",
                (Output(TYPE),),
                (Edge(0), Edge(1)),
                (Edge(0), Edge(1)),
                saved=kept,
            ),
        ),
        (Root("y", 2),),
    )


def test_what_is_kept_has_one_box_and_an_arrow_from_each_that_keeps_it() -> None:
    scene = build(forward(saving_graph()), "", data=True, shown=("saved",))
    boxes = {box.id: (box.title, *box.below) for box in scene.boxes if box.style == "saved"}
    assert boxes == {
        "s0": ("saved %1", "float32[3], 12 B", "result of exp"),
        "s1": ("saved w", "float32[3], 12 B", "leaf"),
    }
    arrows = [(arrow.tail, arrow.head, arrow.label) for arrow in scene.arrows if arrow.keeps]
    assert arrows == [("n1", "s0", "other"), ("n2", "s0", "other"), ("n2", "s1", "self")]
    assert "saved: 24 B in 2 tensors, of which retain_graph=True would keep 12 B (results)" in scene.notes
    assert not any("keeps" in line for box in scene.boxes for line in box.lines)


def test_thin_lines_lead_from_derivatives_to_what_they_differentiate(traces: dict[str, Trace]) -> None:
    graph = traces["higher_order"].steps[0].graph
    plain, linked = (render(graph, "double-backward", order=2, shown=shown).decode() for shown in ((), ("links",)))
    assert 'class="link"' not in plain
    assert linked.count('class="link"') == sum(node.parent is not None for node in graph if node.order <= 2)
    # No box moves: thin lines take no room.
    spots = [re.findall(r'<g id="(n\d+)".*?<rect x="([\d.]+)"', svg) for svg in (plain, linked)]
    assert spots[0] == spots[1]


def test_a_thin_line_ends_at_the_sides_of_its_boxes() -> None:
    boxes = (Box("n0", "operation", "mul"), Box("n1", "derivative", "mul", band=2))
    placed = lay_out(Scene("", boxes, (Arrow("n1", "n0"),), links=(("n1", "n0"), ("n1", "n9"))))
    ((ends, start, curve),) = links(placed)
    a, b = placed.positions[1], placed.positions[0]
    assert ends == ("n1", "n0")
    assert start == (a.x + a.width / 2, a.y)
    assert curve[-1] == (b.x + b.width / 2, b.y)


def test_inside_of_a_node_is_drawn_as_a_graph_of_its_own() -> None:
    inner = Graph(
        (
            Node(0, "input", "Input", "", (Output(TYPE, ("grad",)),)),
            Node(
                1,
                "operation",
                "mul_Scalar",
                "mul",
                (Output(TYPE),),
                args=(Edge(0),),
                measured=Measured(formula=("other = 2",)),
            ),
        ),
        (Root("grad_self", 1),),
    )
    nodes = tuple(replace(n, measured=Measured(inside=inner)) if n.op == "exp" else n for n in saving_graph())
    shown = texts(render(replace(saving_graph(), nodes=nodes), "backward", inside="ExpBackward0", title="a.py"))
    assert shown[0] == "a.py · inside ExpBackward0: its formula, run once more on what it was given"
    assert {"grad", "mul", "other = 2", "grad_self", "given"} <= set(shown)


def test_a_scene_with_facts_can_be_rolled_and_folded(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        how: dict[str, Any] = {"shown": WORDS, "max_nodes": 5, "roll": True}
        assert render(measured(trace.steps[0].graph), "backward", **how)


def test_an_empty_view_is_told() -> None:
    with pytest.raises(ExportError, match="nothing to draw"):
        render(Graph(), shown=("saved",))


def test_what_the_turns_of_a_loop_keep_alike_is_one_box() -> None:
    boxes = (
        Box("n0", "operation", "mul"),
        *(Box(f"s{n}", "saved", f"saved %{n}", "float32[3], 12 B", ("result of mul",)) for n in range(3)),
        Box("s3", "saved", "saved x", "float32[3], 12 B", ("input",)),
    )
    arrows = tuple(Arrow("n0", f"s{n}", "self", keeps=True) for n in range(4))
    scene = gathered(Scene("", boxes, arrows))
    assert [(box.id, box.subtitle) for box in scene.boxes[1:]] == [
        ("s0", "× 3 · float32[3], 12 B"),
        ("s3", "float32[3], 12 B"),
    ]
    assert [arrow.head for arrow in scene.arrows] == ["s0", "s3"]
    assert scene.boxes[1].tooltip.endswith("× 3: %0, %1, %2")


def test_what_a_module_keeps_stands_in_its_frame() -> None:
    graph = saving_graph()
    calls = (ModuleCall(0, "net", "Net"), ModuleCall(1, "net.fc", "Linear", 0))
    nodes = (graph[0], replace(graph[1], module="net.fc", call=1), replace(graph[2], module="net", call=0))
    scene = framed(
        build(replace(graph, nodes=nodes, calls=calls), "", data=False, shown=("saved",)),
        replace(graph, nodes=nodes, calls=calls),
    )
    assert {box.id: box.frame for box in scene.boxes if box.style == "saved"} == {"s0": "m0", "s1": "m0"}


@pytest.mark.parametrize(
    "code",
    [
        "meta_loss += F.mse_loss(net(xq, fast), yq)",
        "fast = [w - 0.01 * g for w, g in zip(fast, grads)]",
        "loss = (E - E_ref) ** 2 + 10 * ((F - F_ref) ** 2).mean()",
        "i_t, f_t, g_t, o_t = (",
        "torch.sigmoid(gates[:, :HS]), torch.sigmoid(gates[:, HS:HS * 2]),",
        "out = torch.zeros_like(x).index_add_(0, dst, x[src] * alpha.unsqueeze(-1))",
        "if loss_fn(model(x)).item() > best:",
        "targets.view(-1))",
        "return self.head(self.blocks(self.digit(digits) + self.position(places[: digits.shape[1]])))",
    ],
)
def test_code_is_cut_in_brackets_or_at_its_end(code: str) -> None:
    for limit in range(16, 70):
        told = abridged(code, limit)
        assert len(told) <= limit + 1 and not re.search(r"\w…\w", told), (limit, told)
        assert all(told.count(one) == told.count(other) for one, other in ("()", "[]")) or told[-1] == "…"
        assert not told.startswith("if ")
