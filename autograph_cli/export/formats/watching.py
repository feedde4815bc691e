"""Numbers of parameters over the steps of a run: small multiples as SVG, and rows as CSV."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.svg import FONTS
from autograph_cli.export.style import EDGE, FRAME_LINE, INK, PALE_INK, SMALL, TITLE, WRONG, text_width
from autograph_cli.graph import Trace, Watched
from autograph_cli.graph.names import visible

COLUMNS = ("norm", "mean", "max", "zeros", "ratio")
"""The numbers of a row, behind that of the step; gradients and values have no ratio."""
KINDS = {"gradients": "gradient", "values": "values", "updates": "update / values"}
"""The kinds of numbers that may be watched of a parameter, and the heading of each column."""
_WIDTH, _HEIGHT, _GAP = 230.0, 46.0, 14.0
_EDGE, _TOP = 14.0, 62.0
_ZEROS = "#F6D9C3"
LINES = (("norm", 'stroke="#0072B2"'), ("max", 'stroke="#9CC7E3"'), ("mean", 'stroke="#009E73" stroke-dasharray="2,2"'))
"""The lines of a panel, the main one first, and how each is drawn; of an update the first one is its ratio."""
_LARGE_STEP = 1e-3
"""A usual ratio of an update to what it changes."""
_ROOM = 1e3
"""The factor by which a mean may be below the least norm and still be seen."""
MOST = 200
"""Parameters that are drawn."""


def to_csv(trace: Trace) -> str:
    """A line for each parameter, kind and step."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["parameter", "kind", "step", *COLUMNS])
    for each in _checked(trace):
        for row in each.rows:
            numbers = [f"{x:g}" for x in row[1:]]
            writer.writerow([each.name, each.kind, f"{row[0] + 1:g}", *numbers, *[""] * (len(COLUMNS) - len(numbers))])
    return text.getvalue()


def to_svg(trace: Trace) -> str:
    """A row for each parameter and a column for each kind: the norm over the steps, or of updates the ratio."""
    watched = _checked(trace)
    names = list(dict.fromkeys(each.name for each in watched))
    kinds = [kind for kind in KINDS if any(each.kind == kind for each in watched)]
    by_kind = {(each.name, each.kind): each for each in watched}
    left = _EDGE + max(text_width(visible(name)) for name in names[:MOST]) * SMALL + 12
    scales = {kind: _Scale.of([each for each in watched if each.kind == kind]) for kind in kinds}
    last = max(row[0] for each in watched for row in each.rows)
    parts = [_text(_EDGE, 22, f"{visible(trace.script)}, {trace.total_steps} steps", TITLE, INK)]
    for column, kind in enumerate(kinds):
        x = left + column * (_WIDTH + _GAP)
        parts.append(_text(x, 42, KINDS[kind], SMALL, INK))
        parts.append(_text(x, 55, scales[kind].words(), EDGE, PALE_INK))
        for number, name in enumerate(names[:MOST]):
            y = _TOP + number * (_HEIGHT + _GAP / 2)
            if (name, kind) in by_kind:
                parts.append(_panel(by_kind[name, kind], scales[kind], last, x, y))
    for number, name in enumerate(names[:MOST]):
        parts.append(_text(_EDGE, _TOP + number * (_HEIGHT + _GAP / 2) + _HEIGHT / 2 + 3, visible(name), SMALL, INK))
    width = left + len(kinds) * (_WIDTH + _GAP) - _GAP + _EDGE
    bottom = _TOP + min(len(names), MOST) * (_HEIGHT + _GAP / 2)
    notes = [
        f"from step 1 to {last + 1:g}, logarithmic, one scale for each column · dark: norm, of an update its ratio"
    ]
    dashed = " · dashed grey: 0.001" if "updates" in scales and scales["updates"].has(_LARGE_STEP) else ""
    notes += [f"pale: largest number · dashed green: size of the mean · ground: zeros · red: NaN or infinity{dashed}"]
    notes += [f"{len(names) - MOST} more parameters: -f csv has all"] if len(names) > MOST else []
    parts += [_text(_EDGE, bottom + 12 + 13 * number, words, EDGE, PALE_INK) for number, words in enumerate(notes)]
    height = bottom + 12 + 13 * len(notes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}pt" height="{height:.0f}pt" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONTS}">\n'
        f"<title>{html.escape(visible(trace.script), quote=False)}</title>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>\n' + "".join(parts) + "</svg>\n"
    )


FORMATS = {"svg": to_svg, "csv": to_csv}


def _checked(trace: Trace) -> Sequence[Watched]:
    if not any(each.rows for each in trace.watched):
        raise ExportError(
            f"The trace of {trace.script} has nothing that was watched, which is done on request only, of what gets a "
            "gradient, and where a backward pass ends a step, without retain_graph or create_graph: "
            f"autograph run --watch {','.join(KINDS)} {trace.script}"
        )
    return [each for each in trace.watched if each.rows]


