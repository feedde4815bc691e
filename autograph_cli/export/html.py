"""A placed scene as a page: one file with its picture, its data and its script, and nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from autograph_cli.export.closing import told_closed
from autograph_cli.export.layered import size_of
from autograph_cli.export.placed import Placed, links
from autograph_cli.export.playback import Playing
from autograph_cli.export.svg import to_svg
from autograph_cli.graph import Graph

_KEYS = (
    "click: what it hangs on",
    "title of a module: close it",
    "/ search, n p next",
    "+ - 0 zoom, arrows move",
    "[ ] close, open modules",
    "space play, , . step",
    "Tab, Enter: from box to box",
    "Esc all",
)
_SCRIPTS = ("closing.js", "page.js")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_hash}'; script-src '{script_hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<div><input id="search" type="search" placeholder="Search" aria-label="Search"><output id="hits" for="search"></output></div>
<div id="time"><button id="play" type="button" aria-label="Play in order of execution">▶</button><input id="slider" type="range" min="0" value="0" aria-label="Order of execution"><output id="step" for="slider"></output></div>
<div><button id="close" type="button" aria-label="Close the innermost modules" hidden>⊟</button><button id="open" type="button" aria-label="Open the closed modules" hidden>⊞</button><button id="out" type="button" aria-label="Smaller">−</button><button id="in" type="button" aria-label="Larger">+</button><button id="fit" type="button">Fit</button><button id="dark" type="button" aria-label="Light or dark">◐</button></div>
</header>
<main>
<div id="picture">
{picture}</div>
<aside aria-live="polite"><h2 id="name"></h2><button id="toggle" type="button" hidden></button><button id="look" type="button" hidden>What its backward ran</button><p id="hangs"></p><pre id="text"></pre></aside>
</main>
<dialog id="inside"><button id="back" type="button" aria-label="Back">✕</button><div id="ran"></div></dialog>
{insides}<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a page shows: a placed view of a graph, and what else is known of it."""

    placed: Placed
    graph: Graph
    """The view."""
    view: str
    whole: Graph
    """The graph that it is a view of."""
    numbers: Sequence[int]
    """Of each node of the view, its number in the whole graph."""
    closed: Collection[str] = ()
    """The frames that are closed at first."""
    insides: Mapping[int, str] = field(default_factory=dict)
    """Pictures of what the backward of nodes ran, as SVG, by their number in the view."""


def to_html(sheet: Sheet) -> str:
    """Write the page; it runs from a file, under a policy that allows its own script and style alone."""
    folder = files("autograph_cli.export") / "page"
    style = folder.joinpath("page.css").read_text("utf-8")
    script = "".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS)
    data = json.dumps(_data(sheet), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(f"{sheet.placed.scene.title} · {sheet.view}".removeprefix(" · "))
    insides = dict.fromkeys(sheet.insides.values())
    return _PAGE.format(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        title=title,
        data=data,
        picture=_bare(to_svg(sheet.placed, page=True)),
        insides="".join(f"<template>\n{_bare(picture)}</template>\n" for picture in insides),
    )


def _bare(picture: str) -> str:
    """SVG without the line that says that it is XML."""
    return picture.partition("\n")[2]


def _data(sheet: Sheet) -> dict[str, Any]:
    placed, scene = sheet.placed, sheet.placed.scene
    played = Playing(scene, sheet.graph, sheet.view, sheet.whole, sheet.numbers)
    pictures = {picture: number for number, picture in enumerate(dict.fromkeys(sheet.insides.values()))}
    notes = [f"{len(sheet.graph):,} nodes", *scene.notes]
    return {
        "title": scene.title,
        "about": "\n".join(notes),
        "keys": "\n".join(_KEYS),
        "boxes": {
            box.id: {"title": box.title, "text": box.tooltip, "at": _rounded(at.x, at.y, at.width, at.height)}
            | ({"frame": box.frame} if box.frame else {})
            for box, at in zip(scene.boxes, placed.positions, strict=True)
        },
        "frames": _frames(placed, sheet.graph),
        "closed": sorted(sheet.closed),
        "arrows": [[arrow.tail, arrow.head] for arrow in scene.arrows],
        "labels": [
            [number, *_rounded(*line.label)]
            for number, (arrow, line) in enumerate(zip(scene.arrows, placed.lines, strict=True))
            if arrow.label and line.label
        ],
        "bows": [list(ends) for ends, _, _ in links(placed)],
        "links": _links(sheet),
        "insides": {f"n{number}": pictures[picture] for number, picture in sheet.insides.items()},
        "data": scene.data,
        **played.told(),
    }


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
        }
        for plate in placed.plates
    }


def _links(sheet: Sheet) -> dict[str, list[str]]:
    """Derivatives and what they differentiate, both ways."""
    drawn = {box.id for box in sheet.placed.scene.boxes}
    found: dict[str, list[str]] = {}
    for node in sheet.graph:
        if node.parent is not None and {f"n{node.id}", f"n{node.parent}"} <= drawn:
            found.setdefault(f"n{node.id}", []).append(f"n{node.parent}")
            found.setdefault(f"n{node.parent}", []).append(f"n{node.id}")
    return found


def _rounded(*numbers: float) -> list[float]:
    return [round(number, 2) for number in numbers]


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
