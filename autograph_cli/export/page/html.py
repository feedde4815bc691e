"""All views of a step as a page: one file with its pictures, its data and its script, and nothing from outside."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from autograph_cli.export.formats.drawing import labels
from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.layout.layered import size_of
from autograph_cli.export.layout.placed import Placed, links
from autograph_cli.export.options import Panels
from autograph_cli.export.page.levels import Fold
from autograph_cli.export.page.markup import deflated, source_hash
from autograph_cli.export.page.node_table import (
    MEASURED,
    told_lines,
    told_modules,
    told_nodes,
    told_sources,
    told_steps,
)
from autograph_cli.export.page.panels import told_panels
from autograph_cli.export.page.playback import Playback
from autograph_cli.export.scene.modules import shown_by
from autograph_cli.export.scene.records import Box
from autograph_cli.export.simplify.closing import told_closed
from autograph_cli.export.style import is_bars, is_code
from autograph_cli.graph import Graph
from autograph_cli.graph.names import shown_name, visible

PLAIN = 20_000
"""Characters of data up to which they stand in the page as they are."""
TOGETHER = 256
"""Levels that are packed as one."""
_SCRIPTS = """
    dom boot nodes charts details camera geometry closing folds view zoom place play search panes source panels run
    scrubber splitters linked steps colour minimap copy page
""".split()
"""The scripts of a page, in the order in which they are read."""


class Sheet(Struct, frozen=True):
    """One tab of a page: a placed view of a graph, and its data."""

    placed: Placed
    graph: Graph
    """The view."""
    view: str
    whole: Graph
    """The graph that it is a view of."""
    numbers: Sequence[int]
    """The number of each node of the view in the whole graph."""
    closed: Collection[str] = ()
    """The frames that are closed at first."""
    insides: Mapping[int, str] = field(default_factory=dict)
    """Pictures of what the backward of nodes ran, as SVG, by their number in the view."""
    parts: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """The nodes of the whole graph that a node of the view stands for, where they are several."""
    key: str = ""
    """The name of the tab in links; unless told, the view."""
    folds: Sequence[Fold] = ()
    """The levels inside of its closed boxes, where all of it at once is too much."""


class Page(Struct, frozen=True):
    """The content of a page."""

    title: str
    sheets: Iterable[Sheet]
    """One for each tab, read once: of a large graph, each is made when it is its turn."""
    first: str
    """The key of the one that is seen at first."""
    whole: Graph
    """The graph whose numbers of nodes the sheets share."""
    ran: Graph
    """The graph that the script made, which may be less than the whole: the derivatives of that are ours."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Scripts by name, as far as they are at hand."""
    formulas: Sequence[str] = ()
    panels: Panels = field(default_factory=Panels)
    number: int | None = None
    """The step, if it is one of a run."""
    others: Sequence[Page] = ()
    """Steps of other structures."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """The facts of the run, its steps among them."""
    measured: Sequence[Mapping[str, Any] | None] = ()
    """The numbers of each of these steps, by node; None where the picture of its structure was made of that step."""
    apart: Mapping[str, Any] = field(default_factory=dict)
    """The differences from another run, beside which it is shown."""
    about: str = ""
    """A sentence on its nodes, where they are not those that ran."""


def to_html(page: Page) -> str:
    """Write the page; it runs from a file, under a policy that allows its own script and style alone."""
    folder = files("autograph_cli.export.page")
    style = folder.joinpath("page.css").read_text("utf-8")
    script = "".join(_bare(folder.joinpath(f"{name}.js").read_text("utf-8")) for name in _SCRIPTS)
    packs: list[str] = []
    data, pictures, insides = _read_at_once(page, packs)
    data = data.replace("<", "\\u003c") if len(data) <= PLAIN else f'"{deflated(data)}"'
    fields = {
        "style": style,
        "script": script,
        "style_hash": source_hash(style),
        "script_hash": source_hash(script),
        "title": html.escape(page.title),
        "data": data,
        "packs": "".join(f'<script type="application/json" class="pack">{pack}</script>\n' for pack in packs),
        "pictures": "".join(map(_template, pictures)),
        "insides": "".join(map(_template, insides)),
    }
    head, *parts = folder.joinpath("page.html").read_text("utf-8").split("{{")
    return head + "".join(fields[name] + rest for name, _, rest in (part.partition("}}") for part in parts))


def _read_at_once(page: Page, packs: list[str]) -> tuple[str, list[str], list[str]]:
    """Return what the page reads when it is opened, as JSON, and the pictures where they are small."""
    data, pictures, insides = _data(page, packs)
    told = {**data, **_other_steps(page, packs)}
    if sum(map(len, pictures)) > PLAIN:
        told["drawn"] = len(packs)
        packs.append(_packed({"pictures": pictures, "insides": insides}))
        pictures = insides = []
    return json.dumps(told, separators=(",", ":")), pictures, insides


def in_frame(page: str) -> str:
    """The page within another, such as a notebook, where it can run its script and reach nothing around it."""
    source = html.escape(page)
    return (
        f'<iframe title="autograph" sandbox="allow-scripts allow-downloads" srcdoc="{source}" '
        'width="100%" height="600" style="border: 1px solid #ccc; border-radius: 6px"></iframe>'
    )


def _bare(script: str) -> str:
    """A script without what is there for its reader: indents, and lines that are comments."""
    lines = (line.strip() for line in script.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith(("//", "/**")))


def _template(picture: str) -> str:
    """SVG to be taken when it is shown."""
    return f"<template>\n{picture}</template>\n"


def _without_head(picture: str) -> str:
    """SVG without the line that says that it is XML."""
    return picture.partition("\n")[2]


def _other_steps(page: Page, packs: list[str]) -> dict[str, Any]:
    """Return the run, with the packs of pages of other structures, and of the numbers of each step."""
    pages = []
    for other in page.others:
        data, pictures, insides = _data(other, packs)
        pages.append(len(packs))
        packs.append(_packed({"data": data, "pictures": pictures, "insides": insides}))
    steps = []
    for step, measured in zip(page.run.get("steps", ()), page.measured, strict=True):
        if measured is not None:
            steps.append({**step, "pack": len(packs)})
            packs.append(_packed(measured))
        else:
            steps.append(step)
    return {**page.run, "steps": steps, "pages": pages, "measured": list(MEASURED)}


def _data(page: Page, packs: list[str]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Collect the data that the page reads at once, and the pictures of its tabs and of what is inside of nodes.

    Levels, which the page reads when a box is opened, are packed.
    """
    insides: dict[str, int] = {}

    def told(sheet: Sheet) -> tuple[dict[str, Any], str]:
        for picture in sheet.insides.values():
            insides.setdefault(picture, len(insides))
        return _view(sheet, page.about, insides, packs), _without_head(to_svg(sheet.placed, page=True))

    views = list(map(told, page.sheets))  # which, unlike a loop, holds no sheet while the next one is made
    data = {
        "title": page.title,
        "first": page.first,
        "views": [view for view, _ in views],
        "nodes": told_nodes(page.whole),
        "ran": len(page.ran),
        "calls": list(told_modules(page.whole)),
        "roots": [[visible(shown_name(root.name)), root.node, root.nr] for root in page.whole.roots],
        "sources": told_sources(page.whole, page.sources),
        "kept": told_lines(page.whole),
        "formulas": [visible(formula) for formula in page.formulas],
        "number": None if page.number is None else page.number + 1,
        **page.apart,
        **told_panels(page.panels, page.ran, page.whole, page.number),
        **told_steps(page.ran),
    }
    return data, [picture for _, picture in views], list(map(_without_head, insides))


