"""Layout programs from outside: Graphviz, in the package that is installed with this one or on the system."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.dot import legend_nodes, to_dot
from autograph_cli.export.formats.placed_dot import placed_dot
from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.formats.svg_cleanup import clean_svg
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.ranks import heights
from autograph_cli.export.scene.records import Scene

BUILT_IN = "layered"
LAYOUTS = (BUILT_IN, "graphviz-pure", "dot")
TIME_LIMIT = 60.0
"""Seconds that one run of a program may take."""
WEIGHT = 1_000
"""Boxes, with one more for each rank that an edge crosses, up to which Graphviz is quick enough."""
FINE, COARSE, LONGEST_SIDE = 144, 60, 12_000
"""Dots per inch of a PNG at best and at least, and the dots of its longest side."""
_BOX = re.compile(r'bb="([-\d.e+]+),([-\d.e+]+),([-\d.e+]+),([-\d.e+]+)"')


def graphviz_svg(scene: Scene, layout: str, *, right: bool = False) -> str:
    """The scene as SVG, laid out and drawn by a Graphviz program.

    Raises `ExportError`: a program that is unknown or absent, fails, or takes too long; a scene that is too big.
    """
    program = find_program(layout)
    if _weight(scene) > WEIGHT:
        raise ExportError(f"The graph is too big for {layout}: leave the choice to autograph, or draw a smaller part.")
    placed = _run([program, "-Kdot", "-Tdot"], to_dot(scene, tooltips=False, right=right)).decode()
    svg = _run([program, "-Kneato", "-n2", "-Tsvg"], _with_legend(placed, scene)).decode()
    return clean_svg(svg, scene)


def png(placed: Placed, layout: str | None = None) -> bytes:
    """A placed scene as PNG, as fine as the largest image allows; only the drawing is another program's.

    graphviz-pure has letters of the West, Greek and Cyrillic only: a picture with others is drawn by rsvg-convert, with
    the fonts of the system. Raises `ExportError` if that is not there.
    """
    dpi = min(FINE, int(LONGEST_SIDE / (max(placed.width, placed.height) / 72)))
    if dpi < COARSE:
        raise ExportError("The graph is too big for a PNG: choose the format svg, or a smaller part with --root.")
    name = LAYOUTS[1] if layout in (None, BUILT_IN) else layout
    text = placed_dot(placed)
    if name == LAYOUTS[1]:
        if strange := next(filter(_is_strange, text), None):
            return _run([_rsvg(strange), f"--dpi-x={dpi}", f"--dpi-y={dpi}"], to_svg(placed))
        text = text.translate(_PLAIN)
    return _run([find_program(name), "-Kneato", "-n2", "-Tpng", f"-Gdpi={dpi}"], text)


_PLAIN = str.maketrans({"↻": "○", "⊕": "Σ", **{chr(ord("①") + number): f"({number + 1})" for number in range(10)}})
"""Replacements for signs that the font of graphviz-pure lacks."""


def _is_strange(character: str) -> bool:
    return ord(character) >= 0x2E80 or 0x0590 <= ord(character) < 0x1E00


def _rsvg(strange: str) -> str:
    program = shutil.which("rsvg-convert")
    if program is None:
        raise ExportError(
            f"The built-in PNG has no glyph for {strange!r}: install rsvg-convert (librsvg), or choose the format svg."
        )
    return program


def find_program(name: str) -> str:
    """The path of a layout program; empty for the built-in layout."""
    if name not in LAYOUTS:
        raise ExportError(f"There is no layout program {name!r}; known ones: {', '.join(LAYOUTS)}.")
    if name == BUILT_IN:
        return ""
    # The scripts of an environment that is not activated are beside its interpreter.
    path = shutil.which(name, path=str(Path(sys.executable).parent)) if name == LAYOUTS[1] else None
    path = path or shutil.which(name)
    if path is None:
        advice = f"pip install {name}" if name == LAYOUTS[1] else "install Graphviz, or leave the choice to autograph"
        raise ExportError(f"The layout program {name!r} is not installed: {advice}.")
    return path


def _weight(scene: Scene) -> int:
    """Count the items that a layout program has to place: boxes, and a point for each rank that an edge crosses."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    height = heights(len(index), edges)
    return len(index) + sum(max(0, height[tail] - height[head] - 1) for tail, head in edges)


def _with_legend(placed: str, scene: Scene) -> str:
    box = _BOX.search(placed)
    if box is None:
        raise ExportError("The layout program gave no places: leave --layout out, and autograph places all itself.")
    left, bottom, right = (float(box[number]) for number in (1, 2, 3))
    end = placed.rstrip().rindex("}")
    return placed[:end] + legend_nodes(scene, left, bottom, right) + "}\n"


def _run(command: list[str], source: str) -> bytes:
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise ExportError(
            f"{name} took more than {TIME_LIMIT:g} s: choose the format dot or text, or a smaller part with --root."
        ) from None
    except OSError as error:
        raise ExportError(f"{name} cannot be run: {error.strerror}.") from None
    if done.returncode or not done.stdout:
        told = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise ExportError(f"{name} failed: {told[-1]}")
    return done.stdout
