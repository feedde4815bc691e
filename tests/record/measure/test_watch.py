"""A few numbers of each parameter in each step: of its gradient, its values, its update."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.cli.options import WATCHABLE
from autograph_cli.export.formats import watching
from autograph_cli.graph import Memory, Trace, from_json, to_json
from autograph_cli.record.measure import watch as watch_module
from autograph_cli.record.measure.watch import KINDS
from autograph_cli.record.recorder import Recorder


def watched(script: Callable[[], dict[str, Any]], *kinds: str, steps: str = "first,last") -> Trace:
    recorder = Recorder(steps, "script.py", watch=kinds or KINDS)
    recorder.start()
    scope: dict[str, Any] = {}
    try:
        scope = script()
    finally:
        trace = recorder.finish(scope)
    assert from_json(to_json(trace)) == trace
    return trace


def rows(trace: Trace) -> dict[tuple[str, str], list[tuple[float, ...]]]:
    return {(each.name, each.kind): list(each.rows) for each in trace.watched}


def retaining() -> dict[str, Any]:
    return descent(retain_graph=True)


def descent(steps: int = 3, **kept: bool) -> dict[str, Any]:
    w = torch.tensor([3.0, 4.0, 0.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (w**2).sum()
        loss.backward(**kept)
        optimizer.step()
    return {"w": w, "loss": loss}


def by_hand() -> dict[str, Any]:
    w = torch.tensor([3.0, 4.0, 0.0], requires_grad=True)
    for _ in range(3):
        loss = (w**2).sum()
        (g,) = torch.autograd.grad(loss, w)
        w = (w - 0.25 * g).detach().requires_grad_()
    return {"w": w, "loss": loss}


@pytest.mark.parametrize("script", [descent, retaining, by_hand])
def test_numbers_of_each_step_are_right(script: Callable[[], dict[str, Any]]) -> None:
    found = rows(watched(script))
    halves = list(enumerate((1.0, 0.5, 0.25)))

    def expected(norm: float, mean: float, largest: float, *ratio: float) -> list[tuple[float, ...]]:
        return [(n, norm * half, float(f"{mean * half:.6g}"), largest * half, 0.333333, *ratio) for n, half in halves]

    assert found == {
        ("w", "gradients"): expected(10, 14 / 3, 8),
        ("w", "values"): expected(5, 7 / 3, 4),
        ("w", "updates"): expected(2.5, -7 / 6, 2, 0.5),
    }


@pytest.mark.parametrize("kinds", [("gradients",), ("values",), ("updates",), ("values", "updates")])
def test_only_what_is_asked_for_is_noted(kinds: tuple[str, ...]) -> None:
    assert {each.kind for each in watched(descent, *kinds).watched} == set(kinds)
    assert not Recorder("all").trace().watched


@pytest.mark.parametrize("steps", ["first", "last", "all", "7:9"])
def test_steps_are_watched_whether_they_are_kept_or_not(steps: str) -> None:
    assert [row[0] for row in rows(watched(descent, steps=steps))["w", "values"]] == [0, 1, 2]


def test_a_parameter_is_watched_in_the_steps_that_give_it_a_gradient() -> None:
    def script() -> dict[str, Any]:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        frozen = torch.ones(2)
        for number in range(4):
            loss = ((a, b)[number % 2] * frozen).sum()
            loss.backward()
        return {"a": a, "b": b, "frozen": frozen, "loss": loss}

    found = rows(watched(script))
    assert {name for name, _ in found} == {"a", "b"}
    assert [row[0] for row in found["a", "gradients"]] == [0, 2]
    assert [row[0] for row in found["b", "gradients"]] == [1, 3]
    assert [row[1] for row in found["a", "updates"]] == [0.0, 0.0]


def test_modules_are_named_as_the_script_keeps_them() -> None:
    def script() -> dict[str, Any]:
        net = torch.nn.Linear(2, 1)
        net(torch.ones(3, 2)).sum().backward()
        return {"net": net}

    assert {name for name, _ in rows(watched(script))} == {"net.weight", "net.bias"}


def test_what_is_no_number_is_noted_and_kept() -> None:
    def script() -> dict[str, Any]:
        w = torch.tensor([0.0, -1.0], requires_grad=True)
        w.sqrt().sum().backward()
        return {"w": w}

    recorder = Recorder("all", "script.py", watch=("gradients",))
    recorder.start()
    trace = recorder.finish(script())
    again = from_json(to_json(trace))
    assert repr(again.watched) == repr(trace.watched)
    (row,) = again.watched[0].rows
    assert math.isnan(row[1]) and math.isnan(row[3])


def test_a_long_run_keeps_every_second_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "MOST", 4)
    found = rows(watched(lambda: descent(11)))
    assert [row[0] for row in found["w", "values"]] == [0, 4, 8]
    assert {row[5] for row in found["w", "updates"]} == {0.5}


def test_every_place_that_lists_what_can_be_watched_lists_the_same() -> None:
    assert tuple(watching.KINDS) == KINDS == WATCHABLE


def test_gradients_that_go_through_an_earlier_step_are_watched() -> None:
    """As a generator's: its outputs are made before the discriminator's step ends, and differentiated in the next."""
    expected: list[tuple[int, float]] = []

    def script() -> dict[str, Any]:
        w, d = (torch.tensor(number, requires_grad=True) for number in (2.0, 3.0))
        for turn in range(3):
            fake = w * (turn + 1.0)
            (d * fake.detach()).backward()
            (-d * fake).backward()
            assert w.grad is not None and d.grad is not None
            expected.append((2 * turn + 1, abs(w.grad.item())))
            w.grad = d.grad = None
        return {"w": w, "d": d}

    trace = watched(script, "gradients")
    assert [(step, norm) for step, norm, *_ in rows(trace)["w", "gradients"]] == expected
    assert [step.memory for step in trace.steps if step.number % 2] == [Memory(8, 8), Memory(8, 8)]
