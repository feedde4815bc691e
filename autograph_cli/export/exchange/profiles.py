"""The cost of a step in files for profile viewers (trace events, speedscope, collapsed stacks) and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from autograph_cli.graph import Graph, Step
from autograph_cli.graph.profile import GROUPS, Cost, Sum, alive_by, costs, module_paths, peak, sums, timeline, whole

_PROCESS = 1


def to_chrome(step: Step, title: str) -> str:
    """Trace events, which Perfetto and `chrome://tracing` show: an event for each cost, an arrow from each operation to
    the run of its backward, and the memory as a counter."""
    its_costs = costs(step)
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": _PROCESS, "tid": 1, "args": {"name": title}},
        {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": 1, "args": {"name": f"step {step.nth}"}},
    ]
    forwards = {cost.node.id: cost for cost in its_costs if not cost.backward}
    for number, cost in enumerate(its_costs):
        place = {"pid": _PROCESS, "tid": 1}
        kind = "backward" if cost.backward else "forward"
        begun = _micro(cost.began)
        events.append(
            {
                "ph": "X",
                "name": cost.name,
                "cat": kind,
                **place,
                "ts": begun,
                "dur": _micro(cost.time),
                "args": _facts(step.graph, cost),
            }
        )
        if cost.backward and cost.node.id in forwards:
            arrow = {"name": "backward", "cat": "of", "id": number, **place}
            events.append({"ph": "s", "ts": _micro(forwards[cost.node.id].began), **arrow})
            events.append({"ph": "f", "bp": "e", "ts": begun, **arrow})
    assert step.profile is not None
    for moment, size in timeline(step.profile.allocations):
        events.append(
            {"ph": "C", "name": "memory", "pid": _PROCESS, "tid": 1, "ts": _micro(moment), "args": {"bytes": size}}
        )
    return _lines({"displayTimeUnit": "ns", "otherData": {"script": title, "step": step.nth}}, "traceEvents", events)


def to_speedscope(step: Step, title: str) -> str:
    """A file of speedscope: a stack for each cost, of direction, modules, line and name, in the order of time."""
    its_costs = costs(step)
    frames: dict[tuple[str, str, int], int] = {}
    samples = [
        [frames.setdefault(frame, len(frames)) for frame in _stack(step.graph, cost)] for cost in its_costs if cost.own
    ]
    weights = [cost.own for cost in its_costs if cost.own]
    shared = [{"name": name} | ({"file": file, "line": line} if file else {}) for name, file, line in frames]
    profile = {
        "type": "sampled",
        "name": f"{title}, step {step.nth}",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    whole_file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": title,
        "exporter": "autograph",
        "activeProfileIndex": 0,
        "shared": {"frames": shared},
        "profiles": [profile],
    }
    return json.dumps(whole_file, ensure_ascii=False) + "\n"


def to_collapsed(step: Step, title: str) -> str:
    """A line for each stack, frames with `;` between them, and its nanoseconds: what flame graphs are drawn from."""
    lines: dict[str, int] = {}
    for cost in costs(step):
        names = [name.replace(";", ",").replace("\n", " ") for name, *_ in _stack(step.graph, cost)]
        stack = ";".join(names)
        lines[stack] = lines.get(stack, 0) + cost.own
    return "".join(f"{stack} {time}\n" for stack, time in lines.items() if time)


def to_json(step: Step, title: str) -> str:
    """Everything as numbers: the sums by each word, and the memory at its peak."""
    its_costs = costs(step)
    profile = step.profile
    assert profile is not None
    most = peak(profile.allocations)
    data = {
        "script": title,
        "step": step.nth,
        "wall_ns": profile.wall,
        "measuring_ns": profile.measuring,
        "total": _sum(whole(step.graph, its_costs)),
        "by": {by: list(map(_sum, sums(step.graph, its_costs, by))) for by in GROUPS},
        "memory": {
            "peak_bytes": most.bytes,
            "peak_at_ns": most.moment,
            "alive_at_peak": {by: dict(alive_by(step.graph, most.alive, by)) for by in ("kind", "line", "module")},
            "timeline": timeline(profile.allocations),
        },
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Step, str], str]] = {
    "json": to_json,
    "chrome": to_chrome,
    "perfetto": to_chrome,
    "speedscope": to_speedscope,
    "collapsed": to_collapsed,
}


def _sum(row: Sum) -> dict[str, Any]:
    return {
        "name": row.name,
        "count": row.count,
        "forward_ns": row.forward,
        "backward_ns": row.backward,
        "flops": row.flops,
        "bytes_made": row.made,
        "bytes_kept": row.kept,
    }


def _facts(graph: Graph, cost: Cost) -> dict[str, Any]:
    """Return the fields of a cost beside its time, as far as they were recorded."""
    node = cost.node
    told: dict[str, Any] = {"node": f"%{node.id}", "order": cost.order}
    if node.source is not None:
        told["line"] = f"{node.source.file}:{node.source.line}  {node.source.text.strip()}".rstrip()
    paths = module_paths(graph, node)
    numbers = {"flops": cost.flops, "bytes made": cost.made, "bytes kept": cost.kept}
    return (
        told | ({"module": paths[-1]} if paths else {}) | {name: number for name, number in numbers.items() if number}
    )


def _stack(graph: Graph, cost: Cost) -> list[tuple[str, str, int]]:
    """The frames of a cost, the outermost first: each its name, and its file and line."""
    if cost.parent is not None:
        return [*_stack(graph, cost.parent), (cost.name, "", 0)]
    node = cost.node
    frames = [("backward" if cost.backward else "forward", "", 0)]
    frames += [(path, "", 0) for path in module_paths(graph, node)]
    if node.source is not None:
        name = f"{node.source.file}:{node.source.line}"
        frames.append((f"{name}  {node.source.text.strip()}".rstrip(), node.source.file, node.source.line))
    return [*frames, (cost.name, "", 0)]


def _micro(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _lines(head: dict[str, Any], name: str, rows: Iterable[Any]) -> str:
    """An object with one list in it, a line for each of its items."""
    items = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "{name}": [\n{items}\n]}}\n'
