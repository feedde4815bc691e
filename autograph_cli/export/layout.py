"""From a scene to a picture: a layout program gives places, a legend is put below, and all is drawn."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from autograph_cli.export.dot import legend_nodes, to_dot
from autograph_cli.export.errors import ExportError
from autograph_cli.export.layered import place
from autograph_cli.export.scene import Scene, heights

ENGINES = ("graphviz-pure", "dot")
TIME_LIMIT = 60.0
"""Seconds that one run of a layout program may take."""
CAREFUL, QUICK = 1_000, 3_000
"""Boxes, with one more for each rank that an edge crosses, up to which a layout program is careful, or quick."""
LARGEST = 20_000
"""Boxes up to which a picture is drawn at all."""
FINE, COARSE, LONGEST_SIDE = 144, 60, 12_000
"""Dots per inch of a PNG at best and at least, and the dots of its longest side."""
_QUICK = {"nslimit": ".1", "nslimit1": ".1", "mclimit": ".1", "splines": "line"}
_STRAIGHT = {"splines": "line", "outputorder": "edgesfirst"}
_PLACE = re.compile(r'pos="(-?[\d.]+(?:e[-+]?\d+)?,-?[\d.]+(?:e[-+]?\d+)?)"')
_BOX = re.compile(r'bb="([-\d.e+]+),([-\d.e+]+),([-\d.e+]+),([-\d.e+]+)"')


def draw(scene: Scene, format: str, engine: str | None = None) -> bytes:
    """Draw the scene as `svg` or `png` with one of `ENGINES`.

    What is done depends on the size of the scene alone, never on time, so the same scene gives the same bytes.
    Raises `ExportError`: an engine that is unknown or absent, fails, or takes too long; a scene that is too big.
    """
    program = find_engine(engine)
    weight = _weight(scene)
    if len(scene.boxes) > LARGEST:
        raise ExportError(
            f"{len(scene.boxes):,} nodes are too many for a picture (the limit is {LARGEST:,}): "
            "choose the format dot, text or json, or a smaller part with --root."
        )
    if weight <= QUICK:
        careful = weight <= CAREFUL
        source = to_dot(scene, tooltips=False, labels=careful, settings={} if careful else _QUICK)
        placed = _run([program, "-Kdot", "-Tdot"], source).decode()
    else:
        scene = replace(scene, bands=())
        placed = to_dot(scene, tooltips=False, labels=False, places=place(scene), settings=_STRAIGHT)
    complete = _with_legend(placed, scene)
    return _run([program, "-Kneato", "-n2", f"-T{format}", *_resolution(complete, format)], complete)


def _resolution(placed: str, format: str) -> list[str]:
    """As fine as the largest image allows; none for what is not made of dots."""
    if format != "png":
        return []
    places = [tuple(map(float, place.split(","))) for place in _PLACE.findall(placed)]
    side = max(max(axis) - min(axis) for axis in zip(*places, strict=True)) / 72 + 3
    dpi = min(FINE, int(LONGEST_SIDE / side))
    if dpi < COARSE:
        raise ExportError("The graph is too big for a PNG: choose the format svg, or a smaller part with --root.")
    return [f"-Gdpi={dpi}"]


def find_engine(engine: str | None = None) -> str:
    """The path of a layout program; the one that is installed with this package unless another is named."""
    name = engine or ENGINES[0]
    if name not in ENGINES:
        raise ExportError(f"There is no layout program {name!r}; known ones: {', '.join(ENGINES)}.")
    # The scripts of an environment that is not activated lie beside its interpreter.
    path = shutil.which(name, path=str(Path(sys.executable).parent)) if name == ENGINES[0] else None
    path = path or shutil.which(name)
    if path is None:
        advice = f"pip install {name}" if name == ENGINES[0] else "install Graphviz, or leave the choice to autograph"
        raise ExportError(f"The layout program {name!r} is not installed: {advice}.")
    return path


def _weight(scene: Scene) -> int:
    """What a layout program has to place: boxes, and a point for each rank that an edge crosses."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    height = heights(len(index), edges)
    return len(index) + sum(max(0, height[tail] - height[head] - 1) for tail, head in edges)


def _with_legend(placed: str, scene: Scene) -> str:
    found = _BOX.search(placed)
    if found:
        left, bottom, right = (float(found[number]) for number in (1, 2, 3))
    else:
        places = place(scene)
        left, bottom, right = min(x for x, _ in places), min(y for _, y in places) - 30, max(x for x, _ in places)
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
