"""A step and a view in, the bytes of a picture or a text out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograph_cli.export.bundling import bundled
from autograph_cli.export.closing import close_below, close_to, closed_at_first
from autograph_cli.export.columns import in_columns
from autograph_cli.export.dot import to_dot
from autograph_cli.export.errors import ExportError
from autograph_cli.export.folding import fold
from autograph_cli.export.formula_lines import to_latex, with_formulas
from autograph_cli.export.graphml import to_graphml
from autograph_cli.export.html import Page, Sheet, in_frame, to_html
from autograph_cli.export.layered import lay_out
from autograph_cli.export.layout import BUILT_IN, find_program, graphviz_svg, png
from autograph_cli.export.levels import Fold, levels
from autograph_cli.export.mermaid import to_mermaid
from autograph_cli.export.modules import framed
from autograph_cli.export.parameters import inline, inline_if_many
from autograph_cli.export.partition import cut_across
from autograph_cli.export.parts import split
from autograph_cli.export.pdf import to_pdf
from autograph_cli.export.placed import Placed
from autograph_cli.export.repeats import fold_repeats
from autograph_cli.export.rolling import roll, rolled_if_smaller
from autograph_cli.export.scene import Box, Scene, build
from autograph_cli.export.svg import to_svg
from autograph_cli.formulas import Formula, formulas_of
from autograph_cli.graph import (
    Graph,
    GraphError,
    Slice,
    Step,
    Trace,
    backward,
    double_backward,
    forward,
    open_node,
    tracked,
)
from autograph_cli.graph.collector import resting
from autograph_cli.graph.facts import USUAL, check_recorded
from autograph_cli.graph.marks import Mark, marks_of
from autograph_cli.graph.names import told_apart, visible, visible_lines
from autograph_cli.graph.nesting import flattened
from autograph_cli.graph.opened import inside_words

LARGEST = 200_000
"""Boxes up to which a picture is drawn at all."""
DEEPEST = 64
"""Frames within one another, at most: what is deeper is drawn in the innermost of these."""
OPENABLE = 1_000
"""Boxes up to which a page has all modules to open, even if fewer are asked for at first."""
READABLE = 200
"""Boxes that a person still finds the way among."""
MOST_TABS = 6
"""Orders of derivative that have a tab of their own."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a format is made from: a view of a graph, and the scene that shows it."""

    graph: Graph
    view: str
    title: str
    layout: str | None
    max_nodes: int | None = None
    roll: bool | None = None
    shown: Collection[str] = USUAL
    depth: int | None = None
    tags: bool = True
    inside: bool = False
    """Whether this is what ran inside of a node."""
    flattened: bool = False
    """Whether modules were deeper in one another than is drawn."""
    whole: Graph | None = None
    """The graph that this is a view of, unless it is itself."""
    numbers: Sequence[int] = ()
    """Of each node, its number there."""
    inline: bool | None = None
    """Whether leaves are written on the operations that use them; None: where there are many operations."""
    columns: bool = True
    formulas: tuple[Formula, ...] = ()
    """What stands beside the bands, or is written alone."""
    data: bool = False
    """Whether arrows follow the data."""
    marks: Sequence[tuple[int, str]] = ()
    """What is wrong, by node."""

    def scene(self, limit: int | None = None) -> Scene:
        """The scene of the view, folded above this many boxes; raises `ExportError` if there is nothing to show."""
        scene = self._whole(limit)
        opened = self._opened(scene)
        if limit is None or len(opened.boxes) <= limit:
            return bundled(opened)
        scene = close_to(self._opened(fold_repeats(scene, self.graph)), self.graph, limit, outermost=2)
        return bundled(cut_across(close_to(fold(scene, limit), self.graph, limit), limit))

    def _whole(self, limit: int | None = None) -> Scene:
        """The scene with everything open; where there is a limit, loops are rolled if that makes it much smaller."""
        if not self.graph.nodes:
            raise ExportError(f"There is nothing to draw: the {self.view} graph is empty.")
        scene = build(self.graph, self.title, data=self.data, shown=self.shown, tags=self.tags, marks=self.marks)
        if self.flattened:
            scene = replace(scene, notes=(*scene.notes, f"modules deeper than {DEEPEST} have no frame"))
        if self.formulas:
            scene = with_formulas(scene, self.formulas, self.view)
        if self.inside:
            legend = tuple((style, "given" if style == "input" else words) for style, words in scene.legend)
            scene = replace(scene, legend=legend)
        if self.roll:
            scene = roll(scene, self.graph)
        elif self.roll is None and limit is not None:
            scene = rolled_if_smaller(scene, self.graph)
        scene = framed(scene, self.graph)
        if self.inline is not False:
            scene = inline(scene) if self.inline else inline_if_many(scene)
        return scene

    def _opened(self, scene: Scene) -> Scene:
        """The scene with modules open as deep as is asked for."""
        scene = split(scene)
        return scene if self.depth is None else close_below(scene, self.graph, self.depth)

    def placed(self) -> Placed:
        """The scene with positions; raises `ExportError` if there is nothing to show, or too much."""
        scene = self.scene(self.max_nodes)
        if len(scene.boxes) > LARGEST:
            raise ExportError(
                f"{len(scene.boxes):,} nodes are too many for a picture (the limit is {LARGEST:,}): "
                "choose the format dot, text or json, or a smaller part with --root."
            )
        return lay_out(scene)

    def paged(self) -> Placed:
        """The same, broken into columns where it is tall."""
        return in_columns(self.placed()) if self.columns and not self.formulas else self.placed()

    def levels(self) -> list[Fold]:
        """Of a scene that is too much for a page at once, the levels that are opened one at a time; else none."""
        if self.max_nodes is None:
            return []
        if len(self._whole(self.max_nodes).boxes) <= max(self.max_nodes, OPENABLE):
            return []
        return levels(split(self._whole()))

    def openable(self) -> tuple[Placed, Collection[str]]:
        """The same with modules that can be opened, as far as that is not too much, and those closed at first."""
        scene = replace(self, depth=None).scene(self.max_nodes and max(self.max_nodes, OPENABLE))
        closed = closed_at_first(scene, self.depth, self.max_nodes)
        return (self.placed(), ()) if closed is None or len(scene.boxes) > LARGEST else (lay_out(scene), closed)

    def insides(self, drawn: Iterable[Box]) -> dict[int, str]:
        """Pictures of what the backward of drawn nodes ran, where that was recorded."""
        found, keys = {}, {box.id for box in drawn}
        for node in (node for node in self.graph if f"n{node.id}" in keys):
            ran = None if node.measured is None else node.measured.inside
            if ran is not None and ran.nodes:
                title, shown = inside_words(node), (*self.shown, "formula")
                found[node.id] = to_svg(
                    Job(ran, "forward", title, None, shown=shown, inside=True, data=True).placed(), page=True
                )
        return found


