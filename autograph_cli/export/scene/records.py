"""The records that a scene is made of: boxes, arrows, bands, frames and a legend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.style import Style, is_code
from autograph_cli.graph import Edge, Graph, Node
from autograph_cli.graph.views import written_base

LEGEND: dict[Style, str] = {
    "root": "differentiated",
    "result": "result",
    "operation": "operation",
    "untracked": "not recorded by autograd",
    "derivative": "derivative",
    "leaf": "leaf, requires grad",
    "input": "input, no gradient",
    "cut": "left out from here",
    "saved": "kept for backward",
    "mark": "something to see",
}
DETACH = "detach"
NUMBER = "no shape: a single number"


class Box(Struct, frozen=True):
    """One drawn node; `small` ones are a leaf or an input drawn again at one of its uses."""

    id: str
    style: Style
    title: str
    subtitle: str = ""
    lines: tuple[str, ...] = ()
    """The lines below the subtitle."""
    tooltip: str = ""
    band: int = 0
    small: bool = False
    frame: str = ""
    """The innermost frame that it stands in."""
    amount: float | None = None
    """The amount that its colour tells (colouring.py)."""
    fill: str = ""
    """Its colour, if that is not the one of its style."""
    others: tuple[str, ...] = ()
    """The boxes that it stands for as well, by their ids in the scene that was built."""
    many: int = 1
    """The operations that it stands for, in one turn of a loop."""
    spare: int = 0
    """The first of its lines that are left out where there is no room for them."""

    @property
    def below(self) -> tuple[str, ...]:
        """The lines below the title."""
        return tuple([line for line in (self.subtitle, *self.lines) if line])

    @property
    def left(self) -> bool:
        """True if the lines below the title are code, which is set to the left."""
        return is_code(self.below)


class Arrow(Struct, frozen=True):
    """One drawn edge; `dashed` where it leads from one order into another."""

    tail: str
    head: str
    label: str = ""
    dashed: bool = False
    tooltip: str = ""
    back: bool = False
    """True if it leads against all others, from one turn of a loop into the next."""
    keeps: bool = False
    """True if it leads to a tensor that its tail saves for backward, and is no way of data or gradients."""
    wrong: bool = False
    """True if it leads to a mark of a fault, and is no way either."""
    partly: bool = False
    """True if only some of the turns or modules that its ends stand for have it."""
    numbered: tuple[str, str] = ("", "")
    """The label of a single tensor, and the same with its numbers."""
    tensors: tuple[tuple[int, int], ...] = ()
    """The tensors that it carries, or whose gradients it carries: the node and the output of each."""

    @property
    def with_numbers(self) -> str:
        """The label with the numbers that go along the arrow, if it stands for one tensor still."""
        return self.numbered[1] if self.numbered[1] and self.numbered[0] == self.label else self.label


class Band(Struct, frozen=True):
    """The boxes of one order; what the script made from derivatives is above these, in a band of its own."""

    number: int
    """Twice the order, which is the height at which it is; odd for what was made from derivatives."""
    title: str
    beside: tuple[str, ...] = ()
    """Lines of text that stand to the right of all that is in it."""

    @property
    def order(self) -> int:
        """The order of all that is in it."""
        return order_of(self.number)


class Frame(Struct, frozen=True):
    """A rectangle around the boxes of one call of a module, in one band."""

    id: str
    title: str
    parent: str = ""
    """The frame around it."""
    band: int = 0
    tooltip: str = ""
    call: int | None = None
    """The call, by its number in the graph."""
    times: int = 1
    """The number of calls that it stands for."""
    equal: bool = False
    """True if these are calls of as many equal modules; else all are calls of this one."""
    bare: bool = False
    """True if it only holds its boxes together, and is not drawn."""


class Scene(Struct, frozen=True):
    """One picture; `bands`, from the lowest, are empty if all is of one order."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    bands: tuple[Band, ...] = ()
    legend: tuple[tuple[Style, str], ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Derivatives and what they differentiate, by box, to be joined by thin lines."""
    data: bool = False
    """True if arrows follow the data; else they follow the gradient, from the roots down."""
    frames: tuple[Frame, ...] = ()
    """The modules, each after the one that it is in."""
    unit: str = "node"
    """The word for boxes of this kind, to be counted with."""

    @property
    def stacked(self) -> tuple[Band, ...]:
        """The bands from the top: the roots are below where arrows follow the data."""
        return self.bands if self.data else self.bands[::-1]


def carried(arrows: Iterable[Arrow]) -> dict[tuple[int, int], Arrow]:
    """The tensors that these arrows carry, each with its first arrow; one that does not tell carries one of its own."""
    first: dict[tuple[int, int], Arrow] = {}
    for number, arrow in enumerate(arrows):
        for tensor in arrow.tensors or ((-1, number),):
            first.setdefault(tensor, arrow)
    return first


def one_label(arrow: Arrow) -> str:
    """Return the label of an arrow without the number of its tensors."""
    return arrow.label.removesuffix(f"× {len(arrow.tensors):,}").rstrip()


def joined(scene: Scene, into: Mapping[str, str]) -> tuple[Arrow, ...]:
    """The arrows between what is left; those that have become the same are one."""
    groups: dict[tuple[str, str, str], list[Arrow]] = {}
    moved = set()
    for arrow in scene.arrows:
        key = into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head), one_label(arrow)
        if key[0] != key[1]:
            groups.setdefault(key, []).append(arrow)
        if key[:2] != (arrow.tail, arrow.head):
            moved.add(key)
    untouched = [arrow for key, its in groups.items() if key not in moved for arrow in its]
    return (*untouched, *(merged(*key[:2], its) for key, its in groups.items() if key in moved))


def merged(tail: str, head: str, arrows: Sequence[Arrow]) -> Arrow:
    """One arrow for all of these, with the label that they have in common, if any, and the number of tensors."""
    tensors, labels = carried(arrows), set(map(one_label, arrows))
    label = labels.pop() if len(labels) == 1 else ""
    label = f"{label} × {len(tensors):,}".lstrip() if len(tensors) > 1 else label
    return replace(arrows[0], tail=tail, head=head, label=label, tensors=tuple(tensors))


def shapes_of(arrows: Iterable[Arrow]) -> Counter[str]:
    """Count the shapes of what arrows carry, a single number as `[]`; those that no arrow tells, of several tensors in
    one, as an empty text."""
    labels = ((one_label(arrow).removeprefix(DETACH).strip(), arrow) for arrow in carried(arrows).values())
    return Counter(label or ("" if len(arrow.tensors) > 1 else "[]") for label, arrow in labels)


def paths_of(scene: Scene) -> dict[str, tuple[str, ...]]:
    """For each frame those around it and itself, the outermost first; for "", where none is, nothing."""
    paths: dict[str, tuple[str, ...]] = {"": ()}
    for frame in scene.frames:
        paths[frame.id] = (*paths[frame.parent], frame.id)
    return paths


def left(scene: Scene, boxes: Iterable[Box]) -> Scene:
    """The scene with these of its boxes alone, and with the arrows and the samples of the legend that are of these."""
    drawn = {box.id: box for box in boxes}
    styles = {box.style for box in drawn.values()}
    arrows = tuple([arrow for arrow in scene.arrows if arrow.tail in drawn and arrow.head in drawn])
    legend = tuple([entry for entry in scene.legend if entry[0] in styles])
    return replace(scene, boxes=tuple(drawn.values()), arrows=arrows, legend=legend)


def together(scene: Scene, into: Mapping[str, str], drawn: Mapping[str, Box] = MappingProxyType({})) -> tuple[Box, ...]:
    """The boxes that are left where some go `into` others, which stand for them, and which are `drawn` in this way."""
    known = {box.id: box for box in scene.boxes}
    others: dict[str, list[Box]] = {}
    for key, its in into.items():
        others.setdefault(its, []).append(known[key])
    boxes = (drawn.get(key, box) for key, box in known.items() if key not in into)
    return tuple([standing_for(box, others[box.id]) if box.id in others else box for box in boxes])


def standing_for(box: Box, others: Iterable[Box]) -> Box:
    """The box, which stands for these others from now on."""
    return replace(box, others=(*box.others, *(key for other in others for key in (other.id, *other.others))))


def edges_of(graph: Graph, node: Node, data: bool) -> Sequence[Edge | None]:
    """Return the edges of a node that are drawn: its arguments and the base it wrote into, or where gradients go."""
    if not data:
        return node.next
    base = written_base(graph, node)
    return node.args if base is None else (*node.args, base)


def order_of(band: int) -> int:
    """The order of all that is in a band of this number."""
    return 0 if band % 2 else band // 2
