"""What differs between two snapshots, to be read: a page with both graphs side by side, and a comment in Markdown."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable
from dataclasses import replace

from autograph_cli.export.comparison import DIFFERENT, union_scene
from autograph_cli.export.errors import ExportError
from autograph_cli.export.layered import lay_out
from autograph_cli.export.mermaid import to_mermaid
from autograph_cli.export.modules import framed
from autograph_cli.export.rendering import LARGEST
from autograph_cli.export.scene import Scene, build
from autograph_cli.export.style import Style
from autograph_cli.export.svg import to_svg
from autograph_cli.graph import Graph, GraphDiff
from autograph_cli.graph.names import visible, visible_lines
from autograph_cli.graph.snapshot import SnapshotDiff

PICTURED = 40
"""Boxes up to which a comment has a picture: more cannot be read there."""
TEXT = 20_000
"""Characters of the lines that differ in a comment; GitHub takes 65,536 for all of it."""
_STYLE = """
body { margin: 1em; font: 14px system-ui, sans-serif; color: #222; background: #fff; }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
figure { margin: 0; border: 1px solid #ccc; border-radius: 6px; overflow: auto; max-height: 85vh; }
figcaption { position: sticky; left: 0; top: 0; background: #f6f6f6; padding: 5px 10px; font-weight: 600; }
figure svg { display: block; margin: auto; max-width: 100%; height: auto; }
h1 { font-size: 17px; } h2 { font-size: 15px; }
li, pre { overflow-wrap: anywhere; } pre { white-space: pre-wrap; font: 12px ui-monospace, monospace; }
@media (max-width: 700px) { main { grid-template-columns: 1fr; } }
"""


def to_page(found: SnapshotDiff, titles: tuple[str, str]) -> bytes:
    """Sentences, both graphs of each section beside each other with what differs marked, and the lines that differ."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = html.escape(visible(" → ".join(titles)))
    parts = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        f"<ul>\n{''.join(f'<li>{html.escape(visible(line))}</li>{chr(10)}' for line in _sentences(found))}</ul>\n",
    ]
    for number, (name, one) in enumerate(found.graphs):
        parts.append(f"<h2>{html.escape(visible(name))}</h2>\n<main>\n")
        for side, scene in zip(("before", "after"), _both(one), strict=True):
            words = html.escape(visible(titles[side == "after"]))
            picture = to_svg(lay_out(scene)).partition("\n")[2].replace(' id="', f' id="{side}{number}-')
            parts.append(f"<figure><figcaption>{side}: {words}</figcaption>\n{picture}</figure>\n")
        text = html.escape(visible_lines(one.to_text()))
        parts.append(f"</main>\n<details><summary>Lines that differ</summary><pre>{text}</pre></details>\n")
    return "".join([*parts, "</body>\n</html>\n"]).encode()


def _sentences(found: SnapshotDiff) -> list[str]:
    return found.sentences or ["The graphs are the same."]


def _both(diff: GraphDiff) -> tuple[Scene, Scene]:
    old: dict[int, Style] = {change.old: "changed" for change in diff.changed}
    new: dict[int, Style] = {change.new: "changed" for change in diff.changed}
    old |= dict.fromkeys(diff.removed, "removed")
    new |= dict.fromkeys(diff.added, "added")
    return _marked(diff.old, old), _marked(diff.new, new)


def _marked(graph: Graph, marks: dict[int, Style]) -> Scene:
    data = any(node.args for node in graph)
    if len(graph) > LARGEST:
        raise ExportError(f"{len(graph):,} nodes are too many for a picture (the limit is {LARGEST:,}).")
    scene = framed(build(graph, "", data=data, tags=False), graph)
    boxes = tuple(
        replace(box, style=marks.get(int(box.id[1:]), box.style)) if box.id[0] == "n" else box for box in scene.boxes
    )
    styles = {box.style for box in boxes}
    legend = [entry for entry in scene.legend if entry[0] in styles]
    legend += [(style, style) for style in DIFFERENT if style in styles]
    return replace(scene, boxes=boxes, legend=tuple(legend))


def to_comment(found: SnapshotDiff, titles: tuple[str, str]) -> bytes:
    """A comment for a pull request: what differs in sentences; folded away, the lines and a picture if it is small."""
    parts = [f"### Graphs: {_plain(' → '.join(titles))}\n", _fenced("\n".join(_sentences(found)), "text")]
    for name, one in found.graphs:
        text = one.to_text()
        short = text if len(text) <= TEXT else text[:TEXT].rpartition("\n")[0] + "\n… and more\n"
        parts.append(_folded(f"{_plain(name)}: lines that differ", _fenced(short, "diff")))
        scene = union_scene(one, "")
        if len(scene.boxes) <= PICTURED:
            parts.append(_folded(f"{_plain(name)}: picture", _fenced(to_mermaid(scene), "mermaid")))
    comment = "\n".join(parts)
    return comment.encode()


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{inner}\n</details>\n"


def _fenced(text: str, language: str) -> str:
    """The text as code that nothing in it ends, so that names in it are no Markdown, no HTML and call nobody."""
    text = visible_lines(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}\n"


def _plain(text: str) -> str:
    """The text with all that Markdown or HTML takes for its own as character references."""
    return re.sub(r"[^\w\s.,:/→-]", lambda match: f"&#{ord(match[0])};", visible(text))


REPORTS: dict[str, Callable[[SnapshotDiff, tuple[str, str]], bytes]] = {"html": to_page, "markdown": to_comment}
