"""A step and a view in, the bytes of a picture or a text out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
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
from autograph_cli.export.layout.budget import within_budget
from autograph_cli.export.layout.direction import DIRECTIONS
from autograph_cli.export.layout.fitting import fitted, runs_right
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.page.html import Page, Sheet, in_frame, to_html
from autograph_cli.export.page.levels import Fold, levels
from autograph_cli.export.page.panels import Panels
from autograph_cli.export.scene.colouring import COLOURS, amounts, coloured
from autograph_cli.export.scene.formula_lines import to_latex, with_formulas
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.parameters import inline, inline_if_many, with_state
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.scene import Box, Scene, build, differentiated_in
from autograph_cli.export.scene.titles import title_of
from autograph_cli.export.simplify.bundling import bundled
from autograph_cli.export.simplify.closing import close_below, close_to, closed_at_first
from autograph_cli.export.simplify.folding import fold
from autograph_cli.export.simplify.partition import cut_across
from autograph_cli.export.simplify.repeats import fold_repeats
from autograph_cli.export.simplify.rolling import roll, rolled_if_smaller
from autograph_cli.export.simplify.said_once import said_once
from autograph_cli.formulas import Formula, formulas_of
from autograph_cli.graph import (
    Graph,
    GraphError,
    Slice,
    Step,
    Trace,
    backward,
    computed,
    double_backward,
    forward,
    open_node,
    tracked,
)
from autograph_cli.graph.collector import resting
from autograph_cli.graph.derivatives import gradient_sums
from autograph_cli.graph.facts import USUAL, check_recorded
from autograph_cli.graph.marks import Mark, marks_of
from autograph_cli.graph.names import told_apart, visible, visible_bytes, visible_joined
from autograph_cli.graph.nesting import flattened
from autograph_cli.graph.opened import inside_of, inside_words
from autograph_cli.graph.reader_level import LEVELS, USER, Written, as_written

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
MOST_FLOWING = 5_000
"""Nodes up to which a page has derivatives as they were computed as well, and not their gradient graph alone."""
DATA = ".data"
"""The end of the key of such a sheet."""


class Job(Struct, frozen=True):
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
    sliced: bool = False
    """Whether it is a part of a view, which may lack some of what sends a gradient."""
    flattened: bool = False
    """Whether modules were deeper in one another than is drawn."""
    whole: Graph | None = None
    """The graph that this is a view of, unless it is itself."""
    numbers: Sequence[int] = ()
    """Of each node, its number there."""
    inline: bool | None = None
    """Whether leaves are written on the operations that use them; None: where there are many operations."""
    direction: str = DIRECTIONS[0]
    columns: bool = True
    page: bool = False
    """Whether it is for a page, on which boxes open and close: all arrows have their shapes."""
    formulas: tuple[Formula, ...] = ()
    """What stands beside the bands, or is written alone."""
    data: bool = False
    """Whether arrows follow the data."""
    marks: Sequence[tuple[int, str]] = ()
    """What is wrong, by node."""
    colour: str | None = None
    """What the colours of boxes tell."""
    differentiated: Collection[str] | None = None
    """The names of roots at which backward passes began."""
    sums: Mapping[int, str] | None = None
    """The nodes that add up gradients, and of which tensor."""
    written: bool = False
    """Whether it is drawn as the script was written, with the parameters of modules on what uses them."""
    budget: bool = False
    """Whether it is folded until it fits a page."""
    single: Collection[int] = ()
    """The calls of modules that are one node each."""

    def scene(self, limit: int | None = None) -> Scene:
        """The scene of the view, folded above this many boxes; raises `ExportError` if there is nothing to show."""
        return self._finished(self._folded(self._whole(limit), limit))

    def _finished(self, scene: Scene) -> Scene:
        scene = bundled(scene)
        scene = scene if self.colour is None else coloured(scene, self.colour)
        return scene if self.page else said_once(scene)

    def _folded(self, scene: Scene, limit: int | None) -> Scene:
        opened = self._opened(scene)
        if limit is None or len(opened.boxes) <= limit:
            return opened
        scene = close_to(self._opened(fold_repeats(scene, self.graph)), self.graph, limit, outermost=2)
        return cut_across(close_to(fold(scene, limit), self.graph, limit), self.graph, limit)

    def _whole(self, limit: int | None = None) -> Scene:
        """The scene with everything open; where there is a limit, loops are rolled if that makes it much smaller."""
        return self._framed(self._rolled(self._built(), limit))

    def _built(self) -> Scene:
        if not self.graph.nodes:
            raise ExportError(f"There is nothing to draw: the {self.view} graph is empty.")
        scene = build(
            self.graph,
            self.title,
            data=self.data,
            shown=self.shown,
            tags=self.tags,
            marks=self.marks,
            brief=self.page,
            flows=not self.page and (self.data or not self.sliced),
            differentiated=self.differentiated,
            sums=self.sums,
            written=self.written,
        )
        if self.colour is not None:
            taken = amounts(self.graph, self.colour, self.view, self.title)
            scene = replace(scene, boxes=tuple(replace(box, amount=taken.get(box.id)) for box in scene.boxes))
        if self.flattened:
            scene = replace(scene, notes=(*scene.notes, f"modules deeper than {DEEPEST} have no frame"))
        if self.formulas:
            scene = with_formulas(scene, self.formulas, self.view)
        if self.inside:
            legend = tuple((style, "given" if style == "input" else words) for style, words in scene.legend)
            scene = replace(scene, legend=legend)
        return scene

    def _rolled(self, scene: Scene, limit: int | None) -> Scene:
        if self.roll:
            return roll(scene, self.graph)
        return rolled_if_smaller(scene, self.graph) if self.roll is None and limit is not None else scene

    def _framed(self, scene: Scene) -> Scene:
        scene = framed(scene, self.graph, self.single)
        if self.written and self.inline is not False:
            scene = with_state(scene, self.graph)
        if self.inline is not False:
            scene = inline(scene) if self.inline else inline_if_many(scene, beside=self.written)
        return scene

    def _opened(self, scene: Scene) -> Scene:
        """The scene with modules open as deep as is asked for."""
        scene = split(scene)
        return scene if self.depth is None else close_below(scene, self.graph, self.depth)

    def drawable(self) -> Scene:
        """The scene of a picture; raises `ExportError` if there is nothing to show, or too much."""
        scene = self.scene(self.max_nodes)
        if len(scene.boxes) > LARGEST:
            raise ExportError(
                f"{len(scene.boxes):,} nodes are too many for a picture (the limit is {LARGEST:,}): "
                "choose the format dot, text or json, or a smaller part with --root."
            )
        return scene

    def placed(self) -> Placed:
        """The scene with positions, from the top down."""
        return lay_out(self.drawable())

    def fitted(self) -> Placed:
        """The same as it fits a page: to the right, or broken into columns; by default folded until it does."""
        scene = self.drawable()
        if not self.budget:
            return fitted(scene, self.direction, columns=self.columns)
        whole = self._whole(self.max_nodes)
        folded = lambda limit: self._finished(self._folded(whole, limit))  # noqa: E731
        return within_budget(scene, folded, self.direction, columns=self.columns)

    def on_page(self) -> tuple[Placed, Collection[str], list[Fold]]:
        """The scene with modules that can be opened, and those closed at first.

        What is too much for a page at once is a tree of levels instead, which are opened one at a time.
        """
        built = self._built()
        rolled = self._rolled(built, self.max_nodes)
        whole = self._framed(rolled)
        most = None if self.max_nodes is None else max(self.max_nodes, OPENABLE)
        if most is not None and len(whole.boxes) > most:
            first, *folds = levels(split(whole if rolled is built else self._framed(built)), self.graph)
            return first.placed, (), folds
        scene = self._finished(replace(self, depth=None)._folded(whole, most))
        closed = closed_at_first(scene, self.depth, self.max_nodes)
        if closed is None or len(scene.boxes) > LARGEST:
            return self.placed(), (), []
        return lay_out(scene), closed, []

    def insides(self, drawn: Iterable[Box]) -> dict[int, str]:
        """Pictures of what the backward of drawn nodes ran, where that was recorded."""
        found, keys = {}, {box.id for box in drawn}
        for node in (node for node in self.graph if f"n{node.id}" in keys):
            if node.measured is not None and node.measured.inside is not None and node.measured.inside.nodes:
                ran = inside_of(self.graph, node)
                title, shown = inside_words(node), (*self.shown, "formula")
                found[node.id] = to_svg(
                    Job(ran, "forward", title, None, shown=shown, inside=True, data=True).placed(), page=True
                )
        return found


class Format(Struct, frozen=True):
    """One output format: the usual end of its files, and how it is made."""

    suffix: str
    make: Callable[[Job], str | bytes]

    def of(self, job: Job) -> bytes:
        """What the format makes; in a text nothing but the ends of lines cannot be printed."""
        made = self.make(job)
        return made if isinstance(made, bytes) else visible_bytes(made)


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
        return to_svg(job.fitted())
    scene = job.scene(job.max_nodes)
    return graphviz_svg(scene, job.layout, right=runs_right(scene, job.direction))


def _png(job: Job) -> bytes:
    return png(job.fitted(), job.layout)


def _sheet(job: Job, key: str) -> Sheet:
    placed, closed, folds = job.on_page()
    whole, numbers = (job.graph, range(len(job.graph))) if job.whole is None else (job.whole, job.numbers)
    return Sheet(placed, job.graph, job.view, whole, numbers, closed, job.insides(placed.scene.boxes), key, folds)


def _dot(job: Job) -> bytes:
    scene = job.scene()
    return visible_joined(dot_lines(scene, right=runs_right(scene, job.direction)))


def _mermaid(job: Job) -> str:
    scene = job.scene(job.max_nodes)
    return to_mermaid(scene, right=runs_right(scene, job.direction))


def _html(job: Job) -> str:
    sheet = _sheet(job, job.view)
    return to_html(Page(job.title, [sheet], job.view, job.graph, job.graph))


def _model_explorer(job: Job) -> str:
    return to_model_explorer(job.graph, job.view, job.title, job.shown, data=job.data)


def _node_data(job: Job) -> str:
    """The numbers of `--colour`, or else the bytes."""
    word = job.colour or "bytes"
    return to_node_data(job.view, word, amounts(job.graph, word, job.view, job.title))


def _onnx(job: Job) -> bytes:
    if job.view != "forward":
        raise ExportError(f"ONNX holds what a script computed, not its derivatives: choose forward, not {job.view}.")
    if job.whole is None or job.sliced:
        return to_onnx(job.graph, job.title)
    return to_onnx(computed(job.whole, [root.name for root in job.graph.roots] or None), job.title)


DRAWN = ("svg", "png", "pdf", "dot", "mermaid")
"""Formats that are pictures, which show what the script wrote."""
WHOLE = ("graphml", "gexf", "cytoscape", "model-explorer", "onnx", "text", "json")
"""Formats in which modules may be as deep in one another as they are."""
FORMATS: dict[str, Format] = {
    "svg": Format(".svg", _svg),
    "png": Format(".png", _png),
    "pdf": Format(".pdf", lambda job: to_pdf(job.fitted())),
    "html": Format(".html", _html),
    "dot": Format(".dot", _dot),
    "mermaid": Format(".mmd", _mermaid),
    "graphml": Format(".graphml", lambda job: to_graphml(job.graph, data=job.data)),
    "gexf": Format(".gexf", lambda job: to_gexf(job.graph, data=job.data)),
    "cytoscape": Format(".cyjs", lambda job: to_cytoscape(job.graph, data=job.data)),
    "model-explorer": Format(".explorer.json", _model_explorer),
    "model-explorer-data": Format(".data.json", _node_data),
    "onnx": Format(".onnx", _onnx),
    "text": Format(".txt", lambda job: job.graph.to_text(shown=job.shown)),
    "latex": Format(".tex", lambda job: to_latex(job.formulas, job.title)),
    "json": Format(".json", lambda job: job.graph.to_json().encode()),
}


class RenderOptions(Struct, frozen=True, kw_only=True):
    """How a graph is drawn, whatever the view and the format."""

    roots: tuple[str, ...] | None = None
    """Only what these hang on."""
    order: int | None = None
    """The highest that the double-backward view shows."""
    part: Slice | None = None
    """What of the view is shown."""
    marks: bool = True
    """Mark where a gradient is cut, does not arrive, or is no number."""
    colour: str | None = None
    """Colour the boxes by this (`colouring.COLOURS`)."""
    max_nodes: int | None = None
    """Where a picture has more boxes, loops are rolled if that makes it much smaller, equal modules in a row are drawn
    once, modules closed from the inside out, and chains folded, as far as it takes."""
    roll: bool | None = None
    """Roll loops in any case, or never."""
    layout: str | None = None
    title: str = ""
    """The script; the title of a picture says the view, the roots and the step too."""
    total_steps: int = 0
    """How many steps the script made."""
    shown: Collection[str] = USUAL
    """The facts that stand on the nodes (`graph.facts.WORDS`)."""
    level: str = LEVELS[0]
    """`user` to draw the forward view as the script was written, a layer or a call of a function a box each; `aten` to
    draw each operation that ran. Formats for other programs have all operations."""
    depth: int | None = None
    """Modules further in are closed, to a box each; none if it is None."""
    tags: bool = True
    """Without them, leaves that are used far apart are one box each, too."""
    inside: str | None = None
    """Not the view is drawn, but what the backward of this node of it ran."""
    parameters: str | None = None
    """`inline` to write leaves on the operations that use them, or `boxes` to draw each; unless told, it depends on the
    number of operations."""
    direction: str = DIRECTIONS[0]
    """`down` or `right`; `auto` is as fits a page better. A page of all views runs down."""
    columns: bool = True
    """Break a tall picture that runs down."""
    flow: str = FLOWS[0]
    """`data` to draw in the double-backward view how derivatives are computed, or `gradient` for their grad_fn chains.
    A page has both, and begins with this one."""
    tracked_only: bool = False
    """Leave out the operations that autograd did not record."""
    formula: bool = False
    """Write what the script computed and its derivatives beside the picture as formulas."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Scripts by their names in the graph, for a page to show."""
    panels: Panels = field(default_factory=Panels)
    """What a page shows of the run beside its pictures."""


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
    for what, name, known in (
        ("view", view, VIEWS),
        ("format", format, FORMATS),
        ("flow", asked.flow, FLOWS),
        ("direction", asked.direction, DIRECTIONS),
        ("level", asked.level, LEVELS),
    ):
        if name not in known:
            raise ExportError(f"There is no {what} {name!r}; known ones: {', '.join(known)}.")
    if asked.colour is not None and asked.colour not in COLOURS:
        raise ExportError(f"There is no colour {asked.colour!r}; known ones: {', '.join(COLOURS)}.")
    if asked.layout is not None:
        find_program(asked.layout)
    if format == "html" and asked.inside is None:
        return to_html(_page(source, view, asked)).encode()
    job = _job(_graph_of(source, view, asked), view, format, asked)
    if job.title:
        title = title_of(job.title, "" if job.inside else job.view, source, asked.total_steps, asked.roots)
        job = replace(job, title=title)
    return FORMATS[format].of(job)