class _Scale(Struct, frozen=True):
    """The logarithm to the base 10 of what a column goes from and to."""

    low: float
    high: float

    @classmethod
    def of(cls, watched: Iterable[Watched]) -> _Scale:
        """The scale that holds all that is drawn of these."""
        rows = [_drawn(each, row) for each in watched for row in each.rows]
        sizes = [size for row in rows for size in row if _can_be_drawn(size)]
        if not sizes:
            return cls(-1.0, 0.0)
        # A mean may be next to nothing, and is not to take the room of the others.
        least = min((size for row in rows for size in row[:2] if _can_be_drawn(size)), default=min(sizes))
        low, high = math.log10(max(min(sizes), least / _ROOM)), math.log10(max(sizes))
        return cls(low, high) if high - low > 0.1 else cls(low - 0.5, high + 0.5)

    def words(self) -> str:
        """Return the range as words."""
        return f"{10**self.low:.2g} to {10**self.high:.2g}"

    def has(self, size: float) -> bool:
        """Return whether a number is on the scale."""
        return 0 < self.part(size) < 1

    def part(self, size: float) -> float:
        """Return how high a number stands, from 0 to 1."""
        return max((math.log10(size) - self.low) / (self.high - self.low), 0.0)


def _drawn(each: Watched, row: tuple[float, ...]) -> tuple[float, ...]:
    """The numbers of a row that are drawn as lines, as `LINES` has them: norm, largest and mean, or the ratio."""
    return (row[5],) if each.kind == "updates" else (row[1], row[3], abs(row[2]))


def curves(watched: Sequence[Watched], width: float, height: float) -> dict[tuple[str, str], dict[str, Any]]:
    """The lines of each parameter and kind in a box of this size, by name and kind; each kind has one scale."""
    with_rows = [each for each in watched if each.rows]
    last = max((row[0] for each in with_rows for row in each.rows), default=0)
    scales = {kind: _Scale.of([each for each in with_rows if each.kind == kind]) for kind in KINDS}
    drawn: dict[tuple[str, str], dict[str, Any]] = {}
    for each in with_rows:
        scale = scales[each.kind]
        lines = {}
        for number, (name, _) in enumerate(LINES):
            points = [
                (width * (row[0] / last if last else 0.5), height * (1 - scale.part(_drawn(each, row)[number])))
                for row in each.rows
                if number < len(_drawn(each, row)) and _can_be_drawn(_drawn(each, row)[number])
            ]
            if points:
                lines[name] = _points(points if len(points) > 1 else [points[0], (points[0][0] + 1, points[0][1])])
        sick = [round(width * row[0] / (last or 1), 1) for row in each.rows if not all(map(math.isfinite, row))]
        words = f"{_drawn(each, each.rows[-1])[0]:g} in step {each.rows[-1][0] + 1:g}; the scale is {scale.words()}"
        drawn[each.name, each.kind] = {"lines": lines, "sick": sick, "words": words}
    return drawn


def _can_be_drawn(size: float) -> bool:
    return math.isfinite(size) and size > 0


def _panel(each: Watched, scale: _Scale, last: float, x: float, y: float) -> str:
    def across(step: float) -> float:
        return x + 3 + (_WIDTH - 6) * (step / last if last else 0.5)

    def down(part: float) -> float:
        return y + 3 + (_HEIGHT - 6) * (1 - part)

    parts = [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" fill="none" stroke="{FRAME_LINE}"/>'
    ]
    zeros = [(across(row[0]), down(row[4])) for row in each.rows]
    if any(row[4] for row in each.rows):
        ground = [(zeros[0][0], down(0)), *zeros, (zeros[-1][0], down(0))]
        parts.append(f'<polygon points="{_points(ground)}" fill="{_ZEROS}"/>')
    if each.kind == "updates" and scale.has(_LARGE_STEP):
        at = down(scale.part(_LARGE_STEP))
        parts.append(
            f'<path d="M{x:.1f},{at:.1f}h{_WIDTH:.0f}" stroke="{FRAME_LINE}" stroke-dasharray="3,3" fill="none"/>'
        )
    for number, (_, style) in reversed(list(enumerate(LINES))):
        rows = [(row[0], _drawn(each, row)) for row in each.rows]
        points = [
            (across(step), down(scale.part(sizes[number])))
            for step, sizes in rows
            if number < len(sizes) and _can_be_drawn(sizes[number])
        ]
        if len(points) > 1:
            parts.append(f'<polyline points="{_points(points)}" fill="none" {style} stroke-width="1.2"/>')
        elif points:
            parts.append(f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="1.6" fill="none" {style}/>')
    for row in each.rows:
        if not all(map(math.isfinite, row)):
            parts.append(f'<path d="M{across(row[0]):.1f},{y:.1f}v{_HEIGHT:.0f}" stroke="{WRONG}" fill="none"/>')
    told = (
        f"{visible(each.name)}, {each.kind}: last {_drawn(each, each.rows[-1])[0]:g} in step {each.rows[-1][0] + 1:g}"
    )
    return f"<g><title>{html.escape(told, quote=False)}</title>\n" + "\n".join(parts) + "\n</g>\n"


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _text(x: float, y: float, words: str, size: float, ink: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{ink}">{html.escape(words, quote=False)}</text>\n'