def _view(sheet: Sheet, about: str, pictures: Mapping[str, int], packs: list[str]) -> dict[str, Any]:
    placed, scene = sheet.placed, sheet.placed.scene
    folded = {fold.key: _positions(fold) for fold in sheet.folds if fold.key and not fold.parent}
    played = Playback(scene, sheet.graph, sheet.view, sheet.whole, sheet.numbers, sheet.parts, folded)
    notes = [about or f"{len(sheet.graph):,} nodes", *scene.notes]

    def told_box(box: Box) -> dict[str, Any]:
        """The number of the node that a box shows, and what its tooltip says beside which node that is."""
        shown = shown_by(box.id, sheet.graph, scene.data)
        number = played.node_of.get(box.id) if shown is None else shown.id
        if number is None:
            return {"text": box.tooltip} if box.tooltip else {}
        text = box.tooltip if shown is None else box.tooltip.partition("\n")[2]
        told = {"node": sheet.numbers[number]} | ({"text": text} if text else {})
        also = set() if shown is None else _stands_for(sheet, box) - {sheet.numbers[number]}
        return told | ({"also": _runs(sorted(also))} if also else {})

    return {
        "key": sheet.key or sheet.view,
        "about": "\n".join(notes),
        "boxes": _boxes(placed, told_box),
        "frames": _frames(placed, sheet.graph),
        "closed": sorted(sheet.closed),
        "arrows": [[arrow.tail, arrow.head] for arrow in scene.arrows],
        "labels": _labelled(placed),
        "bows": [list(ends) for ends, _, _ in links(placed)],
        "insides": {f"n{number}": pictures[picture] for number, picture in sheet.insides.items()},
        "data": scene.data,
        **_folds(sheet, told_box, packs),
        **played.told(),
    }


def _stands_for(sheet: Sheet, box: Box) -> set[int]:
    """The nodes of the whole graph that a box shows or stands for."""
    data = sheet.placed.scene.data
    shown = filter(None, (shown_by(key, sheet.graph, data) for key in (box.id, *box.others)))
    return {number for node in shown for number in sheet.parts.get(node.id, (sheet.numbers[node.id],))}


