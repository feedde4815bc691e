"""The colour of boxes by what they take: white for nothing, darker the more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.errors import ExportError
from autograph_cli.export.scene.records import Scene
from autograph_cli.graph import Graph, Node, Values
from autograph_cli.graph.facts import bytes_of, bytes_text, flops_text, nanoseconds_text, not_recorded, stored

_ERROR = "error of the derivative against finite differences"
_DARKEST = (0xF0, 0x78, 0x28)
"""Dark enough to stand out, and light enough to read on."""


class Colour(Struct, frozen=True):
    """Something of a node that a colour tells: as its operation ran, and as its backward did."""

    forward: Callable[[Node], float | None]
    backward: Callable[[Node], float | None]
    words: Callable[[Any], str]
    recorded: str = ""
    """The fact that must have been recorded."""
    adds: bool = True
    """True if a box that stands for several has their sum; else it has no colour."""
    title: str = ""
    """Its name in the legend, if that is not its word."""
    between: tuple[float, float] | None = None
    """The amounts of white and of the darkest colour; unless told, the least and the most that there is."""


def _error(node: Node) -> float | None:
    return None if node.measured is None else node.measured.error


def gradient_norm(node: Node) -> float | None:
    """The norm of all that its backward was given, as far as the text of the numbers tells."""
    return None if node.measured is None else norm_of(node.measured.gradients)


def norm_of(values: Iterable[Values | None]) -> float | None:
    """The norm of tensors together, as far as the text of their numbers tells."""
    norms = [norm for norm in map(_norm, values) if norm is not None]
    return math.hypot(*norms) if norms else None


def _norm(values: Values | None) -> float | None:
    if values is None:
        return None
    words = " ".join(values.whole).translate(_APART).split() or [values.norm]
    try:
        norm = math.hypot(*(number for number in map(float, words) if number == number))
    except ValueError:  # complex numbers, truth values, or nothing
        return None
    return norm if norm < math.inf else None


_APART = str.maketrans("[],", "   ")


COLOURS: dict[str, Colour] = {
    "time": Colour(
        lambda node: node.measured.time if node.measured else None,
        lambda node: node.measured.backward_time if node.measured else None,
        nanoseconds_text,
        "time",
    ),
    "bytes": Colour(
        lambda node: sum(bytes_of(output.type) for output in node.outputs) if node.computes else None,
        lambda node: sum(stored(node.saved).values()) if node.computes else None,
        bytes_text,
    ),
    "flops": Colour(
        lambda node: node.measured.flops if node.measured else None,
        lambda node: sum(run.flops for run in node.measured.runs) if node.measured and node.measured.runs else None,
        flops_text,
        "flops",
    ),
    "check": Colour(_error, _error, lambda error: f"{error:g}", "check", adds=False, title=_ERROR, between=(0.0, 1.0)),
    "gradient": Colour(gradient_norm, gradient_norm, lambda size: f"{size:.3g}", "values", adds=False),
}
"""By the word of `--colour`."""


def amounts(graph: Graph, word: str, view: str, script: str) -> dict[str, float]:
    """Return the amount of each box, by its id: in the forward view of operations, in the backward view of their
    backward, in that of all orders of both; raise `ExportError` where it was not recorded."""
    kind = COLOURS[word]
    taken: dict[str, float] = {}
    for node in graph:
        both = [kind.forward(node) if view != "backward" else None, kind.backward(node) if view != "forward" else None]
        if not kind.adds:
            both = both[:1] if both[0] is not None else both[1:]
        told = [amount for amount in both if amount is not None]
        if told:
            taken[f"n{node.id}"] = sum(told)
    if not taken and kind.recorded:
        raise ExportError(not_recorded(kind.recorded, script))
    return taken


def coloured(scene: Scene, word: str) -> Scene:
    """The scene with a colour on each box whose amount is known, and what the colours say."""
    kind = COLOURS[word]
    taken = {box.id: box.amount for box in scene.boxes if box.amount is not None}
    taken = {box.id: taken[box.id] for box in scene.boxes if box.id in taken and (kind.adds or box.style != "module")}
    low, high = kind.between or (min(taken.values(), default=0), max(taken.values(), default=0))
    fills = {key: _fill(amount, low, high) for key, amount in taken.items()}
    note = f"colour: {kind.title or word}, from {kind.words(low)} to {kind.words(high)}, the darker the more"
    filled = tuple(replace(box, fill=fills.get(box.id, "")) for box in scene.boxes)
    return replace(scene, boxes=filled, notes=(*scene.notes, note))


def _fill(amount: float, low: float, high: float) -> str:
    part = math.log1p(min((amount - low) / (high - low), 1) * 99) / math.log(100) if high > low else 1.0
    return "#" + "".join(f"{round(255 - (255 - end) * part):02X}" for end in _DARKEST)
