"""Profiles: what ran, inside of what, how often, and the table and the file of it."""

import itertools
import json
import threading

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base.state import process_state
from autograph_cli.torch.autograd import profiler_util
from autograph_cli.torch.profiler import ProfilerAction, profile, record_function, schedule


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())


def tree(events):
    """Names, indented by what they ran inside of."""

    def depth(event):
        return 0 if event.cpu_parent is None else 1 + depth(event.cpu_parent)

    return [" " * depth(event) + event.name for event in events]


def test_operations_nodes_blocks_and_steps_of_optimizers_are_noted(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = process_state.special, process_state.op_hook, process_state.observer
    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("forward"):
            y = model(torch.ones(3, 4))
        y.sum().backward()
        optimizer.step()
    assert (process_state.special, process_state.op_hook, process_state.observer) == before
    evaluate = "autograd::engine::evaluate_function: "
    found = tree(prof.events())
    assert found[:4] == ["forward", " aten::t", " aten::addmm", " aten::relu"]
    nodes = ("SumBackward0", "ReluBackward0", "AddmmBackward0", "torch::autograd::AccumulateGrad", "TBackward0")
    assert [name for name in found if evaluate in name][:5] == [evaluate + node for node in nodes]
    assert " " + nodes[0] in found and found[-1].startswith("Optimizer.step#SGD.step")
    (addmm,) = (event for event in prof.key_averages(group_by_input_shape=True) if event.key == "aten::addmm")
    assert addmm.input_shapes[:3] == [[2], [3, 4], [4, 2]] and addmm.self_cpu_memory_usage == 24 and addmm.count == 1
    (block,) = (event for event in prof.events() if event.name == "forward")
    assert block.cpu_memory_usage >= 48 and block.cpu_time_total >= sum(e.cpu_time_total for e in block.cpu_children)


def test_nothing_is_noted_before_and_after(model):
    before = process_state.special
    with torch.autograd.profiler.profile() as prof:
        pass
    model(torch.ones(1, 4))
    assert prof.key_averages() == [] and prof.self_cpu_time_total == 0
    with torch.autograd.profiler.profile(enabled=False) as off:
        model(torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="not enabled"):
        off.key_averages()
    with pytest.raises(RuntimeError, match="already enabled"), profile(), profile():
        pass
    assert process_state.op_hook is None and process_state.special == before


def test_an_exception_ends_the_events_that_it_leaves():
    before = process_state.special
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("outer"), record_function("inner"):
        1 / 0
    assert tree(prof.events()) == ["outer", " inner"]
    assert all(event.ended >= event.begun for event in prof.events()) and process_state.special == before


def test_threads_are_told_apart():
    def work(name):
        with record_function(name):
            torch.ones(2) + 1

    with profile() as prof:
        for name in "ab":
            thread = threading.Thread(target=work, args=(name,))
            thread.start()
            thread.join()
    found = {event.name: event for event in prof.events() if event.name in "ab"}
    assert found["a"].cpu_parent is found["b"].cpu_parent is None
    assert all(any(child.name == "aten::add" for child in event.cpu_children) for event in found.values())


def test_a_schedule_chooses_the_steps():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = [plan(step).name for step in range(11)]
    cycle = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert names == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    ready = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready.append) as prof:
        for _ in range(6):
            torch.zeros(2) * 2
            prof.step()
    assert ready == [prof] and prof.step_num == 6 and prof.current_action is ProfilerAction.NONE
    assert [(e.key, e.count) for e in prof.key_averages() if e.key in ("ProfilerStep*", "aten::mul")] == [
        ("ProfilerStep*", 2),
        ("aten::mul", 2),
    ]
    assert [e.name for e in prof.events() if e.is_user_annotation] == ["ProfilerStep#2", "ProfilerStep#3"]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=0, warmup=0, active=0)


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock finds it a microsecond later."""
    monkeypatch.setattr("time.perf_counter_ns", itertools.count(0, 1000).__next__)


def test_a_table_is_laid_out_as_pytorch_lays_it_out(clock):
    with profile() as prof, record_function("outer"):
        with record_function("inner"):
            pass
        with record_function("inner"):
            pass
    assert prof.key_averages().table(sort_by="count", row_limit=5).splitlines() == [
        "---------  ------------  ------------  ------------  ------------  ------------  ------------  ",
        "     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  ",
        "---------  ------------  ------------  ------------  ------------  ------------  ------------  ",
        "    inner        40.00%       2.000us        40.00%       2.000us       1.000us             2  ",
        "    outer        60.00%       3.000us       100.00%       5.000us       5.000us             1  ",
        "---------  ------------  ------------  ------------  ------------  ------------  ------------  ",
        "Self CPU time total: 5.000us",
    ]
    assert "inner" not in prof.key_averages().table(row_limit=1)
    with pytest.raises(AttributeError, match="no numbers named 'colour'"):
        prof.key_averages().table(sort_by="colour")


def test_a_trace_holds_all_events(clock, tmp_path):
    with profile(record_shapes=True, on_trace_ready=None) as prof, record_function("block"):
        torch.neg(torch.ones(2, 3))
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"X"} and events[0]["name"] == "block"
    (neg,) = (e for e in events if e["name"] == "aten::neg")
    assert (neg["cat"], neg["dur"], neg["args"]["Input Dims"]) == ("cpu_op", 1.0, [[2, 3]])
    torch.profiler.tensorboard_trace_handler(str(tmp_path / "runs"), "me")(prof)
    (written,) = (tmp_path / "runs").iterdir()
    assert written.name.startswith("me.") and written.name.endswith(".pt.trace.json")


def test_numbers_are_shown_in_units_that_suit_them():
    assert [profiler_util.format_time(t) for t in (1, 2500, 3e6)] == ["1.000us", "2.500ms", "3.000s"]
    assert [profiler_util.format_memory(n) for n in (12, 2048, -3 << 20)] == ["12 B", "2.00 KB", "-3.00 MB"]