def _labelled(placed: Placed) -> list[list[float]]:
    """The place of each label, and the numbers of its arrows."""
    return [[*_rounded(*middle), *numbers] for (_, middle), numbers in labels(placed).items()]


def _boxes(placed: Placed, told_box: Callable[[Box], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        box.id: {"title": box.title, "at": _rounded(at.x, at.y, at.width, at.height)}
        | ({"frame": box.frame} if box.frame else {})
        | told_box(box)
        for box, at in zip(placed.scene.boxes, placed.positions, strict=True)
    }


def _folds(sheet: Sheet, told_box: Callable[[Box], dict[str, Any]], packs: list[str]) -> dict[str, Any]:
    """Collect for each level its place, its nodes and its shape, which are needed before it is opened; pack the rest.

    `shapes` and `levels` are the numbers of their first packs; of these, one holds `together` levels.
    """
    shapes = {fold.shape: fold.placed for fold in sheet.folds}
    levels = [[_words(box, told_box(box)) for box in fold.placed.scene.boxes] for fold in sheet.folds]
    together = [(levels[at : at + TOGETHER], sheet.folds[at : at + TOGETHER]) for at in range(0, len(levels), TOGETHER)]
    told = {"shapes": len(packs), "levels": len(packs) + len(shapes), "together": TOGETHER}
    packs += [_packed(_shape(shapes[number])) for number in sorted(shapes)]
    packs += [_packed([its, [_outside(sheet, fold) for fold in folds]]) for its, folds in together]
    folds = {fold.key: [fold.parent, fold.shape, *_runs(_numbers(sheet, fold))] for fold in sheet.folds}
    return {"folds": folds, **told}


def _numbers(sheet: Sheet, fold: Fold) -> list[int]:
    return sorted(number for node in _positions(fold) for number in sheet.parts.get(node, (sheet.numbers[node],)))


def _positions(fold: Fold) -> list[int]:
    """Return the nodes of the view that a level has in it."""
    return [int(key[1:]) for key in fold.members if key[0] == "n"]


def _outside(sheet: Sheet, fold: Fold) -> dict[str, int]:
    """The nodes outside that stubs of a level stand for, if for one each."""
    data = sheet.placed.scene.data
    shown = {stub: shown_by(key, sheet.graph, data) for stub, key in fold.stubs.items() if stub[-1].isdigit()}
    return {stub: sheet.numbers[node.id] for stub, node in shown.items() if node is not None}


def _shape(placed: Placed) -> dict[str, Any]:
    """A picture whose boxes have their numbers for ids."""
    id_of = {box.id: f"b{number}" for number, box in enumerate(placed.scene.boxes)}
    boxes = tuple(replace(box, id=id_of[box.id]) for box in placed.scene.boxes)
    arrows = tuple(replace(arrow, tail=id_of[arrow.tail], head=id_of[arrow.head]) for arrow in placed.scene.arrows)
    named = replace(placed, scene=replace(placed.scene, boxes=boxes, arrows=arrows))
    return {
        "svg": _without_head(to_svg(named, page=True)),
        "at": [_rounded(at.x, at.y, at.width, at.height) for at in placed.positions],
        "arrows": [[int(arrow.tail[1:]), int(arrow.head[1:])] for arrow in arrows],
        "labels": _labelled(placed),
        "size": _rounded(placed.width, placed.height),
    }


def _words(box: Box, told: dict[str, Any]) -> list[Any]:
    """Return what of a box may differ between levels of one shape: id, node, text, other nodes, the lines in it."""
    below = box.below
    left = is_code(below)
    written = [line.lstrip() if left else line for line in below if not is_bars(line)]
    return [box.id, told.get("node", -1), told.get("text", ""), told.get("also", []), box.title, *written]


def _packed(data: Any) -> str:
    return deflated(json.dumps(data, separators=(",", ":")))


def _runs(numbers: Sequence[int]) -> list[int]:
    """Rising numbers as pairs of the first of a run, and how many there are in it."""
    runs: list[int] = []
    for number in numbers:
        if runs and runs[-2] + runs[-1] == number:
            runs[-1] += 1
        else:
            runs += [number, 1]
    return runs


def _frames(placed: Placed, graph: Graph) -> dict[str, dict[str, Any]]:
    """The frames, the outer ones first, with what they say when they are closed."""
    boxes = told_closed(placed.scene, graph)
    return {
        plate.frame.id: {
            "title": plate.frame.title,
            "text": boxes[plate.frame.id].tooltip,
            "lines": boxes[plate.frame.id].lines,
            "parent": plate.frame.parent,
            "at": _rounded(plate.left, plate.top, plate.right, plate.bottom),
            "size": _rounded(*size_of(boxes[plate.frame.id])),
            "call": plate.frame.call,
        }
        for plate in placed.plates
    }


def _rounded(*numbers: float) -> list[float]:
    return [round(number, 2) for number in numbers]
