"""A scene as a Mermaid flowchart, which a README on GitHub shows as a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograph_cli.export.errors import ExportError
from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.style import INK, STYLES, Style, band_look

MOST_ARROWS = 500
"""Arrows that Mermaid draws unless its page is set up otherwise."""
_SHAPES: dict[Style, tuple[str, str]] = {
    "input": ("[/", "/]"),
    "leaf": ("([", "])"),
    **dict.fromkeys(("saved", "mark", "root", "result", "module", "folded"), ("(", ")")),
}
"""The brackets around the title of a box; all others are square."""
_SPECIAL = re.compile(r"""["#<>&`\\;|_*$]|^(?=[\d+-])""")


def to_mermaid(scene: Scene, *, right: bool = False) -> str:
    """Write the scene as a flowchart, down or to the `right`; `ExportError` for more arrows than Mermaid draws."""
    if len(scene.arrows) > MOST_ARROWS:
        raise ExportError(
            f"Mermaid draws {MOST_ARROWS} arrows at most, and this graph has {len(scene.arrows):,}: "
            "choose svg, or a smaller part with --from and --to."
        )
    lines = [f"flowchart {'LR' if right else 'TD'}"]
    if scene.title:
        lines = ["---", f"title: {_quoted(scene.title)}", "---", *lines]
    for band in scene.stacked:
        lines.append(f'  subgraph band_{band.number}["{_escaped(" · ".join((band.title, *band.beside)))}"]')
        lines += [f"  {line}" for line in _inside(scene, "", band.number)]
        lines.append("  end")
        fill, line = band_look(band.order)
        lines.append(f"  style band_{band.number} fill:{fill},stroke:{line}")
    if not scene.bands:
        lines += _inside(scene, "", None)
    lines += map(_arrow, scene.arrows)
    drawn = {box.id for box in scene.boxes}
    lines += [f"  {tail} -.- {head}" for tail, head in scene.links if {tail, head} <= drawn]
    for style in sorted({box.style for box in scene.boxes}):
        lines.append(f"  classDef {style} {_look(style)}")
    return "\n".join(lines) + "\n"


def _inside(scene: Scene, around: str, band: int | None) -> Iterator[str]:
    """Write the boxes of one band in a frame, or in none; frames are subgraphs."""
    for box in scene.boxes:
        if box.frame == around and band in (None, box.band):
            yield _box(box)
    for frame in scene.frames:
        if frame.parent == around and band in (None, frame.band):
            yield f'  subgraph {frame.id}["{_escaped(frame.title)}"]'
            yield from (f"  {line}" for line in _inside(scene, frame.id, band))
            yield "  end"


def _box(box: Box) -> str:
    opening, closing = _SHAPES.get(box.style, ("[", "]"))
    words = _escaped(box.title) or "#160;"
    words += "".join(f"<br/>{_escaped(line).replace('  ', '#160; ')}" for line in box.below)
    return f'  {box.id}{opening}"{words}"{closing}:::{box.style}'


def _arrow(arrow: Arrow) -> str:
    line = "-.->" if arrow.dashed or arrow.back or arrow.keeps else "-->"
    label = f'|"{_escaped(arrow.label)}"|' if arrow.label else ""
    return f"  {arrow.tail} {line}{label} {arrow.head}"


def _look(style: Style) -> str:
    look = STYLES[style]
    parts = [f"fill:{look['fillcolor']}", f"stroke:{look['color']}", f"color:{INK}"]
    if "penwidth" in look:
        parts.append(f"stroke-width:{look['penwidth']}px")
    if "dashed" in look["style"]:
        parts.append("stroke-dasharray:4 3")
    return ",".join(parts)


def _escaped(text: str) -> str:
    """The text with all that Mermaid, Markdown or HTML could take for its own as character numbers."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};" if match[0] else "#8203;", text)


def _quoted(text: str) -> str:
    """A YAML string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
