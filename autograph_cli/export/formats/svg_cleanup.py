"""What a layout program's SVG lacks: real tooltips, centred text, fonts for every script, no leftovers."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping

from autograph_cli.export.scene.scene import Scene

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"
_GROUP = re.compile(r'<g id="([^"]*)" class="(node|edge|cluster)">\n<title>([^<]*)</title>(.*?)</g>', re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*", re.DOTALL)
_POINTS = re.compile(r' points="([^"]*)"')
_CENTRE = re.compile(r' cx="([^"]*)"')
_PATH = re.compile(r' d="([^"]*)"')
_TEXT = re.compile(r'(<text [^>]*?)text-anchor="\w+" x="[^"]*"')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def clean_svg(svg: str, scene: Scene) -> str:
    """Give an SVG of the scene its tooltips as `<title>`, and centre what is written in the nodes."""
    tooltips = {box.id: box.tooltip for box in scene.boxes}
    tooltips |= {f"e{number}": arrow.tooltip for number, arrow in enumerate(scene.arrows)}
    tooltips |= {f"cluster_{band.number}": band.title for band in scene.bands}
    svg = _COMMENT.sub("", svg).replace('font-family="Helvetica,sans-Serif"', f'font-family="{FONTS}"')
    svg = svg.replace("<title>autograph</title>", f"<title>{html.escape(scene.title or 'autograph')}</title>", 1)
    code = {box.id for box in scene.boxes if box.left}
    return _GROUP.sub(lambda match: _group(match, tooltips, code), svg)


def _group(match: re.Match[str], tooltips: Mapping[str, str], code: Collection[str]) -> str:
    key, kind, name, body = match.groups()
    tooltip = tooltips.get(name if kind == "cluster" else key, "")
    title = f"<title>{html.escape(tooltip)}</title>" if tooltip else ""
    if kind == "node" and not key.endswith("_notes") and key not in code:
        middle = _middle(body)
        if middle is not None:
            body = _TEXT.sub(rf'\1text-anchor="middle" x="{middle}"', body)
    return f'<g id="{key}" class="{kind}">\n{title}{body}</g>'


def _middle(body: str) -> str | None:
    """The x of the middle of the first shape."""
    if centre := _CENTRE.search(body):
        return centre[1]
    shape = _POINTS.search(body) or _PATH.search(body)
    if shape is None:
        return None
    across = list(map(float, _NUMBER.findall(shape[1])))[::2]
    return f"{(min(across) + max(across)) / 2:.2f}"
