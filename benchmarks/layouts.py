"""How well pictures are laid out, beside Graphviz's `dot`, ELK and dagre: crossings, lengths of arrows, shape, overlaps.

    python benchmarks/layouts.py [--node FOLDER] [--random N] [--only KIND] [--worst N] [--write] [SCRIPT ...]

The others lay out the boxes, frames and labels that our default picture has; all four are measured alike. It needs
`dot`, `node`, and the npm packages elkjs and @dagrejs/dagre, installed in FOLDER (by default here).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograph_cli.export.formats.svg import to_svg  # noqa: E402
from autograph_cli.export.layout.fitting import crossings, within_budget  # noqa: E402
from autograph_cli.export.layout.placed import Placed  # noqa: E402
from autograph_cli.export.options import READABLE, RenderOptions  # noqa: E402
from autograph_cli.export.picture import picture_of, whole_of  # noqa: E402
from autograph_cli.export.pipeline import placed  # noqa: E402
from autograph_cli.record.run.runner import Target, record  # noqa: E402
from benchmarks.layout_peers import PEERS, Laid, laid_out_by_peers, missing  # noqa: E402
from benchmarks.tables import put, table  # noqa: E402
from docs.make_pictures import GALLERY  # noqa: E402
from tests.export.layout.random_scenes import random_scene  # noqa: E402
from tests.export.measured_svg import Svg  # noqa: E402

VIEWS = ("forward", "backward", "double-backward")
MANY = 1_000
"""Crossings that are counted."""
NAMES = ("autograph", *PEERS)
LONGER = 1.1
"""Times the length of the best that arrows may have together."""


class Measured(Struct, frozen=True):
    """One picture by one layout."""

    crossings: int
    length: float

    @classmethod
    def of(cls, picture: Placed) -> Measured:
        """Measure a picture."""
        ways = [math.dist(a, b) for line in picture.lines for a, b in pairwise(line.points())]
        return cls(crossings(picture, MANY), math.fsum(ways))


class Compared(Struct, frozen=True):
    """One picture by all."""

    name: str
    by: dict[str, Measured]
    shape: float
    """Its height over its width, as ours."""
    covered: list[tuple[str, str]]
    """What lies on what in ours."""
    bytes_a_box: float

    @property
    def over(self) -> int:
        """By how many crossings ours is above the best of the others."""
        return self.by["autograph"].crossings - min(its.crossings for name, its in self.by.items() if name in PEERS)

    @property
    def longer(self) -> float:
        """Our length over the shortest of the others."""
        best = min(its.length for name, its in self.by.items() if name in PEERS)
        return self.by["autograph"].length / best if best else 1.0


def drawn(script: Path, views: Sequence[str] = VIEWS) -> Iterator[tuple[str, Placed]]:
    """Yield the default pictures of a script's main step."""
    here = Path.cwd()
    os.chdir(script.parent)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            step = record(Target.of(script.name, ()))[1].main_step()
    finally:
        os.chdir(here)
    assert step is not None, f"{script} has no step"
    options = RenderOptions(max_nodes=READABLE)
    for view in views:
        picture = picture_of(whole_of(step, view, options, formulas=False), view, "svg", options)
        if picture.graph.nodes:
            yield f"{script.stem}.{view}", placed(picture)


def compared(pictures: Sequence[tuple[str, Placed]], folder: Path) -> Iterator[Compared]:
    """Yield what is measured of each picture, where at least one of the others could lay it out."""
    others: Iterator[Laid] = laid_out_by_peers([picture for _, picture in pictures], folder)
    for (name, ours), theirs in zip(pictures, others, strict=True):
        svg = to_svg(ours)
        by = {who: Measured.of(its) for who, its in {"autograph": ours, **theirs}.items()}
        if len(by) > 1:
            size = len(svg.encode()) / max(1, len(ours.scene.boxes))
            yield Compared(name, by, ours.height / ours.width, Svg(svg).covered(), size)


def row(kind: str, its: Sequence[Compared]) -> list[str]:
    """The row of one kind of pictures."""
    cells = [kind, str(len(its))]
    for who in NAMES:
        known = [each.by[who] for each in its if who in each.by]
        crossed, length = sum(each.crossings for each in known), math.fsum(each.length for each in known)
        cells.append(f"{crossed}, {length / 1_000:.0f}" + (f" (of {len(known)})" if len(known) < len(its) else ""))
    ratios = sorted(each.longer for each in its)
    cells.append(f"{sum(each.over > 0 for each in its)}")
    cells.append(f"{sum(ratio > LONGER for ratio in ratios)}, {ratios[len(ratios) // 2]:.2f}")
    cells.append(str(sum(bool(each.covered) for each in its)))
    cells.append(str(sum(not 0.4 <= each.shape <= 1.8 for each in its)))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", type=Path, help="scripts whose pictures are measured as well")
    parser.add_argument("--node", type=Path, default=ROOT, help="the folder where the npm packages are installed")
    parser.add_argument("--random", type=int, default=200, help="how many random graphs")
    parser.add_argument("--only", choices=("scripts", "gallery", "random"), help="one kind of pictures")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst of each kind")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    asked = parser.parse_args()
    if words := missing(asked.node):
        raise SystemExit(words)
    gallery = [(ROOT / name, views) for name, (_, views) in GALLERY.items()]
    kinds: dict[str, Callable[[], list[tuple[str, Placed]]]] = {
        "scripts": lambda: [each for script in asked.scripts for each in drawn(script.resolve())],
        "gallery": lambda: [each for script, views in gallery for each in drawn(script, views)],
        "random": lambda: [
            (f"random {seed}", within_budget([(random_scene(seed), False)], "auto", columns=True))
            for seed in range(asked.random)
        ],
    }
    rows = []
    for kind, make in kinds.items():
        its = list(compared(make(), asked.node)) if asked.only in (None, kind) else []
        if its:
            rows.append(row(kind, its))
        for each in sorted(its, key=lambda each: (-each.over, -each.longer))[: asked.worst]:
            counts = ", ".join(f"{who} {m.crossings} {m.length:.0f}" for who, m in each.by.items())
            print(f"{each.name:40} +{each.over} x{each.longer:.2f} {counts} {each.shape:.2f} {each.covered[:3]}")
    head = ["pictures", "", *NAMES, "more crossings", "longer, median", "overlaps", "misshapen"]
    text = table(head, rows, "scripts, gallery, and random graphs with nested frames")
    print(text)
    if asked.write:
        put("benchmarks/layouts.py", text)


if __name__ == "__main__":
    main()
