"""Pictures and texts of real graphs: complete, well-formed, safe, and the same bytes every time."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli import export
from autograph_cli.export import FORMATS, VIEWS, ExportError, pipeline, render
from autograph_cli.export.formats import programs
from autograph_cli.graph import Edge, Graph, GraphError, Node, Output, Root, Source, Step, TensorType, Trace, names

SVG = "{http://www.w3.org/2000/svg}"
ONE = TensorType("float32", (3,))
ODD = ('a"b', "line\nbreak", "<script>alert(1)</script>", "权重", "back\\slash\\n", "&amp;", "end\\", "\x07")


def odd_graph() -> Graph:
    nodes = [Node(i, "leaf", "AccumulateGrad", "", (Output(ONE, (name,)),)) for i, name in enumerate(ODD)]
    edges = tuple(Edge(i) for i in range(len(ODD)))
    nodes.append(
        Node(len(ODD), "operation", "CatBackward0", "cat", (Output(ONE),), edges, edges, source=Source('"<', 1))
    )
    return Graph(tuple(nodes), (Root('"]; <b>', len(ODD)),))


def texts(svg: bytes) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def chain(length: int) -> Graph:
    nodes = [Node(0, "leaf", "AccumulateGrad", "", (Output(ONE, ("w",)),))]
    for i in range(1, length):
        nodes.append(Node(i, "operation", "MulBackward0", "mul", (Output(ONE),), (Edge(i - 1), Edge(0))))
    return Graph(tuple(nodes), (Root("y", length - 1),))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("png", "onnx")])
def test_the_same_graph_gives_the_same_bytes(traces: dict[str, Trace], view: str, format: str) -> None:
    for step in (trace.steps[0] for trace in traces.values()):
        again = step if format == "html" else step.graph  # a page says which step it shows
        assert render(step, view, format) == render(again, view, format) != b""


def test_a_picture_names_what_the_script_names(traces: dict[str, Trace]) -> None:
    shown = texts(render(traces["logits_loss"].steps[0], "forward"))
    assert {"x", "w", "b", "z", "loss", "target", "mm", "add", "binary_cross_entropy_with_logits"} <= set(shown)
    assert {"[5, 3]", "[1, 3]"} <= set(shown)
    assert shown.count("scalar") == 1
    assert any("no shape: as before" in text for text in shown)


def test_orders_have_bands_and_edges_between_them_are_dashed(traces: dict[str, Trace]) -> None:
    svg = render(traces["higher_order"].steps[0], "double-backward").decode()
    titles = ("order 0 · forward", "order 1 · backward", "order 2 · double backward", "order 0 · made from gradients")
    assert all(f">{title}" in svg for title in titles)
    assert "stroke-dasharray" in svg


def test_bands_lie_on_top_of_each_other(traces: dict[str, Trace]) -> None:
    root = ElementTree.fromstring(render(traces["higher_order"].steps[0], "double-backward"))
    found = {box.get("id"): box for box in root.iter(f"{SVG}rect") if box.get("class") == "band"}
    spans = [
        (float(found[key].attrib["y"]), float(found[key].attrib["height"]))
        for key in ("band_4", "band_3", "band_2", "band_0")
    ]
    assert all(upper + height < lower for (upper, height), (lower, _) in itertools.pairwise(spans))


def test_tooltips_tell_source_type_and_saved_values(traces: dict[str, Trace]) -> None:
    svg = render(traces["logits_loss"].steps[0], "forward").decode()
    assert "02_logits_loss.py:9  z = torch.matmul(x, w) + b" in svg
    assert "saved self: float32[1, 5] (20 bytes)" in svg


def test_a_leaf_that_is_used_far_apart_is_drawn_at_each_use() -> None:
    shown = texts(render(chain(10), "backward"))
    assert shown.count("w") == 10
    assert texts(render(chain(3), "backward")).count("w") == 1


@pytest.mark.parametrize("view", VIEWS)
def test_odd_names_come_out_right(view: str) -> None:
    shown = texts(render(odd_graph(), view))
    for name in (
        'a"b',
        r"line\nbreak",
        "<script>alert(1)</script>",
        "权重",
        r"back\slash\n",
        "&amp;",
        "end\\",
        '"]; <b>',
    ):
        assert name in shown
    assert b"<script" not in render(odd_graph(), view)


def test_odd_names_are_read_back_from_the_dot() -> None:
    program = programs.find_program("graphviz-pure")
    done = subprocess.run(
        [program, "-Tsvg"], input=render(odd_graph(), "forward", "dot"), capture_output=True, check=True
    )
    assert {'a"b', r"line\nbreak", "<script>alert(1)</script>", "权重", "&amp;", "end\\"} <= set(texts(done.stdout))


@pytest.mark.parametrize("length", [1, 2, 40, 1_000])
def test_every_size_of_graph_is_drawn(length: int) -> None:
    assert texts(render(chain(length), "backward")).count("MulBackward0") == length - 1


def test_too_big_a_graph_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LARGEST", 10)
    with pytest.raises(
        ExportError, match=r"are too many for a picture .* dot, text or json, or a smaller part with --root"
    ):
        render(chain(20), "backward")


def test_graphviz_lays_out_on_request(traces: dict[str, Trace]) -> None:
    svg = render(traces["higher_order"].steps[0], "double-backward", layout="graphviz-pure")
    assert "order 0 · made from gradients" in texts(svg)


def test_too_big_a_graph_for_graphviz_says_so() -> None:
    with pytest.raises(ExportError, match="too big for graphviz-pure: leave the choice to autograph"):
        render(chain(2_000), "backward", layout="graphviz-pure")


def test_a_program_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TIME_LIMIT", 0.0)
    with pytest.raises(ExportError, match="took more than 0 s"):
        render(chain(5), "backward", layout="graphviz-pure")


def test_big_graphs_come_out_as_text() -> None:
    graph = chain(5_000)
    for format in ("dot", "text", "json"):
        assert render(graph, "backward", format).count(b"MulBackward0") >= 4_999


def test_a_result_without_a_name_is_called_by_its_grad_fn_where_that_is_drawn_only() -> None:
    graph = chain(3)
    graph = Graph(graph.nodes, (Root("MulBackward0", 2),))
    assert "MulBackward0" not in texts(render(graph, "forward"))
    assert texts(render(graph, "backward")).count("MulBackward0") == 3


def test_a_title_names_the_roots_that_were_chosen(traces: dict[str, Trace]) -> None:
    step = traces["higher_order"].steps[0]
    assert "a.py · double-backward · penalty" in texts(
        render(step, "double-backward", roots=("penalty",), title="a.py", total_steps=1)
    )


def test_a_png_is_a_png(traces: dict[str, Trace]) -> None:
    assert render(traces["sinh_function"].steps[0], "double-backward", "png").startswith(b"\x89PNG")


def test_a_png_does_not_drop_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: None)
    with pytest.raises(ExportError, match=r"no glyph for '权': install rsvg-convert \(librsvg\), or choose"):
        render(odd_graph(), format="png")


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="rsvg-convert is not installed")
def test_a_png_has_all_characters_with_rsvg_convert() -> None:
    assert render(odd_graph(), format="png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"view": "sideways"}, "no view 'sideways'; known ones: forward, backward, double-backward"),
        (
            {"format": "gif"},
            "no format 'gif'; known ones: svg, png, pdf, html, dot, mermaid, graphml, gexf, cytoscape, model-explorer, model-explorer-data, onnx, "
            "text, latex, json",
        ),
        ({"layout": "neat"}, "no layout program 'neat'; known ones: layered, graphviz-pure, dot"),
        ({"roots": ["q"]}, "no root 'q' here; known roots: 'y'"),
    ],
)
def test_what_is_unknown_is_told_with_what_is_known(options: dict[str, object], sentence: str) -> None:
    with pytest.raises((ExportError, GraphError)) as caught:
        render(chain(3), **options)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_an_absent_engine_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match="'dot' is not installed: install Graphviz"):
        render(chain(3), layout="dot")


def test_an_empty_graph_has_no_picture() -> None:
    with pytest.raises(ExportError, match="nothing to draw: the forward graph is empty"):
        render(Graph())


def test_a_derived_graph_is_drawn_as_double_backward_only() -> None:
    step = Step(1, chain(3), "made", chain(4))
    assert render(step, "double-backward", "text") == render(chain(4), "double-backward", "text")
    assert render(step, "backward", "text") == render(chain(3), "backward", "text")


def test_a_picture_says_that_autograph_made_its_derivatives() -> None:
    step = Step(1, chain(3), "made by autograph from `y` and its leaves; the script itself kept none", chain(4))
    said = "order 0 made by autograph from `y` and its leaves"
    assert any(said in text and "kept none" not in text for text in texts(render(step, "double-backward")))
    assert not any("made by" in text for text in texts(render(step, "backward")))


@pytest.mark.parametrize(("view", "format"), [("forward", "svg"), ("double-backward", "html"), ("backward", "text")])
def test_one_picture_works_out_the_names_of_each_graph_once(
    traces: dict[str, Trace], monkeypatch: pytest.MonkeyPatch, view: str, format: str
) -> None:
    work_out, named = names._output_names, []
    monkeypatch.setattr(names, "_output_names", lambda graph: named.append(graph) or work_out(graph))
    step = traces["higher_order"].steps[0]
    render(replace(step, graph=replace(step.graph)), view, format)
    assert named and len({id(graph) for graph in named}) == len(named)


def test_a_room_has_a_dozen_files_and_a_few() -> None:
    rooms = Path(str(files("autograph_cli.export"))).rglob("__init__.py")
    assert {str(room): count for room in rooms if (count := len([*room.parent.glob("*.py")])) > 16} == {}


def test_the_package_needs_nothing_above_the_graph() -> None:
    code = "import sys, autograph_cli.export; print([n for n in sys.modules if n.startswith('autograph_cli.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in re.findall(r"'([^']+)'", done.stdout)}
    assert rooms == {"graph", "formulas", "export"}
    assert set(export.__all__) == {
        "DIRECTIONS",
        "FLOWS",
        "LAYOUTS",
        "FORMATS",
        "PARAMETERS",
        "READABLE",
        "VIEWS",
        "ExportError",
        "Format",
        "RenderOptions",
        "notebook_html",
        "notebook_page",
        "render",
    }
