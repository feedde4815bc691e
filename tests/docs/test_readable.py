"""Every picture of the pages can be read where a README shows it, and nothing in it lies on anything else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograph_cli.export import render
from autograph_cli.export.formats.pdf import helvetica_width
from autograph_cli.export.style import SLANT
from autograph_cli.record.run import runner

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = sorted((*DOCS.glob("gallery/*.svg"), *DOCS.glob("pictures/*.svg")))
PAGE = 900.0
"""Pixels of width that a README gives to a picture."""
SMALLEST = 7.0
"""Pixels of height that text needs."""
TALLEST = 2.5
STEPS = 12
"""Points that each curve is looked at."""
NUMBER = re.compile(r"-?[\d.]+")

Rectangle = tuple[float, float, float, float]
Point = tuple[float, float]


@dataclass
class Picture:
    """Where what a picture shows is: left, top, right and bottom of all that is written or drawn as a box."""

    width: float = 0.0
    height: float = 0.0
    boxes: dict[str, Rectangle] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    ends: list[tuple[str, Rectangle]] = field(default_factory=list)
    """The heads of arrows."""
    ways: list[tuple[str, list[Point]]] = field(default_factory=list)
    links: list[list[Point]] = field(default_factory=list)
    labels: list[tuple[str, Rectangle]] = field(default_factory=list)
    titles: list[tuple[str, Rectangle]] = field(default_factory=list)
    """Of modules and bands."""
    sizes: list[float] = field(default_factory=list)
    written: list[tuple[str, Rectangle, Rectangle]] = field(default_factory=list)
    """What is written on boxes and modules, and where these are."""


def read(svg: str) -> Picture:
    root = ElementTree.fromstring(svg)
    found = Picture(*map(float, root.attrib["viewBox"].split()[2:]))
    found.sizes = [float(text.get("font-size", 12)) for text in root.iter() if _tag(text) == "text"]
    bands: list[Rectangle] = []
    for item in root:
        kind = item.get("class")
        if _tag(item) == "g" and kind == "module" and _is_open(item):
            area, words = [part for part in item if _tag(part) in ("rect", "text")]
            found.titles.append((words.text or "", _written(words)))
            found.written.append((*found.titles[-1], _shape(area)))
        elif _tag(item) == "g" and kind == "formula":
            found.titles += [(words.text or "", _written(words)) for words in item]
        elif _tag(item) == "g" and kind:
            _box(item, found)
        elif _tag(item) == "g":
            _arrows_or_labels(item, found)
        elif kind == "link":
            found.links.append(list(_points(item.attrib["d"])))
        elif kind == "band":
            bands.append(_shape(item))
        elif _tag(item) == "text" and item.get("font-size") == "11":
            found.titles.append((item.text or "", _written(item)))
            around = [band for band in bands if overlap(band, found.titles[-1][1])]
            found.written.append((*found.titles[-1], around[0]))
    return found


def _is_open(item: ElementTree.Element) -> bool:
    """Return whether a module is a frame around what is in it, whose title is small, and no box."""
    return next(text.get("font-size") for text in item if _tag(text) == "text") == "10"


def _tag(item: ElementTree.Element) -> str:
    return item.tag.rpartition("}")[2]


def _box(item: ElementTree.Element, found: Picture) -> None:
    shape, *inside = [part for part in item if _tag(part) != "title"]
    key = item.attrib["id"]
    found.boxes[key] = _shape(shape)
    found.shapes[key] = _tag(shape)
    found.written += [(part.text or "", _written(part), found.boxes[key]) for part in inside if _tag(part) == "text"]


def _arrows_or_labels(group: ElementTree.Element, found: Picture) -> None:
    for item in group:
        if _tag(item) == "text":
            found.labels.append((item.text or "", _written(item, float(group.attrib["font-size"]), centred=True)))
        elif item.get("class") == "arrow":
            path, head = [part for part in item if _tag(part) in ("path", "polygon")]
            found.ways.append((item.attrib["id"], list(_points(path.attrib["d"]))))
            found.ends.append((item.attrib["id"], _shape(head)))


def _shape(item: ElementTree.Element) -> Rectangle:
    if _tag(item) == "polygon":
        points = [tuple(map(float, point.split(","))) for point in item.attrib["points"].split()]
        across, down = zip(*points, strict=True)
        return min(across), min(down), max(across), max(down)
    if _tag(item) == "ellipse":
        x, y, rx, ry = (float(item.attrib[name]) for name in ("cx", "cy", "rx", "ry"))
        return x - rx, y - ry, x + rx, y + ry
    x, y, width, height = (float(item.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def _written(item: ElementTree.Element, size: float = 12.0, *, centred: bool = False) -> Rectangle:
    size = float(item.get("font-size", size))
    x, y, width = float(item.attrib["x"]), float(item.attrib["y"]), helvetica_width(item.text or "") * size
    left = x if item.get("text-anchor") == "start" and not centred else x - width / 2
    return left, y - 0.72 * size, left + width, y + 0.2 * size


def _points(path: str) -> Iterator[Point]:
    at = (0.0, 0.0)
    for command in re.findall("[MLC][^MLC]*", path):
        numbers = list(map(float, NUMBER.findall(command)))
        knots = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command[0] == "C":
            (x0, y0), (x1, y1), (x2, y2), (x3, y3) = at, *knots
            for step in range(1, STEPS):
                t = step / STEPS
                a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                yield a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3
        elif command[0] == "L":
            (end,) = knots
            for step in range(1, STEPS):
                yield at[0] + (end[0] - at[0]) * step / STEPS, at[1] + (end[1] - at[1]) * step / STEPS
        at = knots[-1]
        yield at


def overlap(a: Rectangle, b: Rectangle, by: float = 0.5) -> bool:
    """Return whether two rectangles lie on each other by more than so much."""
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return across > by and down > by


def within(point: Point, box: Rectangle, shape: str = "rect") -> bool:
    left, top, right, bottom = box
    if shape == "polygon":  # it leans
        lean = SLANT * (point[1] - top) / (bottom - top)
        left, right = left + SLANT - lean, right - lean
    if shape == "ellipse":
        x, y = (2 * point[0] - left - right) / (right - left - 1), (2 * point[1] - top - bottom) / (bottom - top - 1)
        return x * x + y * y < 1
    return left + 0.5 < point[0] < right - 0.5 and top + 0.5 < point[1] < bottom - 0.5


def faults(found: Picture) -> Iterator[str]:
    """All that is in the way of a reader."""
    scale = min(4 / 3, PAGE / found.width)
    if min(found.sizes) * scale < SMALLEST:
        yield f"text of {min(found.sizes) * scale:.1f} px"
    if found.height > TALLEST * found.width:
        yield f"{found.height / found.width:.2f} times as tall as wide"
    for (one, a), (other, b) in itertools.combinations(found.boxes.items(), 2):
        if overlap(a, b):
            yield f"box {one} on box {other}"
    for words, at, box in found.written:
        if at[0] < box[0] or at[2] > box[2] or at[1] < box[1] or at[3] > box[3]:
            yield f"{words!r} is wider than its box"
    for (one, a), (other, b) in itertools.combinations([*found.labels, *found.titles], 2):
        if overlap(a, b):
            yield f"label {one!r} on label {other!r}"
    for words, at in (*found.labels, *found.titles):
        yield from (f"label {words!r} on box {key}" for key, box in found.boxes.items() if overlap(at, box))
        yield from (f"label {words!r} on the head of {key}" for key, end in found.ends if overlap(at, end))
    for key, points in found.ways:
        for other, box in found.boxes.items():
            if any(within(point, box, found.shapes[other]) for point in points):
                yield f"arrow {key} through box {other}"
        for words, at in found.titles:
            if any(within(point, at) for point in points):
                yield f"arrow {key} through the title {words!r}"


def hidden_links(found: Picture) -> int:
    """Return how many thin lines run behind boxes."""
    return sum(
        any(within(point, box, found.shapes[key]) for point in points[1:-1] for key, box in found.boxes.items())
        for points in found.links
    )


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_of_the_pages_can_be_read(picture: Path) -> None:
    found = read(picture.read_text("utf-8"))
    assert found.boxes and found.sizes and len(found.ways) == len(found.ends)
    assert list(faults(found)) == []


@pytest.mark.parametrize(
    ("program", "view"),
    [
        ("samples/penalty.py", "double-backward"),
        ("tests/programs/17_lenet.py", "forward"),
        ("tests/programs/17_lenet.py", "backward"),
        ("tests/programs/22_higher_order.py", "backward"),
    ],
)
def test_so_can_a_picture_to_the_right_that_is_broken_into_rows(
    program: str, view: str, capsys: pytest.CaptureFixture[str]
) -> None:
    step = runner.record(runner.Target.of(str(DOCS.parent / program), ()))[1].main_step()
    assert step is not None
    assert list(faults(read(render(step, view, direction="right").decode()))) == []


CELLS = """import torch
torch.manual_seed(0)
cell = torch.nn.LSTMCell(3, 4)
h, c = torch.zeros(2, 4), torch.zeros(2, 4)
for x in torch.randn(5, 2, 3):
    i, f, g, o = (x @ cell.weight_ih.T + h @ cell.weight_hh.T + cell.bias_ih).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
h.sum().backward()
"""


@pytest.mark.parametrize("roll", [True, False])
@pytest.mark.parametrize("view", ["forward", "backward"])
def test_cells_of_a_recurrence_lie_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str, roll: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cells.py").write_text(CELLS)
    step = runner.record(runner.Target.of("cells.py", ()))[1].steps[-1]
    for direction in ("down", "right"):
        found = list(faults(read(render(step, view, roll=roll, direction=direction).decode())))
        assert [fault for fault in found if "text of" not in fault and "times as tall" not in fault] == []


@pytest.mark.parametrize(
    ("script", "most"), [("samples/first.py", 1), ("samples/penalty.py", 0), ("tests/programs/12_sinh_function.py", 0)]
)
def test_lines_to_what_is_differentiated_keep_clear_of_boxes(
    script: str, most: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the first one line passes beneath a corner, for every way has a box on it."""
    step = runner.record(runner.Target.of(str(DOCS.parent / script), ()))[1].steps[-1]
    found = read(render(step, "double-backward", shown=("shapes", "names", "links")).decode())
    assert len(found.links) > 2 and hidden_links(found) <= most
