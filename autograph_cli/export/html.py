"""A placed scene as a page: one file with its picture, its data and its script, and nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import heapq
import html
import json
from importlib.resources import files
from typing import Any

from autograph_cli.export.placed import Placed
from autograph_cli.export.svg import to_svg
from autograph_cli.graph import Graph, Node

_KEYS = "click: what it hangs on · / search · n p next · + - 0 zoom · space play · Esc all"
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
<input id="search" type="search" placeholder="Search" aria-label="Search"><output id="hits" for="search"></output>
<button id="play" type="button" aria-label="Play in order of execution">▶</button>
<input id="slider" type="range" min="0" value="0" aria-label="Order of execution"><output id="step" for="slider"></output>
<button id="out" type="button" aria-label="Smaller">−</button><button id="in" type="button" aria-label="Larger">+</button>
<button id="fit" type="button">Fit</button><button id="dark" type="button" aria-label="Light or dark">◐</button>
</header>
<main>
<div id="picture">
{picture}</div>
<aside aria-live="polite"><h2 id="name"></h2><pre id="text"></pre><p id="hangs"></p></aside>
</main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""  # noqa: E501


def to_html(placed: Placed, graph: Graph, view: str) -> str:
    """Write the page; it runs from a file, under a policy that allows its own script and style alone."""
    folder = files("autograph_cli.export") / "page"
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    picture = to_svg(placed, tooltips=False).partition("\n")[2]
    data = json.dumps(_data(placed, graph, view), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(f"{placed.scene.title} · {view}".removeprefix(" · "))
    return _PAGE.format(
        style=style, script=script, style_hash=_hash(style), script_hash=_hash(script), title=title, picture=picture,
        data=data,
    )  # fmt: skip


def execution_order(graph: Graph, view: str) -> list[int]:
    """The nodes in the order in which they ran: of a backward graph as the backward pass does, else as they were made.

    The pass takes, of the nodes whose gradients are all there, the one that was made last; leaves at once.
    """
    if view != "backward":
        return [node.id for node in graph]
    waiting = [0] * len(graph)
    for node in graph:
        for edge in node.next:
            if edge is not None:
                waiting[edge.node] += 1
    ready = [_turn(graph, number) for number, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        number = -heapq.heappop(ready)[1]
        order.append(number)
        for edge in graph.nodes[number].next:
            if edge is not None:
                waiting[edge.node] -= 1
                if not waiting[edge.node]:
                    heapq.heappush(ready, _turn(graph, edge.node))
    return order


def _turn(graph: Graph, number: int) -> tuple[bool, int]:
    return graph.nodes[number].kind == "operation", -number


def _data(placed: Placed, graph: Graph, view: str) -> dict[str, Any]:
    scene = placed.scene
    drawn = {box.id for box in scene.boxes}
    order = [number for number in execution_order(graph, view) if f"n{number}" in drawn]
    when = {f"n{number}": turn for turn, number in enumerate(order, 1)}
    for arrow in scene.arrows:  # a result or a repeated leaf comes with what it belongs to
        when.setdefault(arrow.tail, when.get(arrow.head, 0))
        when.setdefault(arrow.head, when.get(arrow.tail, 0))
    titles = {box.id: box.title for box in scene.boxes}
    links: dict[str, list[str]] = {}
    for node in graph:
        if node.parent is not None and {f"n{node.id}", f"n{node.parent}"} <= drawn:
            links.setdefault(f"n{node.id}", []).append(f"n{node.parent}")
            links.setdefault(f"n{node.parent}", []).append(f"n{node.id}")
    inside = {f"n{node.id}": words for node in graph if (words := _inside(node))}
    notes = [f"{len(graph):,} nodes", *scene.notes, *_KEYS.split(" · ")]
    return {
        "title": scene.title,
        "about": "\n".join(notes),
        "boxes": {box.id: {"title": box.title, "text": box.tooltip + inside.get(box.id, "")} for box in scene.boxes},
        "frames": {
            frame.id: {"title": frame.title, "text": frame.tooltip, "parent": frame.parent} for frame in scene.frames
        },
        "inside": {box.id: box.frame for box in scene.boxes if box.frame},
        "arrows": [[arrow.tail, arrow.head] for arrow in scene.arrows],
        "links": links,
        "steps": [titles[f"n{number}"] for number in order],
        "when": {box.id: when.get(box.id, 0) for box in scene.boxes},
    }


def _inside(node: Node) -> str:
    """What ran inside of a node's backward, if it was recorded, to be read below what is known of the node."""
    if node.measured is None or node.measured.inside is None:
        return ""
    lines = node.measured.inside.to_text(shown=("values", "formula")).splitlines()[2:]
    return "\n\ninside of its backward\n" + "\n".join(lines)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