def _job(graph: Graph, view: str, format: str, asked: RenderOptions) -> Job:
    """What a format is made from, of one view of a graph whose names are told apart."""
    shown, part = asked.shown, asked.part
    names, title = None if asked.roots is None else tuple(asked.roots), visible(asked.title)
    flows = view == "double-backward" and asked.flow == "data"
    numbers: Sequence[int]
    opened = asked.inside is not None
    if asked.inside is not None:
        whole, words = open_node(VIEWS[view](graph, names, asked.order, flows), asked.inside, title or "FILE.py")
        title, view, shown = f"{title} · {words}".removeprefix(" · "), "forward", (*shown, "formula")
        cut, numbers = whole, range(len(whole))
    else:
        check_recorded(graph, shown, title or "FILE.py")
        whole, cut = graph, VIEWS[view](graph, names, asked.order, flows)
        numbers = cut.numbers
    if part:
        every, cut = len(cut), part.of(cut)
        title = f"{title} · {part.words()} ({len(cut)} of {every} nodes)".removeprefix(" · ")
        numbers = [numbers[number] for number in cut.numbers]
    marks = _shown_marks(numbers, marks_of(graph)) if asked.marks and not opened else []
    sums = {} if opened else gradient_sums(graph)
    written = asked.level == USER and view == "forward" and format in DRAWN and not opened
    level = as_written(cut) if written else Written(cut)
    if written:
        cut, numbers = level.graph, [numbers[old] for old in _lasts(level.places)]
        marks = [(level.places[node], words) for node, words in marks if node in level.places]
    shallow = cut if format in WHOLE else flattened(cut, DEEPEST)
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
        inside=opened,
        sliced=bool(part) or names is not None,
        flattened=shallow is not cut,
        whole=graph if format == "onnx" or (format == "html" and not opened) else None,
        numbers=numbers,
        inline=False if format == "html" else PARAMETERS[asked.parameters],
        direction=asked.direction,
        columns=asked.columns,
        page=format == "html",
        formulas=formulas_of(graph) if asked.formula or format == "latex" else (),
        data=flows or view == "forward",
        marks=marks,
        colour=asked.colour,
        differentiated=differentiated_in(graph),
        sums=None if opened else {place: sums[number] for place, number in enumerate(numbers) if number in sums},
        written=written,
        budget=asked.level == USER and asked.max_nodes is not None and asked.depth is None,
        single=level.calls,
    )


