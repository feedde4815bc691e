"""The same graphs laid out by Graphviz's `dot`, ELK and dagre, with our boxes, frames and labels, by their own defaults."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autograph_cli.export.layout.placed import Line, Placed, Point
from autograph_cli.export.scene.records import Arrow
from autograph_cli.export.style import EDGE, label_width

INCH = 72.0
PROGRAM = Path(__file__).with_name("layout_peers.mjs")
PEERS = ("dot", "ELK", "dagre")
Laid = dict[str, Placed]
"""One graph by the name of who laid it out; who could not is left out."""


def laid_out_by_peers(placed: Sequence[Placed], folder: Path) -> Iterator[Laid]:
    """Yield each graph as the others lay it out, unbroken; the packages elkjs and @dagrejs/dagre are found from
    `folder`."""
    placed = list(map(unbroken, placed))
    for ours, answer in zip(placed, _by_node(placed, folder), strict=True):
        found = {name: _moved(ours, its) for name, its in answer.items() if "ways" in its}
        if (its := _by_dot(ours)) is not None:
            found["dot"] = its
        yield found


def missing(folder: Path) -> str:
    """Return a sentence on what is not there; empty if all is."""
    absent = [name for name in ("dot", "node") if shutil.which(name) is None]
    for package in ("elkjs", "@dagrejs/dagre"):
        if "node" not in absent:
            words = f"require(require.resolve({package!r}, {{paths: [process.cwd()]}}))"
            if subprocess.run(["node", "-e", words], cwd=folder, capture_output=True, check=False).returncode:
                absent.append(f"the npm package {package}")
    return f"Not found, and needed for the comparison: {', '.join(absent)}." if absent else ""


def unbroken(placed: Placed) -> Placed:
    """The picture with an arrow for each that was cut at a letter, which goes nowhere yet."""
    boxes = {box.id: box for box in placed.scene.boxes}
    whole: list[tuple[Arrow, Line]] = []
    into: dict[str, list[Arrow]] = {}
    out: dict[str, list[Arrow]] = {}
    for arrow, line in zip(placed.scene.arrows, placed.lines, strict=True):
        if boxes[arrow.head].style == "port":
            into.setdefault(boxes[arrow.head].title.split()[0], []).append(arrow)
        elif boxes[arrow.tail].style == "port":
            out.setdefault(boxes[arrow.tail].title.split()[0], []).append(arrow)
        else:
            whole.append((arrow, line))
    for letter, its in into.items():
        for first, last in product(its, out[letter]):
            whole.append((replace(first, head=last.head, label=first.label or last.label), placed.lines[0]))
    kept = [(box, at) for box, at in zip(placed.scene.boxes, placed.positions, strict=True) if box.style != "port"]
    scene = replace(placed.scene, boxes=tuple([box for box, _ in kept]), arrows=tuple([arrow for arrow, _ in whole]))
    lines = tuple([line for _, line in whole])
    return replace(placed, scene=scene, positions=tuple([at for _, at in kept]), lines=lines)


def _by_node(placed: Sequence[Placed], folder: Path) -> Iterator[dict[str, Any]]:
    graphs = json.dumps([_plain(each) for each in placed])
    done = subprocess.run(["node", str(PROGRAM)], input=graphs, cwd=folder, capture_output=True, text=True, check=True)
    yield from map(json.loads, done.stdout.splitlines())


def _plain(placed: Placed) -> dict[str, Any]:
    scene = placed.scene
    sizes = [(spot.width, spot.height) for spot in placed.positions]
    return {
        "boxes": [(box.id, *size, box.frame) for box, size in zip(scene.boxes, sizes, strict=True)],
        "frames": [(frame.id, frame.parent) for frame in scene.frames],
        "arrows": [(arrow.tail, arrow.head, label_width(arrow.label)) for arrow in scene.arrows],
    }


def _moved(ours: Placed, answer: dict[str, Any]) -> Placed:
    places = answer["places"]
    positions = [replace(spot, x=x, y=y) for spot, (x, y) in zip(ours.positions, places, strict=True)]
    lines = [_straight([(x, y) for x, y in way]) for way in answer["ways"]]
    return replace(ours, positions=tuple(positions), lines=tuple(lines))


def _straight(points: Sequence[Point]) -> Line:
    return Line(points[0], tuple([(point,) for point in points[1:]]))


def _by_dot(ours: Placed) -> Placed | None:
    try:
        done = subprocess.run(
            ["dot", "-Tplain"], input="\n".join(_dot(ours)), capture_output=True, text=True, check=True, timeout=60
        )
    except (subprocess.SubprocessError, OSError):
        return None
    places: dict[str, tuple[float, float]] = {}
    ways: dict[tuple[str, str], list[Line]] = {}
    for words in map(str.split, done.stdout.splitlines()):
        if words[0] == "node":
            places[words[1]] = float(words[2]) * INCH, -float(words[3]) * INCH
        elif words[0] == "edge":
            values = [float(word) * INCH for word in words[4 : 4 + 2 * int(words[3])]]
            points = [(x, -y) for x, y in zip(values[::2], values[1::2], strict=True)]
            strokes = tuple([tuple(points[at : at + 3]) for at in range(1, len(points), 3)])
            ways.setdefault((words[1], words[2]), []).append(Line(points[0], strokes))
    scene = ours.scene
    positions = [
        replace(spot, x=places[box.id][0], y=places[box.id][1])
        for box, spot in zip(scene.boxes, ours.positions, strict=True)
    ]
    lines = [ways[arrow.tail, arrow.head].pop() for arrow in scene.arrows]
    return replace(ours, positions=tuple(positions), lines=tuple(lines))


def _dot(ours: Placed) -> Iterator[str]:
    scene = ours.scene
    inner: dict[str, list[str]] = {}
    for frame in scene.frames:
        inner.setdefault(frame.parent, []).append(frame.id)
    boxes: dict[str, list[str]] = {}
    for box, spot in zip(scene.boxes, ours.positions, strict=True):
        size = f"width={spot.width / INCH:.3f}, height={spot.height / INCH:.3f}"
        boxes.setdefault(box.frame, []).append(f'"{box.id}" [shape=box, fixedsize=true, label="", {size}];')

    def within(frame: str) -> Iterable[str]:
        yield from boxes.get(frame, ())
        for number, its in enumerate(inner.get(frame, ())):
            yield f'subgraph "cluster_{frame}_{number}" {{'
            yield from within(its)
            yield "}"

    yield "digraph { edge [arrowhead=none];"
    yield from within("")
    for arrow in scene.arrows:
        wide = label_width(arrow.label)
        cell = f'<<table border="0" cellpadding="0"><tr><td fixedsize="true" width="{wide:.0f}" height="{EDGE}"></td></tr></table>>'
        yield f'"{arrow.tail}" -> "{arrow.head}" [{f"label={cell}" if wide else ""}];'
    yield "}"
