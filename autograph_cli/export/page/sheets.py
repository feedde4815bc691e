"""The sheets of a page: a tab for each view and order of derivative, with modules that open and close."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.options import FLOWS, RenderOptions
from autograph_cli.export.page.html import Page, Sheet
from autograph_cli.export.page.kept_steps import WHOLE, replaced, structures_of
from autograph_cli.export.page.levels import RUN, Fold, levels
from autograph_cli.export.page.run_facts import told_run
from autograph_cli.export.picture import Picture, Whole, picture_of, whole_of
from autograph_cli.export.pipeline import (
    LARGEST,
    boxes_and_arrows,
    drawable,
    finished,
    in_modules,
    made_small,
    with_loops,
)
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Box
from autograph_cli.export.scene.titles import title_of
from autograph_cli.export.simplify.closing import closed_at_first
from autograph_cli.graph import Graph, GraphError, Slice, Step
from autograph_cli.graph.names import visible
from autograph_cli.graph.opened import inside_of, inside_words
from autograph_cli.graph.outline import outlined
from autograph_cli.graph.reader_level import ATEN, USER

OPENABLE = 1_000
"""Boxes up to which a page has all modules to open, even if fewer are asked for at first."""
MOST_TABS = 6
"""Orders of derivative that have a tab of their own."""
MOST_FLOWING = 5_000
"""Nodes up to which a page has derivatives as they were computed as well, and not their gradient graph alone."""
OUTLINED = 5_000
"""Runs of nodes that an outline has, about."""
DATA, ATEN_END = ".data", ".aten"
"""The ends of the keys of such sheets, and of the forward view with all operations."""


def page_of(source: Graph | Step, view: str, options: RenderOptions) -> Page:
    """Make a page of all views of a step that there is something to see of, and of the other steps of its run.

    What cannot be shown of the view that was asked for is an error.
    """
    trace = options.panels.trace
    if not isinstance(source, Step) or trace is None:
        return _page(source, view, options)
    if len(trace.steps) > 1:
        options = replace(options, total_steps=0)  # the title stands above all steps of one structure
    steps, drawn = structures_of(source, trace, view, options)
    options = replace(options, panels=replace(options.panels, findings=replaced(options.panels.findings, steps)))
    first, *others = [_page(step, _seen(step, view, source), options) for step in drawn]
    return replace(
        first, others=others, run=told_run(options, trace, steps, drawn), measured=[s.measured for s in steps]
    )


def _coarse(source: Graph | Step, view: str, options: RenderOptions) -> tuple[Graph | Step, RenderOptions, str]:
    """Return what a page is made of: of a graph that is too large for one, an outline, with words for what it is."""
    derived = source.double if isinstance(source, Step) and view == "double-backward" else None
    graph = derived or (source if isinstance(source, Graph) else source.graph)
    if options.max_nodes is None or options.inside is not None or len(graph) <= WHOLE:
        return source, options, ""
    place, words = {node.id: node.id for node in graph}, ""
    if options.part:
        graph = options.part.of(graph)
        place = {old: new for new, old in enumerate(graph.numbers)}
        options = replace(options, part=None, title=f"{options.title} · {options.part.words()}".removeprefix(" · "))
    if len(graph) > WHOLE:
        outline = outlined(graph, OUTLINED)
        place = {old: outline.place[new] for old, new in place.items() if new in outline.place}
        words = f"An outline of {len(graph):,} nodes: about {outline.size:,} that ran in a row are a box each."
        words += " `autograph open --module PATH` shows what is in a module." if graph.calls else ""
        graph = outline.graph
    findings = [
        replace(finding, nodes=tuple(dict.fromkeys(place[number] for number in finding.nodes if number in place)))
        for finding in options.panels.findings
    ]
    options = replace(options, level=ATEN, marks=False, panels=replace(options.panels, findings=findings))
    return graph if isinstance(source, Graph) else replace(source, graph=graph, double=None), options, words


def _seen(step: Step, view: str, shown: Step) -> str:
    """The view that a page of another step begins with."""
    return view if step is shown or view != "double-backward" or step.double is not None else "forward"


def _page(source: Graph | Step, view: str, options: RenderOptions) -> Page:
    source, options, words = _coarse(source, view, options)
    ran = whole = whole_of(source, view, options, formulas=options.formula)
    if isinstance(source, Step) and source.double and view == "double-backward":
        ran = whole_of(source, "forward", options, formulas=options.formula)
    elif isinstance(source, Step) and source.double:
        whole = whole_of(source, "double-backward", options, formulas=options.formula)
    first = view + (DATA if view == "double-backward" and options.flow == "data" else "")

    def drawn(key: str, its: str, changes: dict[str, Any]) -> Picture:
        title = options.title and title_of(options.title, its, source, options.total_steps, options.roots)
        asked = replace(options, **{"title": title, "flow": FLOWS[0], **changes})
        return picture_of(whole if its == "double-backward" else ran, its, "html", asked)

    sheets = _sheets(_tabs(whole, first, options), drawn, first, RUN if words else "node")
    title, formulas = visible(options.title) or "autograph", [str(formula) for formula in whole.formulas]
    number = source.number if isinstance(source, Step) else None
    told = options.sources, formulas, options.panels, number
    return Page(title, sheets, first, whole.graph, ran.graph, *told, about=words)


def _sheets(
    tabs: Iterable[tuple[str, str, dict[str, Any]]], drawn: Callable[..., Picture], first: str, unit: str
) -> Iterator[Sheet]:
    """Make the sheet of each tab when it is asked for, and hold none: together they take more room than all else."""
    sizes: list[int] = []
    for tab in tabs:
        try:
            picture = drawn(*tab)
            if tab[0].endswith(ATEN_END) and sizes[:1] == [len(picture.graph)]:
                continue
            sizes.append(len(picture.graph))
            made = [sheet_of(picture, tab[0], unit)]
        except (ExportError, GraphError):
            if tab[0] == first:
                raise
        else:
            del picture
            yield made.pop()


def _tabs(whole: Whole, first: str, options: RenderOptions) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """List the key of each sheet, its view, and what it asks for: each order alone, then all of them."""
    small = len(whole.graph) <= MOST_FLOWING
    yield "forward", "forward", {}
    if small and options.level == USER:
        yield "forward" + ATEN_END, "forward", {"level": ATEN}
    yield "backward", "backward", {}
    orders = max((node.order for node in whole.graph), default=0)
    highest = min(orders, orders if options.order is None else options.order, MOST_TABS)
    tabs: list[tuple[str, dict[str, Any]]] = []
    if not options.part:
        tabs = [(f"order-{order}", {"order": order, "part": Slice(order=order)}) for order in range(1, highest + 1)]
    if orders or first.startswith("double-backward"):
        tabs.append(("double-backward", {}))
    for key, asked in tabs:
        yield key, "double-backward", {**asked, "flow": "gradient"}
        if small or first == key + DATA:
            yield key + DATA, "double-backward", {**asked, "flow": "data"}


def sheet_of(picture: Picture, key: str, unit: str = "node") -> Sheet:
    """Make one sheet, whose boxes are each so much."""
    placed, closed, folds = _openable(picture, unit)
    graph, whole, numbers = picture.graph, picture.whole, picture.numbers
    if whole is None:
        whole, numbers = graph, range(len(graph))
    insides = _insides(picture, placed.scene.boxes)
    return Sheet(placed, graph, picture.view, whole, numbers, closed, insides, picture.parts, key, folds)


def _openable(picture: Picture, unit: str) -> tuple[Placed, Collection[str], list[Fold]]:
    """Lay out the scene with modules that can be opened, and list those closed at first.

    What is too much for a page at once is a tree of levels instead, which are opened one at a time.
    """
    graph, depth, limit = picture.graph, picture.options.depth, picture.options.max_nodes
    built = replace(boxes_and_arrows(picture), unit=unit)
    rolled = with_loops(built, picture, limit)
    most = None if limit is None else max(limit, OPENABLE)
    large = most is not None and sum(box.style not in ("leaf", "input") for box in rolled.boxes) > most
    whole = rolled if large else in_modules(rolled, picture)
    if most is not None and len(whole.boxes) > most:
        first, *folds = levels(split(framed(built, graph, picture.single)), graph)
        return first.placed, (), folds
    scene = finished(made_small(whole, graph, None, most), picture)
    closed = closed_at_first(scene, depth, limit)
    if closed is None or len(scene.boxes) > LARGEST:
        return lay_out(drawable(picture)), (), []
    return lay_out(scene), closed, []


def _insides(picture: Picture, drawn: Iterable[Box]) -> dict[int, str]:
    """Draw what the backward of drawn nodes ran, where that was recorded."""
    pictures, keys = {}, {box.id for box in drawn}
    for node in (node for node in picture.graph if f"n{node.id}" in keys):
        if node.measured is not None and node.measured.inside is not None and node.measured.inside.nodes:
            options = RenderOptions(shown=(*picture.options.shown, "formula"), inside=node.name)
            ran = Picture(inside_of(picture.graph, node), "forward", inside_words(node), options, data=True)
            pictures[node.id] = to_svg(lay_out(drawable(ran)), page=True)
    return pictures
