"""A step and a view in, the bytes of a picture or a text out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.errors import ExportError
from autograph_cli.export.exchange.model_explorer import to_model_explorer, to_node_data
from autograph_cli.export.exchange.networks import to_cytoscape, to_gexf, to_graphml
from autograph_cli.export.exchange.onnx.graph import to_onnx
from autograph_cli.export.formats.dot import dot_lines
from autograph_cli.export.formats.mermaid import to_mermaid
from autograph_cli.export.formats.pdf import to_pdf
from autograph_cli.export.formats.programs import BUILT_IN, find_program, graphviz_svg, png
from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.layout.direction import DIRECTIONS
from autograph_cli.export.layout.fitting import runs_right
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.options import FLOWS, READABLE, Panels, RenderOptions
from autograph_cli.export.page.html import Page, in_frame, to_html
from autograph_cli.export.page.sheets import page_of, sheet_of
from autograph_cli.export.picture import DEEPEST, VIEWS, Picture, picture_of, whole_of
from autograph_cli.export.pipeline import LARGEST, as_drawn, placed
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.colouring import COLOURS, amounts
from autograph_cli.export.scene.formula_lines import to_latex
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.titles import title_of
from autograph_cli.graph import Graph, Step, Trace, computed, forward
from autograph_cli.graph.collector import resting
from autograph_cli.graph.names import visible_bytes, visible_joined
from autograph_cli.graph.nesting import flattened
from autograph_cli.graph.reader_level import LEVELS


class Format(Struct, frozen=True):
    """One output format: the usual end of its files, and how it is made."""

    suffix: str
    make: Callable[[Picture], str | bytes]

    def of(self, picture: Picture) -> bytes:
        """Write the picture down; in a text nothing but the ends of lines cannot be printed."""
        written = self.make(picture)
        return written if isinstance(written, bytes) else visible_bytes(written)


def _svg(picture: Picture) -> str:
    options = picture.options
    if options.layout in (None, BUILT_IN):
        return to_svg(placed(picture))
    scene = as_drawn(picture)
    return graphviz_svg(scene, options.layout, right=runs_right(scene, options.direction))


def _dot(picture: Picture) -> bytes:
    scene = as_drawn(picture)
    return visible_joined(dot_lines(scene, right=runs_right(scene, picture.options.direction)))


def _mermaid(picture: Picture) -> str:
    scene = as_drawn(picture)
    return to_mermaid(scene, right=runs_right(scene, picture.options.direction))


def _html(picture: Picture) -> str:
    return to_html(Page(picture.title, [sheet_of(picture, picture.view)], picture.view, picture.graph, picture.graph))


def _model_explorer(picture: Picture) -> str:
    return to_model_explorer(picture.graph, picture.view, picture.title, picture.options.shown, data=picture.data)


def _node_data(picture: Picture) -> str:
    """The numbers of `--colour`, or else the bytes."""
    word = picture.options.colour or "bytes"
    return to_node_data(picture.view, word, amounts(picture.graph, word, picture.view, picture.title))


def _onnx(picture: Picture) -> bytes:
    graph, view = picture.graph, picture.view
    if view != "forward":
        raise ExportError(f"ONNX holds what a script computed, not its derivatives: choose forward, not {view}.")
    if picture.whole is None or picture.sliced:
        return to_onnx(graph, picture.title)
    return to_onnx(computed(picture.whole, [root.name for root in graph.roots] or None), picture.title)


FORMATS: dict[str, Format] = {
    "svg": Format(".svg", _svg),
    "png": Format(".png", lambda picture: png(placed(picture), picture.options.layout)),
    "pdf": Format(".pdf", lambda picture: to_pdf(placed(picture))),
    "html": Format(".html", _html),
    "dot": Format(".dot", _dot),
    "mermaid": Format(".mmd", _mermaid),
    "graphml": Format(".graphml", lambda picture: to_graphml(picture.graph, data=picture.data)),
    "gexf": Format(".gexf", lambda picture: to_gexf(picture.graph, data=picture.data)),
    "cytoscape": Format(".cyjs", lambda picture: to_cytoscape(picture.graph, data=picture.data)),
    "model-explorer": Format(".explorer.json", _model_explorer),
    "model-explorer-data": Format(".data.json", _node_data),
    "onnx": Format(".onnx", _onnx),
    "text": Format(".txt", lambda picture: picture.graph.to_text(shown=picture.options.shown)),
    "latex": Format(".tex", lambda picture: to_latex(picture.formulas, picture.title)),
    "json": Format(".json", lambda picture: picture.graph.to_json().encode()),
}


@resting()
def render(
    source: Graph | Step,
    view: str = "forward",
    format: str = "svg",
    options: RenderOptions | None = None,
    **changes: Any,
) -> bytes:
    """Show one view of a graph in one format; the same graph gives the same bytes.

    `view` is one of `VIEWS` and `format` of `FORMATS`; the format `latex` has formulas alone. `changes` are fields of
    `RenderOptions`, in the place of those of `options`.
    Raises `GraphError` for an unknown name and for facts that were not recorded, and `ExportError` for all that stands
    in the way of a picture.

    >>> from autograph_cli.graph import Node, Output, TensorType
    >>> leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), ("x",)),))
    >>> render(Graph((leaf,)), format="json")[:10]
    b'{"nodes": '
    """
    asked = replace(options or RenderOptions(), **changes)
    _check(view, format, asked)
    if format == "html" and asked.inside is None:
        return to_html(page_of(source, view, asked)).encode()
    whole = whole_of(source, view, asked, formulas=asked.formula or format == "latex")
    picture = picture_of(whole, view, format, asked)
    if picture.title:
        shown = "" if asked.inside is not None else view
        title = title_of(picture.title, shown, source, asked.total_steps, asked.roots, picture.graph)
        picture = replace(picture, title=title)
    return FORMATS[format].of(picture)


def _check(view: str, format: str, asked: RenderOptions) -> None:
    """Raise `ExportError` for a word that is not known, or a program that is not here."""
    for what, name, words in (
        ("view", view, VIEWS),
        ("format", format, FORMATS),
        ("flow", asked.flow, FLOWS),
        ("direction", asked.direction, DIRECTIONS),
        ("level", asked.level, LEVELS),
        ("colour", asked.colour, (None, *COLOURS)),
    ):
        if name not in words:
            raise ExportError(f"There is no {what} {name!r}; known ones: {', '.join(filter(None, words))}.")
    if asked.layout is not None:
        find_program(asked.layout)


def notebook_svg(graph: Graph) -> str | None:
    """Draw a graph in a notebook: a view as it is, a whole graph as its forward view; None if it is empty."""
    data = any(node.args for node in graph)
    shown = flattened(forward(graph) if data else graph, DEEPEST)
    if not shown.nodes or len(shown) > LARGEST:
        return None
    return to_svg(lay_out(split(framed(build(shown, "", data=data), shown))))


def notebook_page(trace: Trace) -> str | None:
    """Make the page of a trace, of its main step; None if none has a graph."""
    step = trace.main_step()
    if step is None:
        return None
    options = RenderOptions(
        title=trace.script,
        max_nodes=READABLE,
        held=trace.held,
        hooks=trace.hooks,
        panels=Panels(watched=trace.watched, trace=trace),
    )
    return render(step, "forward", "html", options).decode()


def notebook_html(trace: Trace) -> str | None:
    """Make that page for the output of a notebook's cell."""
    page = notebook_page(trace)
    return None if page is None else in_frame(page)
