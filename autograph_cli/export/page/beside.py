"""Two runs on one page: each with all its views in a frame of its own, linked node by node."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.options import READABLE, Panels, RenderOptions
from autograph_cli.export.page.html import Page, to_html
from autograph_cli.export.page.markup import deflated, source_hash, with_code
from autograph_cli.export.page.sheets import page_of
from autograph_cli.graph import Node, Step, Trace
from autograph_cli.graph.aligned import Aligned
from autograph_cli.graph.compared import constants
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.graph.names import visible
from autograph_cli.graph.parting_backward import partings
from autograph_cli.graph.parting_text import sentence


class Run(Struct, frozen=True):
    """One of the two runs."""

    name: str
    trace: Trace
    sources: Mapping[str, str]
    """Scripts by name, as far as they are at hand."""


class Pair(Struct, frozen=True):
    """A step of one run beside that of the other."""

    old: Step
    new: Step
    aligned: Aligned
    parted: tuple[Sequence[int], Sequence[int]] = ((), ())
    """The nodes at which the numbers part first."""


def to_beside(old: Run, new: Run, sentences: Sequence[str], found: Divergence | None = None) -> str:
    """Write the page. `sentences` say how the graphs differ; unless told by `found`, it is worked out from the traces
    where their numbers part."""
    found = found or divergence(old.trace, new.trace)
    numbers = sentence(found, (old.name, new.name))
    pairs = [_pair(*steps, found) for steps in _steps(old.trace, new.trace)]
    shown = _first(old.trace, new.trace, found)
    pages = [
        to_html(replace(_page(run, step), apart={"side": side, "other": visible(other.name)}))
        for side, (run, step, other) in enumerate(zip((old, new), shown, (new, old), strict=True))
    ]
    inner = {name: re.search(rf"{name}-src ('sha256-[^']*')", pages[0]) for name in ("style", "script")}
    folder = files("autograph_cli.export.page")
    style, script = (folder.joinpath(f"beside.{end}").read_text("utf-8") for end in ("css", "js"))
    title = " → ".join((old.name, new.name))
    data = json.dumps({"steps": [_told(pair) for pair in pairs]}, separators=(",", ":"))
    count = f"{len(sentences)} difference{'s' * (len(sentences) != 1)} of the graphs"
    fields = {
        "title": html.escape(visible(title)),
        "style": style,
        "script": script,
        "style_hash": source_hash(style),
        "script_hash": source_hash(script),
        "inner_style": inner["style"][1] if inner["style"] else "",
        "inner_script": inner["script"][1] if inner["script"] else "",
        "numbers": with_code(numbers),
        "count": count if sentences else "The graphs are the same.",
        "sentences": "".join(f"<li>{with_code(line)}</li>" for line in sentences or ["Nothing differs."]),
        "frames": "".join(map(_frame, (old, new), pages, ("before", "after"))),
        "data": f'"{deflated(data)}"',
    }
    head, *parts = folder.joinpath("beside.html").read_text("utf-8").split("{{")
    return head + "".join(fields[name] + rest for name, _, rest in (part.partition("}}") for part in parts))


def _frame(run: Run, page: str, which: str) -> str:
    name = html.escape(visible(run.name))
    allowed = "allow-scripts allow-downloads"
    return (
        f"<figure><figcaption>{which}: {name}</figcaption>"
        f'<iframe title="{which}: {name}" sandbox="{allowed}" srcdoc="{html.escape(page)}"></iframe>'
        "</figure>\n"
    )


def _page(run: Run, step: Step) -> Page:
    panels = Panels((), run.trace.watched, run.trace)
    options = RenderOptions(max_nodes=READABLE, title=run.trace.script, sources=run.sources, panels=panels)
    return page_of(step, "forward", options)


def _steps(old: Trace, new: Trace) -> list[tuple[Step, Step]]:
    """The steps of the same number; where there are none, those that are shown of both."""
    later = {step.number: step for step in new.steps if step.has_nodes}
    found = [(step, later[step.number]) for step in old.steps if step.has_nodes and step.number in later]
    one, other = old.main_step(), new.main_step()
    return found or ([(one, other)] if one is not None and other is not None else [])


def _first(old: Trace, new: Trace, found: Divergence) -> tuple[Step, Step]:
    """The steps that are shown first: in which numbers part, else those that both runs are known by."""
    if found.parting is not None and found.old is not None and found.new is not None:
        return found.old, found.new
    pairs = _steps(old, new)
    main = old.main_step()
    return next((pair for pair in pairs if pair[0] is main), pairs[-1])


def _pair(old: Step, new: Step, found: Divergence) -> Pair:
    aligned = Aligned(old.graph, new.graph, same_engine=False)
    here = found.old is not None and found.old.number == old.number
    if not here or found.parting is None or found.aligned is None:
        if any(node.measured and node.measured.exact for node in old.graph):
            partings(aligned)  # it fills in how far results are apart
        return Pair(old, new, aligned)
    parting = found.parting
    olds = parting.olds or (() if parting.old is None else (parting.old,))
    news = parting.news or (() if parting.new is None else (parting.new,))
    return Pair(old, new, found.aligned, (olds, news))


def _told(pair: Pair) -> dict[str, Any]:
    """Return which nodes are each other's like, which have none or another type or arguments, and how far numbers of
    results are apart."""
    old, new, pairs = pair.old.graph, pair.new.graph, pair.aligned.pairs
    other = [(a, b) for a, b in pairs.items() if _facts(old[a]) != _facts(new[b])]
    met = set(pairs.values())
    shown: dict[int, float] = {}
    for (number, _), its in pair.aligned.results.items():
        if its.level != "unknown" and math.isfinite(its.relative):
            shown[number] = max(its.relative, shown.get(number, 0.0))
    return {
        "steps": [pair.old.nth, pair.new.nth],
        "pairs": [list(each) for each in pairs.items()],
        "differs": [
            [node.id for node in old if node.id not in pairs] + [a for a, _ in other],
            [node.id for node in new if node.id not in met] + [b for _, b in other],
        ],
        "parted": [list(each) for each in pair.parted],
        "apart": [
            [[number, size] for number, size in shown.items()],
            [[pairs[number], size] for number, size in shown.items() if number in pairs],
        ],
    }


def _facts(node: Node) -> tuple[Any, ...]:
    given = constants(node) if node.is_operation else {}
    return node.kind, node.op, [output.type for output in node.outputs], given
