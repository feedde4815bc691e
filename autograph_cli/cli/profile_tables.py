"""The tables that `autograph profile` prints."""

from __future__ import annotations

import shutil
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograph_cli.export.scene.titles import step_words
from autograph_cli.graph import Allocation, Graph, Profile, Step, Trace
from autograph_cli.graph.facts import bars, bytes_text, flops_text, nanoseconds_text
from autograph_cli.graph.names import visible
from autograph_cli.graph.profile import GROUPS, Cost, Sum, alive_by, costs, peak, sums, timeline, whole
from autograph_cli.graph.saved_memory import uncounted_words

COLUMNS = 60
"""The bars of the memory's timeline."""
WIDTHS = (5, 8, 8, 5, 6, 9, 9)
NUMBERS = sum(WIDTHS) + 2 * len(WIDTHS) + 2
"""Characters that the columns of numbers take."""


def tables(step: Step, trace: Trace, groups: tuple[str, ...], sort: str, limit: int) -> str:
    """All tables of a step, and its memory."""
    its_costs, graph, measured = costs(step), step.graph, step.profile
    assert measured is not None
    width = max(shutil.get_terminal_size((140, 24)).columns, NUMBERS + 20)
    console = Console(width=width, force_terminal=sys.stdout.isatty(), highlight=False)
    with console.capture() as capture:
        console.print(Text(_title(step, trace, measured, its_costs)), soft_wrap=True)
        total = whole(graph, its_costs)
        for by in groups or [by for by in GROUPS if by != "node" and (by != "module" or graph.calls)]:
            console.print()
            console.print(_table(by, sums(graph, its_costs, by, sort)[: limit + 1], total, limit, width - NUMBERS))
        console.print()
        for line in _memory(graph, measured, its_costs, limit):
            console.print(Text(line), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _title(step: Step, trace: Trace, measured: Profile, its_costs: list[Cost]) -> str:
    total = whole(step.graph, its_costs)
    forward, backward, rest, wall, measuring = map(
        nanoseconds_text,
        (total.forward, total.backward, max(measured.wall - total.time, 0), measured.wall, measured.measuring),
    )
    title = f"{trace.script}, {step_words(step, trace.ended)}"
    return visible(
        f"{title}: {wall}: operations {forward}, backward {backward}, the rest (Python, and what is not in the graph) "
        f"{rest}; recording and measuring took {measuring} more, which is taken off."
    )


def _table(by: str, rows: list[Sum], total: Sum, limit: int, widest: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"by {by}", no_wrap=True, max_width=widest, overflow="ellipsis")
    for name, width in zip(("count", "forward", "backward", "%", "FLOP", "made", "kept"), WIDTHS, strict=True):
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    for row in rows[:limit]:
        table.add_row(*_cells(row, total))
    if len(rows) > limit:
        table.add_row("...")
    table.add_section()
    table.add_row(*_cells(total, total, "all"))
    return table


def _cells(row: Sum, total: Sum, name: str = "") -> list[Text]:
    share = f"{100 * row.time / total.time:.1f}" if total.time else ""
    words = [
        visible(name or row.name),
        str(row.count),
        nanoseconds_text(row.forward) if row.forward else "",
        nanoseconds_text(row.backward) if row.backward else "",
        share,
        flops_text(row.flops).replace("FLOP", "").strip() if row.flops else "",
        bytes_text(row.made) if row.made else "",
        bytes_text(row.kept) if row.kept else "",
    ]
    return list(map(Text, words))


def _memory(graph: Graph, measured: Profile, its_costs: list[Cost], limit: int) -> list[str]:
    """The lines that tell the memory over the step, of each device."""
    by_device: dict[str, list[Allocation]] = {}
    for each in measured.allocations:
        by_device.setdefault(each.device, []).append(each)
    lines = []
    for place, there in by_device.items():
        where = "" if by_device.keys() == {"cpu"} else f" on {place}"
        lines += _over_time(graph, there, measured, its_costs, limit, where)
    uncounted = uncounted_words(graph).removeprefix(", ")
    return [
        *([f"kept: {uncounted}"] if uncounted else []),
        *(lines or ["memory: no tensor with memory of its own was seen"]),
    ]


def _over_time(
    graph: Graph, allocations: list[Allocation], measured: Profile, its_costs: list[Cost], limit: int, where: str
) -> list[str]:
    """The lines that tell one device's memory over the step; none for no bytes."""
    most = peak(allocations)
    if not most.bytes:
        return []
    lines = [
        f"memory{where}: at most {bytes_text(most.bytes)}, {nanoseconds_text(most.moment)} after the step began",
        f"  |{bars(_heights(timeline(allocations), measured.wall))}|",
        f"  |{_directions(its_costs, measured.wall)}|  f: operations, b: backward",
    ]
    for by in ("kind", "module", "line"):
        rows = alive_by(graph, most.alive, by)
        if by == "module" and not graph.calls:
            continue
        lines.append(f"  alive there, by {by}")
        lines += [f"    {bytes_text(size):>10}  {visible(name)}" for name, size in rows[:limit]]
        if len(rows) > limit:
            lines.append(f"    {bytes_text(sum(size for _, size in rows[limit:])):>10}  in {len(rows) - limit} more")
    return lines


def _heights(points: list[tuple[int, int]], wall: int) -> list[int]:
    """The most bytes in each of the equal parts of a step."""
    heights = [0] * COLUMNS
    for position, (moment, size) in enumerate(points):
        following = points[position + 1][0] if position + 1 < len(points) else wall
        for column in _columns(moment, following - 1, wall):
            heights[column] = max(heights[column], size)
    return heights


def _directions(its_costs: list[Cost], wall: int) -> str:
    """Return a letter for each part of a step: f where its forward ran, b where a backward pass did."""
    letters = [" "] * COLUMNS
    for cost in its_costs:
        for column in _columns(cost.began, cost.began + cost.time, wall):
            letters[column] = "b" if cost.backward else "f"
    return "".join(letters)


def _columns(first: int, last: int, wall: int) -> range:
    """The parts of a step that a time goes over."""
    begin, end = (min(COLUMNS - 1, COLUMNS * at // max(wall, 1)) for at in (first, max(first, last)))
    return range(begin, end + 1)