@dataclass(frozen=True, slots=True)
class Format:
    """One output format: the usual end of its files, and how it is made."""

    suffix: str
    make: Callable[[Job], str | bytes]

    def of(self, job: Job) -> bytes:
        """What the format makes; in a text nothing but the ends of lines cannot be printed."""
        made = self.make(job)
        return made if isinstance(made, bytes) else visible_lines(made).encode()


PARAMETERS = {None: None, "inline": True, "boxes": False}
"""How the leaves of a picture are drawn, and the default."""
FLOWS = ("gradient", "data")
"""What the arrows between derivatives follow: the default first."""
View = Callable[[Graph, "tuple[str, ...] | None", "int | None", bool], Graph]
VIEWS: dict[str, View] = {
    "forward": lambda graph, roots, order, data: forward(graph, roots),
    "backward": lambda graph, roots, order, data: backward(graph, roots),
    "double-backward": lambda graph, roots, order, data: double_backward(graph, roots, order, data=data),
}


def _svg(job: Job) -> str:
    if job.layout in (None, BUILT_IN):
        return to_svg(job.paged())
    return graphviz_svg(job.scene(job.max_nodes), job.layout)


def _png(job: Job) -> bytes:
    placed = job.paged()
    scene = placed.scene
    if job.layout != "dot":
        shown = scene.title + "".join("".join((box.title, *box.below)) for box in scene.boxes)
        strange = next((c for c in shown if ord(c) >= 0x2E80 or 0x0590 <= ord(c) < 0x1E00), None)
        if strange:
            raise ExportError(f"The built-in PNG has no glyph for {strange!r}: choose svg, or the layout dot.")
    return png(placed, job.layout)


