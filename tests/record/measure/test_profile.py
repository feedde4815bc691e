"""What a step took as a whole: one clock for operations, backward nodes and memory, without what measuring took."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Allocation, Step
from autograph_cli.graph.profile import alive_by, costs, peak, sums, timeline, whole
from tests.record.recording import record

MEASURED = ("time", "flops", "memory")
SIDE = 100
SIZE = SIDE * SIDE * 4


def recorded(script: Any, *kinds: str, steps: str = "all") -> list[Step]:
    return list(record(script, steps, record=kinds or MEASURED).steps)


def chain() -> dict[str, Any]:
    x = torch.ones(SIDE, SIDE, requires_grad=True)
    a = x * 2
    b = a.exp()
    del a
    c = b @ b
    loss = c.sum()
    loss.backward()
    return {"x": x, "loss": loss}


def penalty() -> dict[str, Any]:
    x = torch.ones(SIDE, requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    loss = (slope**2).sum()
    loss.backward()
    return {"x": x, "loss": loss}


def nested_pass() -> dict[str, Any]:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                y = again @ again
            return torch.autograd.grad(y, again, grad)[0]

    x = torch.ones(SIDE, SIDE, requires_grad=True)
    loss = Twice.apply(x).sum()
    loss.backward()
    return {"x": x, "loss": loss}


@pytest.mark.parametrize("script", [chain, penalty, nested_pass])
def test_all_is_in_the_order_of_one_clock(script: Any) -> None:
    (step,) = recorded(script)
    found = costs(step)
    assert step.profile is not None and step.profile.measuring > 0
    assert found[0].began >= 0 and found[-1].began + found[-1].time <= step.profile.wall
    for cost in found:
        assert cost.time >= 0 and cost.own <= cost.time
    outer = [cost for cost in found if cost.parent is None]
    for before, after in itertools.pairwise(outer):
        assert before.began + before.time <= after.began + 1000, (before.name, after.name)
    for inner in (cost for cost in found if cost.parent is not None):
        assert inner.parent.began <= inner.began <= inner.parent.began + inner.parent.time
    assert sum(cost.own for cost in found) <= step.profile.wall


def test_every_operation_and_every_run_of_a_backward_has_its_cost() -> None:
    (step,) = recorded(penalty)
    found = costs(step)
    assert {cost.node.id for cost in found if not cost.backward} == {node.id for node in step.graph if node.computes}
    ran = [node for entry in step.graph.passes for node in entry.ran]
    assert sorted(cost.node.id for cost in found if cost.backward) == sorted(ran)
    assert {(cost.backward, cost.order) for cost in found} == {(False, 0), (False, 1), (True, 1), (True, 2)}
    within = {cost.name: cost.parent.name for cost in found if cost.parent is not None}
    assert within and all(parent.endswith("Backward0") for parent in within.values())


def test_sums_add_up_whatever_they_are_by() -> None:
    (step,) = recorded(chain)
    found = costs(step)
    total = whole(step.graph, found)
    assert total.flops == 3 * 2 * SIDE**3 and total.count == len(found)
    for by in ("operation", "node", "line", "order"):
        rows = sums(step.graph, found, by)
        assert [row.time for row in rows] == sorted((row.time for row in rows), reverse=True)
        for what in ("count", "time", "flops", "made"):
            assert sum(getattr(row, what) for row in rows) == getattr(total, what)
    assert total.kept == SIZE + 4  # b, which two nodes keep, and the number 2
    assert [row.name for row in sums(step.graph, found, "node", "flops")][:2] == ["MmBackward0 %3", "mm %3"]


def test_a_pass_within_a_backward_counts_once() -> None:
    (step,) = recorded(nested_pass)
    found = {cost.name: cost for cost in costs(step)}
    outer, inner = found["TwiceBackward"], found["MmBackward0"]
    assert inner.parent == outer and outer.own < outer.time
    assert inner.flops == 2 * 2 * SIDE**3 and outer.flops == 0
    assert whole(step.graph, costs(step)).flops == 3 * 2 * SIDE**3


def test_a_module_has_what_those_in_it_took() -> None:
    def script() -> dict[str, Any]:
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.Linear(4, 2)))
        loss = net(torch.ones(5, 3)).sum()
        loss.backward()
        return {"net": net, "loss": loss}

    (step,) = recorded(script)
    flops = {row.name: row.flops for row in sums(step.graph, costs(step), "module")}
    first, second = 2 * 5 * 3 * 4, 2 * 5 * 4 * 2
    assert flops == {
        "net": 2 * first + 3 * second,
        "net.0": 2 * first,
        "net.1": 3 * second,
        "net.1.0": 3 * second,
        "(no module)": 0,
    }


def test_memory_is_there_from_when_it_is_made_to_when_it_is_let_go() -> None:
    gc.collect()
    (step,) = recorded(chain)
    assert step.profile is not None
    graph = step.graph
    held = {
        (each.what, graph[each.node].op or graph[each.node].kind): each
        for each in step.profile.allocations
        if each.node is not None
    }
    x, a, b, c = (held[key] for key in (("given", "leaf"), ("result", "mul"), ("result", "exp"), ("result", "mm")))
    assert all(each.bytes == SIZE for each in (x, a, b, c))
    assert (x.began, x.ended) == (0, None)
    assert a.ended is not None and a.ended <= c.began  # nothing kept it
    assert b.ended is None or b.ended > c.began
    assert held["gradient", "leaf"].ended is None
    points = timeline(step.profile.allocations)
    assert points == sorted(points) and all(size >= 0 for _, size in points)
    most = peak(step.profile.allocations)
    assert most.bytes == max(size for _, size in points) == sum(each.bytes for each in most.alive) >= 4 * SIZE
    for by in ("kind", "line", "module"):
        assert sum(size for _, size in alive_by(graph, most.alive, by)) == most.bytes


def test_memory_that_is_there_before_a_step_is_of_the_same_leaves_in_it() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(SIDE, SIDE, requires_grad=True)
        for _ in range(3):
            loss = (x * x).sum()
            loss.backward()
        return {"x": x, "loss": loss}

    last = recorded(script)[-1]
    assert last.profile is not None
    before = {(each.what, each.bytes) for each in last.profile.allocations if each.began == 0 and each.node is not None}
    assert before == {("given", SIZE), ("gradient", SIZE)}


def test_what_autograph_computes_for_itself_is_nobodys_memory() -> None:
    (step,) = recorded(chain, "memory", "time")
    assert step.double is not None and step.profile is not None
    assert not [each for each in step.profile.allocations if each.node is None]


def test_without_being_asked_for_there_is_no_profile() -> None:
    (step,) = recorded(chain, "values")
    assert step.profile is None


def test_the_peak_of_nothing_is_nothing() -> None:
    assert peak([]).bytes == 0 and timeline([]) == []
    two = [Allocation(8, 0, 5), Allocation(4, 5)]
    assert timeline(two) == [(0, 8), (5, 4)] and peak(two).alive == (two[0],)
