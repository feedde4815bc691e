"""A layered layout in linear time, for graphs that are too big for a layout program."""

from __future__ import annotations

from itertools import pairwise

from autograph_cli.export.scene import Scene, heights
from autograph_cli.export.style import SMALL, TITLE, box_size

GAP, RISE = 18.0, 62.0
SWEEPS = 4


def place(scene: Scene) -> list[tuple[float, float]]:
    """The centre of each box in points: levels by the longest way to an end, bands apart, neighbours near."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    levels = _levels(scene, edges)
    beside: list[list[int]] = [[] for _ in scene.boxes]
    for tail, head in edges:
        beside[tail].append(head)
        beside[head].append(tail)
    sizes = [box_size(box.style, box.title, box.subtitle, SMALL if box.small else TITLE) for box in scene.boxes]
    x = [0.0] * len(scene.boxes)
    for row in levels:
        _pack(row, dict.fromkeys(row, 0.0), sizes, x)
    for sweep in range(SWEEPS):
        for row in levels if sweep % 2 else reversed(levels):
            wanted = {number: _middle([x[other] for other in beside[number]], x[number]) for number in row}
            row.sort(key=lambda number: (wanted[number], number))
            _pack(row, wanted, sizes, x)
    y = {number: level * RISE for level, row in enumerate(levels) for number in row}
    return [(x[number], y[number]) for number in range(len(scene.boxes))]


def _levels(scene: Scene, edges: list[tuple[int, int]]) -> list[list[int]]:
    """The boxes of each level from the lowest up, band by band."""
    band = [box.band for box in scene.boxes]
    height = heights(len(band), [(tail, head) for tail, head in edges if band[tail] == band[head]])
    rows: dict[tuple[int, int], list[int]] = {}
    for number, level in enumerate(height):
        rows.setdefault((band[number], level), []).append(number)
    keys = sorted(rows)
    levels = [rows[keys[0]]] if keys else []
    for before, key in pairwise(keys):
        if before[0] != key[0]:
            levels.append([])
        levels.append(rows[key])
    return levels


def _middle(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _pack(row: list[int], wanted: dict[int, float], sizes: list[tuple[float, float]], x: list[float]) -> None:
    """Put a row's boxes beside each other, each where it wants to be if there is room, about the row's middle."""
    end = float("-inf")
    for number in row:
        half = sizes[number][0] / 2
        x[number] = max(wanted[number], end + half)
        end = x[number] + half + GAP
    shift = _middle([wanted[number] - x[number] for number in row], 0.0)
    for number in row:
        x[number] += shift