def _sheet(job: Job, key: str) -> Sheet:
    folds = job.levels()
    placed, closed = (folds[0].placed, ()) if folds else job.openable()
    whole, numbers = (job.graph, range(len(job.graph))) if job.whole is None else (job.whole, job.numbers)
    return Sheet(placed, job.graph, job.view, whole, numbers, closed, job.insides(placed.scene.boxes), key, folds[1:])


def _html(job: Job) -> str:
    sheet = _sheet(job, job.view)
    return to_html(Page(job.title, [sheet], job.view, job.graph, job.graph))


FORMATS: dict[str, Format] = {
    "svg": Format(".svg", _svg),
    "png": Format(".png", _png),
    "pdf": Format(".pdf", lambda job: to_pdf(job.paged())),
    "html": Format(".html", _html),
    "dot": Format(".dot", lambda job: to_dot(job.scene())),
    "mermaid": Format(".mmd", lambda job: to_mermaid(job.scene(job.max_nodes))),
    "graphml": Format(".graphml", lambda job: to_graphml(job.graph, data=job.data)),
    "text": Format(".txt", lambda job: job.graph.to_text(shown=job.shown)),
    "latex": Format(".tex", lambda job: to_latex(job.formulas, job.title)),
    "json": Format(".json", lambda job: job.graph.to_json().encode()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How a graph is drawn, whatever the view and the format."""

    roots: tuple[str, ...] | None = None
    """Only what these hang on."""
    order: int | None = None
    """The highest that the double-backward view shows."""
    part: Slice | None = None
    """What of the view is shown."""
    marks: bool = True
    """Mark where a gradient is cut, does not arrive, or is no number."""
    max_nodes: int | None = None
    """Where a picture has more boxes, loops are rolled if that makes it much smaller, equal modules in a row are drawn
    once, modules closed from the inside out, and chains folded, as far as it takes."""
    roll: bool | None = None
    """Roll loops in any case, or never."""
    layout: str | None = None
    title: str = ""
    shown: Collection[str] = USUAL
    """The facts that stand on the nodes (`graph.facts.WORDS`)."""
    depth: int | None = None
    """Modules further in are closed, to a box each; none if it is None."""
    tags: bool = True
    """Without them, leaves that are used far apart are one box each, too."""
    inside: str | None = None
    """Not the view is drawn, but what the backward of this node of it ran."""
    parameters: str | None = None
    """`inline` to write leaves on the operations that use them, or `boxes` to draw each; unless told, it depends on the
    number of operations."""
    columns: bool = True
    """Break a tall picture."""
    flow: str = FLOWS[0]
    """`data` to draw in the double-backward view how derivatives are computed, or `gradient` for their grad_fn chains.
    A page has the latter."""
    tracked_only: bool = False
    """Leave out the operations that autograd did not record."""
    formula: bool = False
    """Write what the script computed and its derivatives beside the picture as formulas."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Scripts by their names in the graph, for a page to show."""


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
    for what, name, known in (("view", view, VIEWS), ("format", format, FORMATS), ("flow", asked.flow, FLOWS)):
        if name not in known:
            raise ExportError(f"There is no {what} {name!r}; known ones: {', '.join(known)}.")
    if asked.layout is not None:
        find_program(asked.layout)
    if format == "html" and asked.inside is None:
        return to_html(_page(source, view, asked)).encode()
    return FORMATS[format].of(_job(_graph_of(source, view, asked), view, format, asked))


def _job(graph: Graph, view: str, format: str, asked: RenderOptions) -> Job:
    """What a format is made from, of one view of a graph whose names are told apart."""
    shown, part = asked.shown, asked.part
    names, title = None if asked.roots is None else tuple(asked.roots), visible(asked.title)
    flows = view == "double-backward" and asked.flow == "data" and format != "html"
    cut = VIEWS[view](graph, names, asked.order, flows)
    whole, numbers = None, None
    if asked.inside is not None:
        cut, words = open_node(cut, asked.inside, title or "FILE.py")
        title, view, shown = f"{title} · {words}".removeprefix(" · "), "forward", (*shown, "formula")
    else:
        check_recorded(graph, shown, title or "FILE.py")
        if format == "html":
            whole, numbers = graph, VIEWS[view](_numbered(graph), names, asked.order, False)
    if part:
        title = f"{title} · {part.words()} ({len(part.of(cut))} of {len(cut)} nodes)".removeprefix(" · ")
        numbers = numbers and part.of(numbers)
        cut = part.of(cut)
    own = () if numbers is None else [int(node.module) for node in numbers]
    marks: list[tuple[int, str]] = []
    found = marks_of(graph) if asked.marks and asked.inside is None else []
    if found:
        same = VIEWS[view](_numbered(graph), names, asked.order, flows)
        marks = _shown_marks(part.of(same) if part else same, found)
    shallow = cut if format in ("graphml", "text", "json") else flattened(cut, DEEPEST)
    return Job(
        shallow,
        view,
        title,
        asked.layout,
        max_nodes=asked.max_nodes,
        roll=asked.roll,
        shown=shown,
        depth=asked.depth,
        tags=asked.tags,
        inside=asked.inside is not None,
        flattened=shallow is not cut,
        whole=whole,
        numbers=own,
        inline=False if format == "html" else PARAMETERS[asked.parameters],
        columns=asked.columns,
        formulas=formulas_of(graph) if asked.formula or format == "latex" else (),
        data=flows or view == "forward",
        marks=marks,
    )


def _page(source: Graph | Step, view: str, asked: RenderOptions) -> Page:
    """All views of a step that there is something to see of.

    What cannot be shown of the view that was asked for is an error.
    """
    sheets, whole, ran = [], _graph_of(source, "double-backward", asked), _graph_of(source, "forward", asked)
    for key, its, order in _tabs(whole, view, asked.order):
        try:
            graph = whole if its == "double-backward" else ran
            sheets.append(_sheet(_job(graph, its, "html", replace(asked, order=order)), key))
        except (ExportError, GraphError):
            if key == view:
                raise
    formulas = [str(formula) for formula in formulas_of(whole)] if asked.formula else []
    return Page(visible(asked.title) or "autograph", sheets, view, whole, ran, asked.sources, formulas)


def _tabs(graph: Graph, asked: str, highest: int | None) -> Iterator[tuple[str, str, int | None]]:
    """The key of each tab, its view, and the highest order that it shows; the last has all orders."""
    yield from ((view, view, highest) for view in ("forward", "backward"))
    orders = max((node.order for node in graph), default=0)
    for order in range(1, min(orders, orders if highest is None else highest, MOST_TABS)):
        yield f"order-{order}", "double-backward", order
    if orders or asked == "double-backward":
        yield "double-backward", "double-backward", highest


def _shown_marks(numbered: Graph, marks: Iterable[Mark]) -> list[tuple[int, str]]:
    """The marks of what a view shows, whose nodes bear their numbers in the whole graph."""
    shown = {int(node.module): node.id for node in numbered}
    places = ((next((shown[node] for node in mark.nodes if node in shown), None), mark.words) for mark in marks)
    return list(dict.fromkeys((node, words) for node, words in places if node is not None))


def _numbered(graph: Graph) -> Graph:
    """The graph with nodes that bear their numbers, by which they are known again in a view of it."""
    return replace(graph, nodes=tuple(replace(node, module=str(node.id)) for node in graph))


def _graph_of(source: Graph | Step, view: str, asked: RenderOptions) -> Graph:
    """The graph that a view is one of, its names told apart."""
    graph = source if isinstance(source, Graph) else source.graph
    if isinstance(source, Step) and view == "double-backward" and source.double:
        graph = source.double
    return tracked(told_apart(graph)) if asked.tracked_only else told_apart(graph)


def notebook_svg(graph: Graph) -> str | None:
    """The picture of a graph in a notebook: a view as it is, a whole graph as its forward view; None if it is empty."""
    data = any(node.args for node in graph)
    shown = flattened(forward(graph) if data else graph, DEEPEST)
    if not shown.nodes or len(shown) > LARGEST:
        return None
    return to_svg(lay_out(split(framed(build(shown, "", data=data), shown))))


def notebook_html(trace: Trace) -> str | None:
    """The page of a trace in a notebook, of its last step that has a graph; None if none has."""
    steps = [step for step in trace.steps if len(step.graph)]
    if not steps:
        return None
    return in_frame(render(steps[-1], "forward", "html", title=trace.script, max_nodes=READABLE).decode())
