"""Profiles as files of other programs: each keeps the rules of its format, and tells the same costs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.export.exchange.profiles import FORMATS
from autograph_cli.graph import Graph, GraphError, Step
from autograph_cli.graph.profile import costs, peak
from autograph_cli.record.recorder import Recorder


@pytest.fixture(scope="module")
def step() -> Step:
    """A step with a module, with operations within a backward, and with two passes."""
    recorder = Recorder("all", "a;b.py", record=("time", "flops", "memory"))
    recorder.start()
    net = torch.nn.Linear(3, 2)
    x = torch.ones(4, 3, requires_grad=True)
    (slope,) = torch.autograd.grad((net(x) ** 3).sum(), x, create_graph=True)
    loss = slope.sum()
    loss.backward()
    return recorder.finish({"net": net, "x": x, "slope": slope, "loss": loss}).steps[0]


def events(step: Step, phase: str) -> list[dict[str, Any]]:
    return [event for event in json.loads(FORMATS["chrome"](step, "a.py"))["traceEvents"] if event["ph"] == phase]


def test_trace_events_keep_the_rules_of_the_format(step: Step) -> None:
    """Of the Trace Event Format: what each phase must have, nested durations in a thread, arrows that begin and end."""
    data = json.loads(FORMATS["chrome"](step, "a.py"))
    assert data["displayTimeUnit"] in ("ms", "ns")
    assert {event["ph"] for event in data["traceEvents"]} == {"M", "X", "s", "f", "C"}
    for event in data["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
        assert event["ph"] == "M" or event["ts"] >= 0
    for event in events(step, "M"):
        assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
    assert all(isinstance(size, int) for event in events(step, "C") for size in event["args"].values())
    arrows = {event["id"]: event for event in events(step, "s")}
    assert len(arrows) == len(events(step, "s")) == len(events(step, "f")) > 0
    for end in events(step, "f"):
        start = arrows[end["id"]]
        assert (start["cat"], start["name"], end["bp"]) == (end["cat"], end["name"], "e")
        assert start["ts"] <= end["ts"]
    open_: list[float] = []
    for event in events(step, "X"):
        while open_ and open_[-1] <= event["ts"]:
            open_.pop()
        assert event["dur"] >= 0 and (not open_ or event["ts"] + event["dur"] <= open_[-1] + 1)
        open_.append(event["ts"] + event["dur"])


def test_trace_events_tell_each_cost_and_the_memory(step: Step) -> None:
    found = costs(step)
    slices = events(step, "X")
    assert [(event["name"], round(event["dur"] * 1000)) for event in slices] == [
        (cost.name, cost.time) for cost in found
    ]
    assert [event["args"]["node"] for event in slices] == [f"%{cost.node.id}" for cost in found]
    assert {event["args"].get("module") for event in slices} == {"net", None}
    assert step.profile is not None
    assert max(event["args"]["bytes"] for event in events(step, "C")) == peak(step.profile.allocations).bytes


def test_speedscope_keeps_the_rules_of_its_schema(step: Step) -> None:
    data = json.loads(FORMATS["speedscope"](step, "a.py"))
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = data["shared"]["frames"]
    assert all(isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"} for frame in frames)
    assert len({json.dumps(frame) for frame in frames}) == len(frames)
    (profile,) = data["profiles"]
    assert data["activeProfileIndex"] == 0
    assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "nanoseconds", 0)
    assert len(profile["samples"]) == len(profile["weights"])
    assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
    assert sum(profile["weights"]) == profile["endValue"] == sum(cost.own for cost in costs(step))


def test_collapsed_stacks_are_lines_of_frames_and_a_number(step: Step) -> None:
    lines = FORMATS["collapsed"](step, "a.py").splitlines()
    assert all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines)
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == sum(cost.own for cost in costs(step))
    assert {line.partition(";")[0] for line in lines} == {"forward", "backward"}
    assert any(re.search(r"backward;net;.*;AddmmBackward0;mm \d+$", line) for line in lines)


def test_json_has_the_sums_and_the_memory(step: Step) -> None:
    data = json.loads(FORMATS["json"](step, "a.py"))
    assert set(data["by"]) == {"operation", "node", "line", "module", "order"}
    assert data["total"]["flops"] == sum(row["flops"] for row in data["by"]["line"])
    assert data["memory"]["peak_bytes"] == sum(data["memory"]["alive_at_peak"]["kind"].values())


@pytest.mark.parametrize("name", FORMATS)
def test_a_step_that_was_not_measured_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="recorded on request only: autograph run --record time,flops,memory"):
        FORMATS[name](Step(0, Graph()), "a.py")