def _lasts(places: Mapping[int, int]) -> list[int]:
    """Of each node of a graph that was merged, the last that is a part of it."""
    last = {new: old for old, new in sorted(places.items())}
    return [last[new] for new in sorted(last)]


def _page(source: Graph | Step, view: str, asked: RenderOptions) -> Page:
    """All views of a step that there is something to see of.

    What cannot be shown of the view that was asked for is an error.
    """
    sheets, whole, ran = [], _graph_of(source, "double-backward", asked), _graph_of(source, "forward", asked)
    first = view + (DATA if view == "double-backward" and asked.flow == "data" else "")
    for key, its, order, flow in _tabs(whole, first, asked.order):
        try:
            graph = whole if its == "double-backward" else ran
            title = asked.title and title_of(asked.title, its, source, asked.total_steps, asked.roots)
            sheets.append(_sheet(_job(graph, its, "html", replace(asked, title=title, order=order, flow=flow)), key))
        except (ExportError, GraphError):
            if key == first:
                raise
    formulas = [str(formula) for formula in formulas_of(whole)] if asked.formula else []
    return Page(visible(asked.title) or "autograph", sheets, first, whole, ran, asked.sources, formulas, asked.panels)


def _tabs(graph: Graph, first: str, highest: int | None) -> Iterator[tuple[str, str, int | None, str]]:
    """The key of each sheet, its view, the highest order that it shows, and its flow; the last ones have all orders."""
    yield from ((view, view, highest, FLOWS[0]) for view in ("forward", "backward"))
    orders = max((node.order for node in graph), default=0)
    below = min(orders, orders if highest is None else highest, MOST_TABS)
    tabs: list[tuple[str, int | None]] = [(f"order-{order}", order) for order in range(1, below)]
    if orders or first.startswith("double-backward"):
        tabs.append(("double-backward", highest))
    for key, order in tabs:
        yield key, "double-backward", order, "gradient"
        if len(graph) <= MOST_FLOWING or first == key + DATA:
            yield key + DATA, "double-backward", order, "data"


def _shown_marks(numbers: Sequence[int], marks: Sequence[Mark]) -> list[tuple[int, str]]:
    """The marks of what a view shows, of each of whose nodes this is the number in the whole graph."""
    shown = {number: place for place, number in enumerate(numbers)} if marks else {}
    places = ((next((shown[node] for node in mark.nodes if node in shown), None), mark.words) for mark in marks)
    return list(dict.fromkeys((node, words) for node, words in places if node is not None))


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
    """The page of a trace in a notebook, of its main step; None if none has a graph."""
    step = trace.main_step()
    if step is None:
        return None
    return in_frame(render(step, "forward", "html", title=trace.script, max_nodes=READABLE).decode())
