"""Differences between two snapshots to read: a page with both graphs side by side, and a comment in Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from autograph_cli.export.compared_scenes import laid_out
from autograph_cli.export.comparison import both_scenes, union_scene
from autograph_cli.export.formats.mermaid import to_mermaid
from autograph_cli.export.formats.svg import to_svg
from autograph_cli.export.page.markup import source_hash, with_code
from autograph_cli.graph.names import visible, visible_lines
from autograph_cli.graph.snapshot import SnapshotDiff

PICTURED = 40
"""Boxes up to which a comment has a picture: more cannot be read there."""
TEXT = 20_000
"""Characters of the lines that differ in a comment; GitHub takes 65,536 for all of it."""
_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --panel: #f6f6f6; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --paper: #111; --ink: #ddd; --panel: #1c1c1c; --line: #444; } }
body { margin: 1em; font: 14px system-ui, sans-serif; color: var(--ink); background: var(--paper); }
section { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; overflow: auto; max-height: 85vh; }
figcaption { position: sticky; left: 0; top: 0; background: var(--panel); padding: 5px 10px; font-weight: 600; }
figure svg { display: block; margin: auto; max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { figure svg { filter: invert(0.92) hue-rotate(180deg); } }
h1 { font-size: 17px; } h2 { font-size: 15px; } summary { padding: 5px 0; }
li, pre { overflow-wrap: anywhere; } pre { white-space: pre-wrap; font: 12px ui-monospace, monospace; }
code { font: 13px ui-monospace, monospace; }
@media (max-width: 700px) { section { grid-template-columns: 1fr; } }
@media print { figure { overflow: visible; max-height: none; } }
"""


def to_page(diff: SnapshotDiff, titles: tuple[str, str], command: str = "") -> bytes:
    """Sentences, both graphs of each section beside each other with what differs marked, and the lines that differ."""
    policy = f"default-src 'none'; style-src '{source_hash(_STYLE)}'; base-uri 'none'; form-action 'none'"
    title = html.escape(visible(" → ".join(titles)))
    parts = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        f"<ul>\n{''.join(f'<li>{with_code(line)}</li>{chr(10)}' for line in _sentences(diff))}</ul>\n",
    ]
    for number, (name, one) in enumerate(diff.graphs):
        parts.append(f"<h2>{html.escape(visible(name))}</h2>\n<section>\n")
        for side, placed in zip(("before", "after"), laid_out(*both_scenes(one)), strict=True):
            words = html.escape(visible(titles[side == "after"]))
            picture = to_svg(placed).partition("\n")[2].replace(' id="', f' id="{side}{number}-')
            parts.append(f'<figure tabindex="0"><figcaption>{side}: {words}</figcaption>\n{picture}</figure>\n')
        text = html.escape(visible_lines(one.to_text()))
        parts.append(f"</section>\n<details><summary>Lines that differ</summary><pre>{text}</pre></details>\n")
    return "".join([*parts, "</main>\n</body>\n</html>\n"]).encode()


def _sentences(diff: SnapshotDiff) -> list[str]:
    return diff.sentences or ["The graphs are the same."]


def to_comment(diff: SnapshotDiff, titles: tuple[str, str], command: str = "") -> bytes:
    """A comment for a pull request: what differs in sentences, and the command that says so; folded away, the lines
    and one picture, if it is small."""
    parts = [f"### Graphs: {_plain(' → '.join(titles))}\n", _fenced("\n".join(_sentences(diff)), "text")]
    parts += [f"By `{_plain(command)}`\n"] * bool(command)
    for number, (name, one) in enumerate(diff.graphs):
        text = one.to_text()
        short = text if len(text) <= TEXT else text[:TEXT].rpartition("\n")[0] + "\n… and more\n"
        parts.append(_folded(f"{_plain(name)}: lines that differ", _fenced(short, "diff")))
        if number == 0 and len((scene := union_scene(one, "")).boxes) <= PICTURED:
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


REPORTS: dict[str, Callable[[SnapshotDiff, tuple[str, str], str], bytes]] = {"html": to_page, "markdown": to_comment}
