"""A view of a graph, as a picture shows it: which nodes, under which names, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.options import PARAMETERS, RenderOptions
from autograph_cli.export.scene.building import differentiated_in
from autograph_cli.formulas import Formula, formulas_of
from autograph_cli.graph import Graph, Node, Step, backward, double_backward, forward, open_node, tracked
from autograph_cli.graph.derivatives import derivative_names, gradient_sums
from autograph_cli.graph.facts import check_recorded
from autograph_cli.graph.marks import Mark, marks_of
from autograph_cli.graph.names import numbered_if_several, told_apart, visible
from autograph_cli.graph.nesting import flattened
from autograph_cli.graph.reader_level import USER, as_written
from autograph_cli.graph.views import CUT, is_cut

DEEPEST = 64
"""Frames within one another, at most: what is deeper is drawn in the innermost of these."""
View = Callable[[Graph, "tuple[str, ...] | None", "int | None", bool], Graph]
VIEWS: dict[str, View] = {
    "forward": lambda graph, roots, order, data: forward(graph, roots),
    "backward": lambda graph, roots, order, data: backward(graph, roots),
    "double-backward": lambda graph, roots, order, data: double_backward(graph, roots, order, data=data),
}
DRAWN = ("svg", "png", "pdf", "html", "dot", "mermaid")
"""Formats that are pictures, which show what the script wrote."""
WHOLE = ("graphml", "gexf", "cytoscape", "model-explorer", "onnx", "text", "json")
"""Formats in which modules may be as deep in one another as they are."""


class Whole(Struct, frozen=True):
    """A graph that views are taken of, its names told apart, with what all its views have in common."""

    graph: Graph
    formulas: tuple[Formula, ...]
    marks: Sequence[Mark]
    differentiated: Collection[str]
    """The names of roots at which backward passes began."""
    sums: Mapping[int, str]
    """The nodes that add up gradients, and of which tensor."""
    derived: Mapping[int, str]
    """The derivatives that passes resulted in, in words."""
    made: str = ""
    """The way in which autograph made this graph, if the script did not."""


class Picture(Struct, frozen=True):
    """A view, how it is drawn, and the facts about its nodes: all that a format is made from."""

    graph: Graph
    """The view."""
    view: str
    title: str
    options: RenderOptions
    data: bool = False
    """True if arrows follow the data."""
    page: bool = False
    """True for a page, on which boxes open and close: all arrows have their shapes."""
    sliced: bool = False
    """True for a part of a view, which may lack nodes that send a gradient."""
    made: str = ""
    """The way in which autograph made the graph behind this view, if the script did not."""
    flattened: bool = False
    """True if modules were deeper in one another than is drawn."""
    whole: Graph | None = None
    """The graph that this is a view of; None for what ran inside of a node."""
    numbers: Sequence[int] = ()
    """The number of each node there."""
    formulas: tuple[Formula, ...] = ()
    """The formulas beside the bands, or written alone."""
    marks: Sequence[tuple[int, str]] = ()
    """The marks of faults, by node."""
    differentiated: Collection[str] | None = None
    sums: Mapping[int, str] | None = None
    parts: Mapping[int, Sequence[int]] = {}
    """The nodes there that a node of the view stands for, where they are several."""
    written: frozenset[int] | None = None
    """The nodes that stand for several operations, if it is drawn as the script was written."""
    chips: bool = False
    """True if parameters and buffers of modules stand on the boxes that use them."""
    single: Collection[int] = ()
    """The calls of modules that are one node each."""


def whole_of(source: Graph | Step, view: str, options: RenderOptions, *, formulas: bool) -> Whole:
    """Return the graph that a view is one of, with its `formulas` if these are asked for."""
    graph, made = source if isinstance(source, Graph) else source.graph, ""
    if isinstance(source, Step) and view == "double-backward" and source.double:
        graph, made = source.double, source.derived
    older = source.older if isinstance(source, Step) and not options.tracked_only and not made else 0
    graph = told_apart(graph)
    graph = tracked(graph) if options.tracked_only else graph
    return Whole(
        graph,
        formulas_of(graph) if formulas else (),
        marks_of(graph, options.held, options.hooks, older) if options.marks else (),
        differentiated_in(graph),
        gradient_sums(graph),
        derivative_names(graph),
        made,
    )


def picture_of(whole: Whole, view: str, format: str, options: RenderOptions) -> Picture:
    """Take a view of a graph: the roots, the part and the order that were asked for, or the inside of a node."""
    graph, page = whole.graph, format == "html"
    roots, title = None if options.roots is None else tuple(options.roots), visible(options.title)
    flows = view == "double-backward" and options.flow == "data"
    opened = options.inside is not None
    if not opened:
        check_recorded(graph, options.shown, title or "FILE.py")
    cut = VIEWS[view](graph, roots, options.order, flows)
    numbers: Sequence[int] = cut.numbers
    if options.inside is not None:
        cut, words = open_node(cut, options.inside, title or "FILE.py")
        numbers, view, title = range(len(cut)), "forward", f"{title} · {words}".removeprefix(" · ")
        options = replace(options, shown=(*options.shown, "formula"))
    if options.part:
        every, cut = len(cut), options.part.of(cut)
        title = f"{title} · {options.part.words()} ({len(cut)} of {every} nodes)".removeprefix(" · ")
        numbers = [numbers[number] for number in cut.numbers]
    marks = [] if opened else _shown_marks(numbers, whole.marks)
    chips, single = options.level == USER and format in DRAWN and not opened, frozenset[int]()
    written: frozenset[int] | None = None
    parts: dict[int, list[int]] = {}
    if chips and view == "forward":
        level = as_written(cut)
        cut, single, written = level.graph, level.calls, level.several
        parts = level.parts(numbers)
        numbers = [numbers[old] for old in level.lasts()]
        marks = [(level.places[node], words) for node, words in marks if node in level.places]
    if format in DRAWN and format != "html" and not whole.formulas:  # a page and formulas tell all holders apart
        cut = numbered_if_several(cut)
    if chips and view == "forward" and whole.derived:
        cut = replace(cut, nodes=tuple(map(_in_words, cut, map(whole.derived.get, numbers))))
    shallow = cut if format in WHOLE else flattened(cut, DEEPEST)
    sums = {place: whole.sums[number] for place, number in enumerate(numbers) if number in whole.sums}
    return Picture(
        shallow,
        view,
        title,
        options,
        data=flows or view == "forward",
        page=page,
        sliced=bool(options.part) or roots is not None,
        made=whole.made,
        flattened=shallow is not cut,
        whole=None if opened else graph,
        numbers=numbers,
        parts=parts,
        formulas=whole.formulas,
        marks=marks,
        differentiated=whole.differentiated,
        sums=None if opened else sums,
        written=written,
        chips=chips and PARAMETERS[options.parameters] is not False,
        single=single,
    )


def _in_words(node: Node, words: str | None) -> Node:
    """A derivative at the border of a forward view in words, outside of modules; any other node as it is."""
    return replace(node, op=f"{CUT}{words}", call=None) if words and is_cut(node) else node


def _shown_marks(numbers: Sequence[int], marks: Sequence[Mark]) -> list[tuple[int, str]]:
    """Return the marks of what a view shows, of each of whose nodes this is the number in the whole graph."""
    shown = {number: place for place, number in enumerate(numbers)} if marks else {}
    places = ((next((shown[node] for node in mark.nodes if node in shown), None), mark.words) for mark in marks)
    return list(dict.fromkeys((node, words) for node, words in places if node is not None))
