"""The stages of a picture, in their order: from a view of a graph to a scene, and from that to positions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograph_cli.export.errors import ExportError
from autograph_cli.export.layout.fitting import fitted, within_budget
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.options import PARAMETERS
from autograph_cli.export.picture import DEEPEST, Picture
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.colouring import amounts, coloured
from autograph_cli.export.scene.formula_lines import with_formulas
from autograph_cli.export.scene.modules import framed, without_empty
from autograph_cli.export.scene.parameters import inline, inline_if_many, with_state
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.simplify.bundling import bundled
from autograph_cli.export.simplify.closing import close_below, close_to
from autograph_cli.export.simplify.folding import fold
from autograph_cli.export.simplify.gradients import with_results
from autograph_cli.export.simplify.legend import with_true_legend
from autograph_cli.export.simplify.partition import by_statement, cut_across
from autograph_cli.export.simplify.ports import with_names
from autograph_cli.export.simplify.repeats import fold_repeats
from autograph_cli.export.simplify.rolling import roll, rolled_if_smaller
from autograph_cli.export.simplify.said_once import said_once
from autograph_cli.export.simplify.smaller import smaller
from autograph_cli.export.simplify.sums import sums_together
from autograph_cli.graph import Graph
from autograph_cli.graph.loops import FEWEST
from autograph_cli.graph.reader_level import USER

CUT = (40, 32, 24, 18, 14, 11, 8)
"""Boxes that a picture is cut down to which fits no page otherwise."""
SLACK = 2
"""Times a limit that a picture may be that is told one, rather than be cut into parts that tell less."""
LARGEST = 200_000
"""Boxes up to which a picture is drawn at all."""


def placed(picture: Picture) -> Placed:
    """Lay out the scene as it fits a page: to the right, or broken into columns; by default folded until it does."""
    options = picture.options
    if not _has_budget(picture):
        return fitted(drawable(picture), options.direction, columns=options.columns)
    return within_budget(_ever_smaller(picture), options.direction, columns=options.columns)


def as_drawn(picture: Picture) -> Scene:
    """Make the scene of a picture with what is drawn of it, for another program to lay out."""
    if not _has_budget(picture):
        return scene_of(picture, picture.options.max_nodes)
    options, tried = picture.options, list[Scene]()
    scenes = ((tried.append(scene) or scene, coarse) for scene, coarse in _ever_smaller(picture))  # type: ignore[func-returns-value]
    shown = within_budget(scenes, options.direction, columns=options.columns).scene
    drawn = {box.id for box in shown.boxes}  # with the ports between orders that stand side by side
    return next(scene for scene in tried if drawn.issuperset(box.id for box in scene.boxes))


def _has_budget(picture: Picture) -> bool:
    options = picture.options
    return options.level == USER and options.max_nodes is not None and options.depth is None


def _ever_smaller(picture: Picture) -> Iterator[tuple[Scene, bool]]:
    """Yield the scene of a picture with fewer and fewer boxes, as they are drawn; true with those that are cut across,
    which tell little."""
    base = boxes_and_arrows(picture)
    whole = in_modules(with_loops(base, picture, picture.options.max_nodes), picture)
    yield finished(split(whole), picture), False
    if picture.options.roll is None:
        whole = in_modules(roll(base, picture.graph, alone=FEWEST), picture)
        yield finished(split(whole), picture), False
    for small in smaller(whole, picture.graph):
        yield with_names(finished(small, picture)), False
    small = by_statement(close_below(split(whole), picture.graph, 0), picture.graph)
    for limit in CUT:
        yield finished(cut_across(small, picture.graph, limit), picture), True


def drawable(picture: Picture) -> Scene:
    """Make the scene of a picture; raise `ExportError` if there is nothing to show, or too much."""
    return _drawable(scene_of(picture, picture.options.max_nodes))


def _drawable(scene: Scene) -> Scene:
    if len(scene.boxes) > LARGEST:
        raise ExportError(
            f"{len(scene.boxes):,} nodes are too many for a picture (the limit is {LARGEST:,}): "
            "choose the format dot, text or json, or a smaller part with --root."
        )
    return scene


def scene_of(picture: Picture, limit: int | None = None) -> Scene:
    """Make the scene of a view, folded above this many boxes; raise `ExportError` if there is nothing to show."""
    scene = opened(picture, limit)
    scene = made_small(scene, picture.graph, picture.options.depth, limit)
    return finished(scene, picture)


def opened(picture: Picture, limit: int | None) -> Scene:
    """Make the scene with all modules open; where there is a limit, loops are rolled if that makes it much smaller."""
    scene = boxes_and_arrows(picture)
    return in_modules(with_loops(scene, picture, limit), picture)


def in_modules(scene: Scene, picture: Picture) -> Scene:
    """Draw frames around what ran in modules, write their parameters on what uses them, and draw a sum as one box."""
    scene = with_parameters(framed(scene, picture.graph, picture.single), picture)
    if picture.page or picture.options.level != USER:
        return scene
    scene = sums_together(scene)
    wanted = not scene.bands if scene.data else any(box.style == "root" for box in scene.boxes)
    return with_results(scene, used=scene.data) if wanted else scene  # what was not differentiated sends no gradient


def boxes_and_arrows(picture: Picture) -> Scene:
    """Make a box for each node and an arrow for each edge, with amounts for colours, and formulas beside them."""
    if not picture.graph.nodes:
        raise ExportError(f"There is nothing to draw: the {picture.view} graph is empty.")
    scene = build(
        picture.graph,
        picture.title,
        data=picture.data,
        shown=picture.options.shown,
        tags=picture.options.tags,
        marks=picture.marks,
        brief=picture.page,
        flows=not picture.page and (picture.data or not picture.sliced),
        differentiated=picture.differentiated,
        sums=picture.sums,
        written=picture.written,
        apart=picture.chips,
    )
    if picture.options.colour is not None:
        taken = amounts(picture.graph, picture.options.colour, picture.view, picture.title)
        scene = replace(scene, boxes=tuple(replace(box, amount=taken.get(box.id)) for box in scene.boxes))
    if picture.made and not picture.page:
        made, order = (max(node.order for node in graph) for graph in (picture.whole or picture.graph, picture.graph))
        if made == order:
            scene = replace(scene, notes=(*scene.notes, f"order {order} {picture.made.partition(';')[0]}"))
    if picture.flattened:
        scene = replace(scene, notes=(*scene.notes, f"modules deeper than {DEEPEST} have no frame"))
    if picture.formulas:
        scene = with_formulas(scene, picture.formulas, picture.view)
    if picture.options.inside is not None:
        legend = tuple((style, "given" if style == "input" else words) for style, words in scene.legend)
        scene = replace(scene, legend=legend)
    return scene


def with_loops(scene: Scene, picture: Picture, limit: int | None) -> Scene:
    """Roll loops if that is asked for, or, where there is a limit, if it makes the scene much smaller; on a page each
    module of a list stays, to be opened."""
    if picture.options.roll:
        return roll(scene, picture.graph, lists=not picture.page)
    if picture.options.roll is None and limit is not None:
        return rolled_if_smaller(scene, picture.graph, lists=not picture.page)
    return scene


def with_parameters(scene: Scene, picture: Picture) -> Scene:
    """Write leaves on the operations that use them, if that is asked for, or if there are many operations."""
    wanted = False if picture.page else PARAMETERS[picture.options.parameters]
    if picture.chips:
        scene = without_empty(with_state(scene, picture.graph))
    if wanted is None:
        return inline_if_many(scene, beside=picture.written is not None)
    return inline(scene) if wanted else scene


def made_small(scene: Scene, graph: Graph, depth: int | None, limit: int | None) -> Scene:
    """Close modules below a depth; then fold, by one means after the other, until there are no more boxes than that.

    The last means is to cut it across.
    """
    small = _opened(scene, graph, depth)
    if limit is None or len(small.boxes) <= limit:
        return small
    small = _opened(fold_repeats(scene, graph), graph, depth)
    small = close_to(small, graph, limit, outermost=2)
    small = fold(small, limit)
    small = close_to(small, graph, limit)
    return cut_across(small, graph, limit) if len(small.boxes) > SLACK * limit else small


def _opened(scene: Scene, graph: Graph, depth: int | None) -> Scene:
    scene = split(scene)
    return scene if depth is None else close_below(scene, graph, depth)


def finished(scene: Scene, picture: Picture) -> Scene:
    """Bundle arrows, colour boxes, and leave out what is said already."""
    scene = bundled(scene)
    scene = scene if picture.options.colour is None else coloured(scene, picture.options.colour)
    return scene if picture.page else said_once(with_true_legend(scene))
