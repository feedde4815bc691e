"""What pictures of graphs made by chance say is so: all of a view is in them, ways and counts are those of the graph."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from autograph_cli.export import FLOWS, PARAMETERS, VIEWS
from autograph_cli.export.options import RenderOptions
from autograph_cli.export.picture import Picture, picture_of, whole_of
from autograph_cli.export.pipeline import boxes_and_arrows, scene_of, with_loops
from autograph_cli.export.scene.modules import shown_by
from autograph_cli.export.scene.parameters import MARK
from autograph_cli.export.scene.records import Box, edges_of
from autograph_cli.export.style import RESULTS
from autograph_cli.graph import Edge, Graph, Node, double_backward
from autograph_cli.graph.names import told_apart
from autograph_cli.graph.views import is_cut
from tests.export.random_graphs import batches, random_graph

AT_ONCE = 20
DRAWN = 3
"""Pictures of each view."""
CHOICES: dict[str, tuple[Any, ...]] = {
    "roll": (None, True, True, False),
    "depth": (None, None, 0, 1, 2),
    "max_nodes": (None, None, 3, 8, 15, 30),
    "tags": (True, False),
    "parameters": tuple(PARAMETERS),
    "flow": FLOWS,
    "order": (None, 0, 1, 2),
}
"""The options that say what boxes and arrows there are."""
Tensor = tuple[int, int]
_COMMA = re.compile(r", (?![^\[]*\])")


class Drawn:
    """A picture, and what each of its boxes stands for."""

    def __init__(self, picture: Picture) -> None:
        limit = picture.options.max_nodes
        self.graph, self.built, self.scene = picture.graph, boxes_and_arrows(picture), scene_of(picture, limit)
        self.here = {box.id for box in self.built.boxes}
        self.rolled = len(with_loops(self.built, picture, limit).boxes) < len(self.built.boxes)
        self.whole = {frame.id for frame in self.scene.frames if frame.equal}
        for frame in self.scene.frames:
            if frame.parent in self.whole:
                self.whole.add(frame.id)
        self.owner = {key: box.id for box in self.scene.boxes for key in (box.id, *box.others)}

    def nodes_of(self, box: Box) -> dict[int, Node]:
        """The nodes that a box stands for."""
        shown = [shown_by(key, self.graph, self.built.data) for key in (box.id, *box.others)]
        return {node.id: node for node in shown if node is not None}

    def ways(self) -> dict[str, set[str]]:
        """Return where arrows lead from each box; what is in a frame that stands for several is one."""
        frame = {box.id: box.frame for box in self.scene.boxes}
        outermost: dict[str, str] = {}
        for its in self.scene.frames:
            outermost[its.id] = outermost.get(its.parent, "") or (its.id if its.id in self.whole else "")
        self.place = {box: outermost.get(frame[box], "") or box for box in frame}
        found: dict[str, set[str]] = {}
        for arrow in self.scene.arrows:
            found.setdefault(self.place[arrow.tail], set()).add(self.place[arrow.head])
        return found


def pictures(seeds: Iterable[int]) -> Iterator[tuple[str, Drawn]]:
    for seed in seeds:
        graph, chance = told_apart(random_graph(seed)), random.Random(seed)
        for view in VIEWS:
            for _ in range(DRAWN):
                asked = {name: chance.choice(values) for name, values in CHOICES.items()}
                picture = picture_in(graph, view, RenderOptions(**asked))
                if picture.graph.nodes:
                    yield f"graph {seed}, {view}, {asked}", Drawn(picture)


def picture_in(graph: Graph, view: str, options: RenderOptions) -> Picture:
    return picture_of(whole_of(graph, view, options, formulas=False), view, "svg", options)


@pytest.mark.parametrize("seeds", batches(AT_ONCE), ids=lambda its: f"{its.start}-{its.stop - 1}")
def test_pictures_are_true(seeds: range) -> None:
    checked = 0
    for words, drawn in pictures(seeds):
        for check in CHECKS:
            problem = check(drawn)
            assert not problem, f"{words}: {check.__name__}: {problem}"
        checked += len(drawn.scene.boxes)
    assert checked > 100


def nothing_is_lost(drawn: Drawn) -> str:
    """Every node of the view is a box, or is one of those that a box stands for; and every use of a leaf."""
    lost = [box.id for box in drawn.built.boxes if box.id[0] in "ntr" and box.id not in drawn.owner]
    seen = {node for box in drawn.scene.boxes for node in drawn.nodes_of(box)}
    arrows = {node.id for node in drawn.graph if node.op == "detach"}
    lost += [f"node {node.id}" for node in drawn.graph if node.id not in seen and node.id not in arrows]
    return ", ".join(lost)


def leaves_are_counted(drawn: Drawn) -> str:
    """A box of leaves says how many these are, or all their names; a closed module says the former."""
    for box in drawn.scene.boxes:
        many = sum(node.kind == "leaf" for node in drawn.nodes_of(box).values())
        if box.style in ("leaf", "input") and len(drawn.nodes_of(box)) != told(box.title):
            return f"{box.title!r} stands for {len(drawn.nodes_of(box))}"
        if (
            box.style == "module"
            and box.id[0] == "m"
            and not box.subtitle
            and f"{many:,} lea" not in (box.tooltip if many else "0 lea")
        ):
            return f"{box.title!r} has {many} leaves and says {box.tooltip!r}"
    return ""


def told(title: str) -> int:
    """Return how many tensors the title of a box is of."""
    if found := re.match(r"([\d,]+) leaves and inputs", title):
        return int(found[1].replace(",", ""))
    if found := re.match(r"([\d,]+) × ", title):
        return int(found[1].replace(",", ""))
    if found := re.search(r"(\d+)…(\d+)", title):
        return int(found[2]) - int(found[1]) + 1
    more = re.search(r" and ([\d,]+) more$", title)
    return title.partition(" and ")[0].count(" · ") + 1 + (int(more[1].replace(",", "")) if more else 0)


def ways_lead_on(drawn: Drawn) -> str:
    """From what was given to what was made of it arrows lead; or along the gradient, the other way."""
    ahead, data, graph, here = drawn.ways(), drawn.built.data, drawn.graph, drawn.here
    reached: dict[str, set[str]] = {}
    for node in graph:
        for position, given in enumerate(edges_of(graph, node, data)):
            if given is None or f"n{node.id}" not in here:
                continue
            used = source(drawn, given)
            tag = f"t{node.id}_{position}"
            ends = [drawn.place[drawn.owner[key]] for key in (tag if tag in here else f"n{used.node}", f"n{node.id}")]
            tail, head = ends if data else ends[::-1]
            if tail not in reached:
                reached[tail] = closure(ahead, tail)
            if head not in reached[tail]:
                return f"no way from {tail} to {head}, as from node {used.node} to {node.id}"
    return ""


def source(drawn: Drawn, given: Edge) -> Edge:
    """Return what an arrow comes from that leads to a user of this: before what is detached, if that is part of the
    arrow."""
    while drawn.built.data and f"n{given.node}" not in drawn.here and drawn.graph[given.node].op == "detach":
        given = drawn.graph[given.node].args[0]
    return given


def leaves_on_boxes_are_used_by_all(drawn: Drawn) -> str:
    """Each leaf that is written on an operation is one of every operation that the box stands for."""
    for box in drawn.scene.boxes:
        its, written = drawn.nodes_of(box), sum(line.count(MARK) for line in box.lines)
        if not written:
            continue
        for node in its.values():
            edges = [edge for edge in edges_of(drawn.graph, node, drawn.built.data) if edge is not None]
            used = [at for at in (source(drawn, edge).node for edge in edges) if drawn.graph[at].kind == "leaf"]
            if node.computes and sum(at in its for at in used) != written:
                return f"node {node.id} uses {len(used)} leaves, and {box.title!r} says {box.lines}"
    return ""


def closure(ahead: dict[str, set[str]], start: str) -> set[str]:
    met, stack = {start}, [start]
    while stack:
        for other in ahead.get(stack.pop(), ()):
            if other not in met:
                met.add(other)
                stack.append(other)
    return met


def crossing(drawn: Drawn, tails: set[str], heads: set[str], maker: Mapping[str, str] | None = None) -> set[Tensor]:
    """The tensors that arrows carry from one set of boxes to another, before any was put together; those of a result
    come from its maker, if that is given."""
    return {
        tensor
        for arrow in drawn.built.arrows
        for tensor in arrow.tensors
        if (maker or {}).get(arrow.tail, arrow.tail) in tails and arrow.head in heads and not arrow.keeps
    }


def modules_count_tensors(drawn: Drawn) -> str:
    """Return what a closed module says to come in and go out is as many as there are tensors, however often each is
    used."""
    every = {box.id for box in drawn.built.boxes}
    for box in drawn.scene.boxes:
        first = box.lines[0] if box.lines else " "  # lines of the script are set in
        if box.style != "module" or box.id[0] != "m" or drawn.rolled or first[0] == " " or "more" in first:
            continue
        if re.match(r"→ \w.*: ", first):
            continue  # a chain of modules, one below the other
        if box.frame in drawn.whole:
            continue  # it says what is so of one of several
        inside = {box.id, *box.others}
        ends = crossing(drawn, every - inside, inside), crossing(drawn, inside, every - inside)
        said = box.lines[0].split("→") if "→" in box.lines[0] else ["", ""]
        for words, tensors in zip(said, ends, strict=True):
            many = sum(told(entry) for entry in _COMMA.split(words.strip()) if entry)
            if many != len(tensors):
                return f"{box.lines[0]!r} of {len(tensors)} tensors"
    return ""


def arrows_count_tensors(drawn: Drawn) -> str:
    """An arrow that says to stand for several tensors stands for so many."""
    if drawn.rolled:
        return ""
    boxes = {box.id: box for box in drawn.scene.boxes}
    results = {box.id for box in drawn.built.boxes if box.style in RESULTS} if drawn.built.data else set()
    maker = {arrow.head: arrow.tail for arrow in drawn.built.arrows if arrow.head in results and not arrow.keeps}
    for arrow in drawn.scene.arrows:
        found = re.search(r"(?:^|.* )× ([\d,]+)$|^([\d,]+) tensors$", arrow.label)
        if not found or arrow.back or arrow.keeps:
            continue
        tails, heads = ({end, *boxes[end].others} for end in (arrow.tail, arrow.head))
        counts = {len(crossing(drawn, tails, heads, its)) for its in (None, maker)}  # a piece shows no results
        if int((found[1] or found[2]).replace(",", "")) not in counts:
            return f"{arrow.label!r} from {arrow.tail} to {arrow.head} of {counts} tensors"
    return ""


CHECKS = (
    *(nothing_is_lost, leaves_are_counted, leaves_on_boxes_are_used_by_all),
    *(ways_lead_on, modules_count_tensors, arrows_count_tensors),
)


@pytest.mark.parametrize("seeds", batches(AT_ONCE), ids=lambda its: f"{its.start}-{its.stop - 1}")
def test_views_up_to_an_order_have_no_higher_ones(seeds: range) -> None:
    for seed in seeds:
        graph = random_graph(seed)
        for order in range(3):
            for data in (False, True):
                view: Graph = double_backward(graph, order=order, data=data)
                view.verify()
                assert all(node.order <= order for node in view), seed
                taken: set[Edge | None] = {edge for node in view for edge in (*node.args, *node.next)}
                border = [node for node in view if graph[view.numbers[node.id]].order > order]
                assert all(
                    not node.args and not node.next and Edge(node.id) in taken
                    for node in border
                    if len(node.outputs) == 1
                )


@pytest.mark.parametrize("seeds", [*batches(AT_ONCE), range(150, 180)], ids=lambda its: f"{its.start}-{its.stop - 1}")
def test_what_was_made_from_gradients_is_so_up_to_each_order(seeds: range) -> None:
    for seed in seeds:
        graph = told_apart(random_graph(seed))
        for flow in FLOWS:
            every, *some = (made_from_gradients(graph, order, flow) for order in (None, 1, 2))
            for order, found in enumerate(some, 1):
                both = found.keys() & every.keys()
                assert all(found[number] == every[number] for number in both), f"graph {seed}, {flow}, order {order}"


def made_from_gradients(graph: Graph, order: int | None, flow: str) -> dict[int, bool]:
    """For each operation of order 0 in the bands up to an order, whether it is in one of what gradients made."""
    picture = picture_in(graph, "double-backward", RenderOptions(order=order, flow=flow))
    if not picture.graph.nodes:
        return {}
    band, found = {box.id: box.band for box in boxes_and_arrows(picture).boxes}, {}
    for number, node in zip(picture.graph.numbers, picture.graph, strict=True):
        if any(band.values()) and node.kind == "operation" and not node.order and not is_cut(node):
            found[number] = bool(band[f"n{node.id}"] % 2)
    return found
