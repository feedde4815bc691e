"""A step that turns out to be the last is told as if it had been asked for by its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Trace
from tests.record.recording import record

Script = Callable[[], dict[str, Any]]


def trace_of(script: Script, steps: str) -> Trace:
    torch.manual_seed(0)
    return record(script, steps)


def plain_loop() -> dict[str, Any]:
    w, b = torch.randn(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
    for _ in range(8):
        x, y = torch.randn(4, 3), torch.randn(4, 2)
        loss = ((torch.tanh(x @ w + b) - y) ** 2).mean()
        w.grad = b.grad = None
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return {"w": w, "b": b, "loss": loss, "x": x, "y": y}


def smaller_last_batch() -> dict[str, Any]:
    w = torch.randn(3, 2, requires_grad=True)
    for size in (4, 4, 4, 4, 3):
        x = torch.randn(size, 3)
        h = x @ w
        loss = h.relu().sum()
        loss.backward()
    return {"w": w, "loss": loss, "x": x, "h": h}


def another_power_at_the_end() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for power in (2, 2, 2, 2, 3):
        loss = (w**power).sum()
        loss.backward()
    return {"w": w, "loss": loss}


def other_branch_at_the_end() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for i in range(6):
        h = w * 2
        h = h.sin() if i < 5 else h.cos()
        loss = h.sum()
        loss.backward()
    return {"w": w, "loss": loss, "h": h}


def unfinished_step_at_the_end() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for _ in range(6):
        loss = (w * 2).sin().sum()
        loss.backward()
    h = w * 2
    return {"w": w, "loss": loss, "h": h}


def same_line_in_two_positions() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for i in range(6):
        h = w * 2
        if i == 5:
            loss = h.sum()
        else:
            loss = h.sum()
        loss.backward()
    return {"w": w, "loss": loss}


def changes_in_place() -> dict[str, Any]:
    w, data = torch.randn(3, requires_grad=True), torch.ones(3)
    for _ in range(6):
        h = w * data
        h.mul_(2)
        h += 1
        loss = h.sum()
        loss.backward()
    return {"w": w, "data": data, "loss": loss}


def other_leaf_at_the_end() -> dict[str, Any]:
    leaves = [torch.randn(3, requires_grad=True) for _ in range(2)]
    for i in (0, 0, 0, 0, 1):
        w = leaves[i]
        loss = w.exp().sum()
        loss.backward()
    return {"leaves": leaves, "loss": loss}


def failing_backward_at_the_end() -> dict[str, Any]:
    fails = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if fails:
                raise ValueError
            return g * 2

    w = torch.randn(3, requires_grad=True)
    for i in range(6):
        loss = F.apply(w).sum()
        fails += [1] * (i == 5)
        if fails:
            with pytest.raises(ValueError):
                loss.backward()
        else:
            loss.backward()
    return {"w": w, "loss": loss}


def nodes_from_within_backward_at_the_end() -> dict[str, Any]:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.last = i == 5
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.last:
                with torch.enable_grad():
                    w * 5
            return g * 2

    w = torch.randn(3, requires_grad=True)
    for i in range(6):  # noqa: B007  forward asks for it
        loss = F.apply(w).sum()
        loss.backward()
    return {"w": w, "loss": loss}


def two_losses_in_turn() -> dict[str, Any]:
    g, d = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    for _ in range(5):
        fake = torch.randn(3) * g
        d_loss = (fake.detach() * d).sum()
        d_loss.backward()
        g_loss = (fake * d).exp().sum()
        g_loss.backward()
    return {"g": g, "d": d, "d_loss": d_loss, "g_loss": g_loss}


def carried_state() -> dict[str, Any]:
    w, state = torch.randn(3, requires_grad=True), torch.zeros(3)
    for _ in range(6):
        state = torch.tanh(state.detach() + w)
        loss = state.sum()
        loss.backward()
    return {"w": w, "state": state, "loss": loss}


def losses_kept() -> dict[str, Any]:
    w, total = torch.randn(3, requires_grad=True), []
    for _ in range(6):
        loss = (w * torch.ones(3)).sum()
        total.append(loss)
        loss.backward()
    total_loss = total[-1] + total[-2]
    return {"w": w, "total": total, "total_loss": total_loss}


def graph_kept_twice() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for i in range(6):
        loss = w.exp().sum()
        loss.backward(retain_graph=i == 5)
    return {"w": w, "loss": loss}


def shared_input() -> dict[str, Any]:
    w, data, other = torch.randn(3, requires_grad=True), torch.ones(3), torch.ones(3)
    for i in range(6):
        loss = ((w * data) * (data if i < 5 else other)).sum()
        loss.backward()
    return {"w": w, "data": data, "other": other, "loss": loss}


SCRIPTS = [
    plain_loop,
    smaller_last_batch,
    another_power_at_the_end,
    other_branch_at_the_end,
    unfinished_step_at_the_end,
    same_line_in_two_positions,
    changes_in_place,
    other_leaf_at_the_end,
    failing_backward_at_the_end,
    nodes_from_within_backward_at_the_end,
    two_losses_in_turn,
    carried_state,
    losses_kept,
    graph_kept_twice,
    shared_input,
]


@pytest.mark.parametrize("steps", ["first,last", "first,last,4", "first,last,5"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_step_is_the_same_whether_others_were_kept_or_not(script: Script, steps: str) -> None:
    some, every = trace_of(script, steps), trace_of(script, "all")
    assert some.total_steps == every.total_steps == len(every.steps)
    assert {0, every.total_steps - 1} <= {step.number for step in some.steps}
    for step in some.steps:
        assert (step.graph, step.memory) == (every.steps[step.number].graph, every.steps[step.number].memory)
        step.graph.verify()


def evaluation_at_the_end() -> dict[str, Any]:
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        loss = (w * 2).sin().sum()
        loss.backward()
    score = (w * 2).exp().sum()
    return {"w": w, "loss": loss, "score": score}


def test_what_runs_after_the_last_pass_has_nothing_to_do_with_the_graph_that_was_freed() -> None:
    trace = trace_of(evaluation_at_the_end, "first,last")
    assert [step.nth for step in trace.steps] == [1, 3, 4]
    main, after = trace.main_step(), trace.steps[-1]
    assert main is trace.steps[1]
    assert [root.name for root in after.graph.roots] == ["score"]
    assert after.derived.startswith("made by autograph from `score` and its leaves")


@pytest.mark.parametrize("turns", [2, 20])
@pytest.mark.parametrize("printed", [True, False])
def test_a_number_that_is_printed_at_the_end_is_no_step(turns: int, printed: bool) -> None:
    def script() -> dict[str, Any]:
        w = torch.randn(3, requires_grad=True)
        for _ in range(turns):
            loss = (w * 2).sin().cos().exp().tanh().sum()
            loss.backward()
        last = (w * 2).norm()
        return {"w": w, "loss": loss} if printed else {"w": w, "loss": loss, "last": last}

    for steps in ("first,last", "all"):
        trace = trace_of(script, steps)
        assert trace.total_steps == turns + (not printed)
        assert trace.steps[-1].nth == trace.total_steps
