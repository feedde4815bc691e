"""Where a run is cut into steps, and which of them are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli import torch
from autograph_cli.graph import Trace
from autograph_cli.record.log.steps import Selection
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run.runner import Target, record


def train(steps: str, count: int, *, after: bool = False) -> Trace:
    """`count` freeing backward passes, and perhaps something after the last one."""
    recorder = Recorder(steps, "train.py")
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    for number in range(count):
        loss = (w * number).sum()
        loss.backward()
    rest = w.exp() if after else None
    return recorder.finish({"w": w, "rest": rest})


@pytest.mark.parametrize(
    ("steps", "count", "after", "kept"),
    [
        ("first,last", 5, False, [0, 4]),
        ("first,last", 5, True, [0, 4, 5]),
        ("first,last", 1, False, [0]),
        ("first", 5, True, [0]),
        ("last", 5, False, [4]),
        ("last", 5, True, [4, 5]),
        ("all", 3, True, [0, 1, 2, 3]),
        ("4", 5, False, [3]),
        ("2:4", 5, False, [1, 2]),
        (":3", 5, False, [0, 1]),
        ("4:", 5, True, [3, 4, 5]),
        ("first,4,last", 5, True, [0, 3, 4, 5]),
        ("9", 5, True, []),
        ("0", 5, True, []),
        ("all", 0, False, []),
    ],
)
def test_steps_are_kept_as_asked(steps: str, count: int, after: bool, kept: list[int]) -> None:
    trace = train(steps, count, after=after)
    assert [step.number for step in trace.steps] == kept
    followed = "last" in steps or "first" in steps or "all" in steps or steps.endswith(":")
    assert trace.total_steps == count + (after and followed)  # nobody tells of what runs in a step that is not followed


@pytest.mark.parametrize(("count", "after", "main"), [(5, False, 4), (5, True, 4), (1, True, 0), (0, True, 0)])
def test_the_main_step_is_the_last_with_a_backward_pass(count: int, after: bool, main: int) -> None:
    step = train("first,last", count, after=after).main_step()
    assert step is not None and step.number == main
    assert bool(step.graph.passes) == bool(count)


def test_the_double_backward_is_that_of_the_last_step_that_made_it_itself() -> None:
    recorder = Recorder("all", "gan.py")
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    for step in range(4):
        loss = w.exp().sum()
        if step % 2 == 0:
            (slope,) = torch.autograd.grad(loss, w, create_graph=True)
            loss = slope.pow(2).sum()
        loss.backward()
    trace = recorder.finish({"w": w})
    main = trace.main_step()
    assert main is not None and (main.number, trace.differentiated_again(main).number) == (3, 2)
    assert trace.differentiated_again(trace.steps[0]) is trace.steps[0]


@pytest.mark.parametrize("steps", ["first,last", "last", "all"])
@pytest.mark.parametrize(("deep", "checks", "main"), [(8, 1, 4), (8, 3, 4), (2, 1, 4), (2, 3, 7)])
def test_a_small_pass_after_the_last_step_is_not_the_main_one(steps: str, deep: int, checks: int, main: int) -> None:
    recorder = Recorder(steps, "train.py")
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    for _ in range(5):
        loss = w
        for _ in range(deep):
            loss = loss.sin()
        loss.sum().backward()
    for _ in range(checks):
        w.sum().backward()
    after = w.exp()
    trace = recorder.finish({"w": w, "after": after})
    step = trace.main_step()
    assert step is not None and step.number == main
    assert [step.number for step in trace.steps][-2:] == [4 + checks, 5 + checks]


def test_small_passes_between_steps_do_not_keep_them() -> None:
    recorder = Recorder("last", "train.py")
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    for _ in range(40):
        w.sin().sin().sin().sin().sin().sin().sum().backward()
        w.sum().backward()
    assert len(recorder.log.known) < 40
    trace = recorder.finish({"w": w})
    assert [(step.number, step.ran) for step in trace.steps] == [(78, 8), (79, 2)]


def test_the_main_step_of_a_script_that_failed_is_where_it_failed() -> None:
    step = replace(train("last", 5, after=True), failure="RuntimeError").main_step()
    assert step is not None and step.number == 5


def test_a_trace_without_a_graph_has_no_main_step() -> None:
    assert Trace("train.py").main_step() is None


@pytest.mark.parametrize("text", ["", "frist", "1-2", ":", "1:2:3:4", "first,,last"])
def test_a_selection_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is none of"):
        Selection.parse(text)


def test_a_kept_step_is_the_same_whether_it_was_kept_by_number_or_as_the_last() -> None:
    by_number, as_last = train("5", 5).steps[0].graph, train("last", 5).steps[0].graph
    assert by_number.to_text(details=True) == as_last.to_text(details=True)


def test_a_pass_that_keeps_its_graph_ends_no_step() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    trace = recorder.finish({"x": x, "y": y})
    assert trace.total_steps == 1
    assert [entry.order for entry in trace.steps[0].graph.passes] == [1, 1]


def test_a_pass_that_fails_ends_no_step() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = x * 2
    trace = recorder.finish({"z": z})
    assert trace.total_steps == 2
    assert [root.name for root in trace.steps[1].graph.roots] == ["z"]


def test_a_pass_within_a_pass_ends_no_step() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(2, requires_grad=True)

    def hook(grad: torch.Tensor) -> None:
        with torch.enable_grad():
            (x * 3).sum().backward()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    trace = recorder.finish({})
    assert trace.total_steps == 1
    assert [entry.order for entry in trace.steps[0].graph.passes] == [1, 2]


def test_what_an_earlier_step_made_is_in_the_step_that_reaches_it_again() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(2, requires_grad=True)
    h = x.exp()
    (x * 2).sum().backward()
    loss = h.sum()
    loss.backward()
    trace = recorder.finish({"h": h, "loss": loss})
    assert [node.name for node in trace.steps[1].graph] == ["AccumulateGrad", "ExpBackward0", "SumBackward0"]


def test_the_trace_can_be_had_while_the_script_runs() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = x * 3
    trace = recorder.trace()
    recorder.finish({"y": y})
    assert [len(step.graph) for step in trace.steps] == [3, 2]


LATE_LEAVES = {
    "made a leaf after it was used": "w = torch.rand(3)\nx = w.exp()\nw.requires_grad_()\n(w.sin() * x).sum().backward()",
    "and in a pass before the last": (
        "w, v = torch.rand(3), torch.rand(3)\nx = v.exp() + w.exp()\nw.requires_grad_()\nv.requires_grad_()\n"
        "y = w.sin() * x\ny.sum().backward(retain_graph=True)\n(v * y).sum().backward()"
    ),
}


@pytest.mark.parametrize("text", LATE_LEAVES.values(), ids=LATE_LEAVES)
def test_nodes_have_the_same_numbers_in_the_derivative_graph(text: str, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(f"import torch\n{text}\n")
    for step in record(Target.of(str(tmp_path / "late.py")))[1].steps:
        assert step.double is not None and list(step.graph) == list(step.double)[: len(step.graph)]
