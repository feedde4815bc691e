"""Measurements side by side: a table for each label, a row for each sub-label, a column for each description."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .common import Measurement, select_unit, trim_sigfig

_COLOURS = ((1.05, "\033[92m"), (1.25, "\033[34m"), (2.0, ""), (float("inf"), "\033[31m"))
"""The colours: the highest ratio to the best time, and the text before it."""


class Compare:
    """Tables of measurements, printed by `print()`."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trimmed = False
        self._coloured = ""
        self._warns = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Print no more digits than the spread of the times leaves standing."""
        self._trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark times by how they compare with the best of their column, or row."""
        self._coloured = "row" if rowwise else "column"

    def highlight_warnings(self) -> None:
        """Write `(! 30%)` behind times that are this far apart."""
        self._warns = True

    def print(self) -> None:
        """Print all tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[Any, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label, []).append(result)
        return "\n".join(self._table(label, group) for label, group in groups.items())

    def _table(self, label: str | None, group: list[Measurement]) -> str:
        rows = list(dict.fromkeys((m.num_threads, m.env, m.as_row_name) for m in group))
        columns = list(dict.fromkeys(m.description or "" for m in group))
        by_position = {((m.num_threads, m.env, m.as_row_name), m.description or ""): m for m in group}
        unit, scale = select_unit(min(m.median for m in group))
        names = {row: f"{f'({row[1]})  ' if row[1] else ''}{row[2]}" for row in rows}
        first = max(map(len, names.values())) + 6
        cells = {position: self._number(m, scale) for position, m in by_position.items()}
        widths = [max(len(c), *(len(cells.get((row, c), "")) for row in rows)) for c in columns]
        head = " " * first + "  |  " + "  |  ".join(c.center(w) for c, w in zip(columns, widths, strict=True))
        lines = ["[" + f" {label or ''} ".center(len(head) - 2, "-") + "]", head]
        threads = None
        for row in rows:
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            shown = [
                self._marked(by_position, row, c, cells.get((row, c), "").rjust(w))
                for c, w in zip(columns, widths, strict=True)
            ]
            lines.append(f"      {names[row]}".ljust(first) + "  |  " + "  |  ".join(shown))
        english = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}[unit]
        return "\n".join([*lines, "", f"Times are in {english} ({unit}).", ""])

    def _number(self, m: Measurement, scale: float) -> str:
        value = m.median / scale
        shown = f"{trim_sigfig(value, m.significant_figures):g}" if self._trimmed else f"{value:.1f}"
        return f"(! {m.iqr / m.median:.0%}) {shown}" if self._warns and m.has_warnings else shown

    def _marked(self, by_position: dict[Any, Measurement], row: Any, column: str, text: str) -> str:
        if not self._coloured or (row, column) not in by_position:
            return text
        rival = 0 if self._coloured == "row" else 1
        best = min(m.median for position, m in by_position.items() if position[rival] == (row, column)[rival])
        ratio = by_position[row, column].median / best
        colour = next(colour for bound, colour in _COLOURS if ratio <= bound)
        return f"{colour}{text}\033[0m" if colour else text
