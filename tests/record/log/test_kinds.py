"""Steps are told apart by the line and the caller of the backward call that ends them; of each kind two are kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli import torch
from autograph_cli.export.scene.titles import step_words
from autograph_cli.graph import Trace, step_table
from autograph_cli.record.log import kinds
from autograph_cli.record.log.kinds import Kinds
from tests.record import recording


def record(script: Callable[[], Any], steps: str = "first,last", *, each: bool = True) -> Trace:
    return recording.record(script, steps, each=each)


def shown(trace: Trace) -> tuple[list[int], list[tuple[str, ...]], int]:
    """The steps that are kept, the roots of each kind, and the step that is shown."""
    main = trace.main_step()
    assert main is not None
    return [step.nth for step in trace.steps], [kind.roots for kind in trace.kinds], main.nth


def models() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(4, 2)


def one_loop(count: int) -> None:
    model, optimizer, x = models()
    for _ in range(count):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()


def gan(turns: int = 20, critics: int = 1) -> None:
    g, g_opt, x = models()
    d, d_opt = torch.nn.Linear(1, 1), torch.optim.SGD(g.parameters(), lr=0.1)
    for _ in range(turns):
        for _ in range(critics):
            d_opt.zero_grad()
            d_loss = d(g(x).detach()).mean()
            d_loss.backward()
            d_opt.step()
        g_opt.zero_grad()
        g_loss = d(g(x)).mean()
        g_loss.backward()
        g_opt.step()


def helper() -> None:
    """One line ends the steps of two models, which the caller tells apart."""

    def update(loss: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    one, one_opt, x = models()
    two, two_opt, _ = models()
    for _ in range(4):
        update(one(x).mean(), one_opt)
        update(two(x).pow(2).mean(), two_opt)


def trains_then_looks() -> None:
    model, optimizer, x = models()
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    for _ in range(3):
        given = torch.ones(1, 2, requires_grad=True)
        score = model(given).exp().sin().sum()
        torch.autograd.grad(score, given)


def accumulates() -> None:
    model, optimizer, x = models()
    for i in range(8):
        loss = model(x).pow(2).mean()
        loss.backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def by_closure() -> None:
    model, _, x = models()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


def retains(count: int, passes: int = 1, **kept: bool) -> None:
    """Passes keep their graphs, as in old scripts, and an optimizer takes its step."""
    model, optimizer, x = models()
    for _ in range(count):
        optimizer.zero_grad()
        for _ in range(passes):
            loss = model(x).pow(2).mean()
            loss.backward(**kept)
        optimizer.step()


def retaining_gan() -> None:
    g, g_opt, x = models()
    d = torch.nn.Linear(1, 1)
    d_opt = torch.optim.SGD(d.parameters(), lr=0.1)
    for _ in range(6):
        fake = g(x)
        d_loss = d(fake).mean()
        d_loss.backward(retain_graph=True)
        d_opt.step()
        g_loss = d(fake).pow(2).mean()
        g_loss.backward()
        g_opt.step()


def differentiated_step() -> None:
    """The step of an optimizer is differentiated: it ends nothing."""
    x = torch.ones(3, requires_grad=True)
    for _ in range(4):
        w = torch.ones(3, requires_grad=True).clone()
        w.retain_grad()
        inner = torch.optim.SGD([w], lr=0.1, differentiable=True)
        (w * x).sum().backward(create_graph=True)
        inner.step()
        loss = w.pow(2).sum()
        loss.backward()


def sharpness_aware() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(4):
        loss = w.exp().sum()
        loss.backward()
        with torch.no_grad():
            w += 0.1 * w.grad
        optimizer.zero_grad()
        second = w.exp().sum()
        second.backward()
        optimizer.step()
        optimizer.zero_grad()


def straight() -> None:
    x = torch.ones(3, requires_grad=True)
    a = x.sin().sum()
    a.backward()
    b = x.cos().sum()
    b.backward()
    c = x.exp().sum()
    c.backward()


@pytest.mark.parametrize(
    ("script", "kept", "roots", "main", "optimizers"),
    [
        (
            lambda: one_loop(5),
            [1, 5],
            [("loss",)],
            5,
            ["optimizer: each of its steps takes the gradients of 1 backward pass"],
        ),
        (gan, [1, 2, 39, 40], [("d_loss",), ("g_loss",)], 40, None),
        (lambda: gan(4, 3), [1, 4, 15, 16], [("d_loss",), ("g_loss",)], 16, None),
        (helper, [1, 2, 7, 8], [("loss",), ("loss",)], 8, None),
        (trains_then_looks, [1, 4, 5, 7], [("loss",), ("score",)], 4, None),
        (
            accumulates,
            [1, 8],
            [("loss",)],
            8,
            ["optimizer: each of its steps takes the gradients of 4 backward passes"],
        ),
        (
            lambda: retains(5, retain_graph=True),
            [1, 5],
            [("loss",)],
            5,
            ["optimizer: each of its steps takes the gradients of 1 backward pass"],
        ),
        (
            lambda: retains(5, create_graph=True),
            [1, 5],
            [("loss",)],
            5,
            ["optimizer: each of its steps takes the gradients of 1 backward pass"],
        ),
        (
            lambda: retains(3, 4, retain_graph=True),
            [1, 3],
            [("loss",)],
            3,
            ["optimizer: each of its steps takes the gradients of 4 backward passes"],
        ),
        (retaining_gan, [1, 2, 11, 12], [("d_loss",), ("g_loss",)], 12, None),
        (differentiated_step, [1, 4], [("loss",)], 4, None),
        (
            sharpness_aware,
            [1, 2, 7, 8],
            [("loss",), ("second",)],
            8,
            ["optimizer: each of its steps takes the gradients of 1 backward pass"],
        ),
        (straight, [1, 3], [("a",), ("b",), ("c",)], 3, []),
    ],
)
def test_the_first_and_the_last_of_each_kind_are_kept(
    script: Callable[[], Any],
    kept: Sequence[int],
    roots: Sequence[tuple[str, ...]],
    main: int,
    optimizers: list[str] | None,
) -> None:
    trace = record(script)
    assert shown(trace) == (kept, roots, main)
    if optimizers is not None:
        assert step_table.optimizers(trace) == optimizers
    assert sum(kind.count for kind in trace.kinds) == trace.total_steps


def test_steps_within_a_closure_are_told() -> None:
    assert step_table.optimizers(record(by_closure)) == ["optimizer: passes run within its steps"]


@pytest.mark.parametrize("critics", [1, 3, 5])
def test_where_not_every_step_is_followed_each_kind_is(critics: int) -> None:
    trace = record(lambda: gan(150, critics), each=False)
    assert trace.total_steps == 150 * (critics + 1)
    assert [kind.count for kind in trace.kinds] == [150 * critics, 150]
    of = {kind: [step.number for step in trace.steps if step.kind == kind] for kind in (0, 1)}
    for kind, numbers in of.items():
        assert len(numbers) == 2
        assert numbers[0] == trace.kinds[kind].first
        assert numbers[1] == trace.kinds[kind].last


def test_passes_that_keep_their_graphs_are_counted_where_they_are_not_followed() -> None:
    trace = record(lambda: retains(150, 2, retain_graph=True), "3,last", each=False)
    assert (trace.total_steps, [kind.count for kind in trace.kinds]) == (150, [150])
    assert [step.nth for step in trace.steps] == [3, 150]
    assert [len(step.graph.passes) for step in trace.steps] == [2, 2]
    assert all(step.double is not None for step in trace.steps)


LONG = {
    "while": "i = 0\nwhile i < 200:\n    step()\n    i += 1",
    "broken off": "i = 0\nwhile True:\n    step()\n    i += 1\n    if i > 199: break",
    "endless data": "for i in itertools.count(1):\n    step()\n    if i == 200: break",
    "of epochs": "i = 0\nwhile i < 50:\n    for _ in range(4):\n        step()\n    i += 1",
}


@pytest.mark.parametrize("loop", LONG.values(), ids=LONG)
def test_of_a_long_loop_that_a_counter_ends_the_last_step_is_kept_and_what_comes_then(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "FREE", 0.0)
    monkeypatch.setattr(kinds, "SHARE", 0.0)
    w, file = torch.ones(3, requires_grad=True), tmp_path / "loop.py"
    body = f"{loop}\nlast = w.exp().sum()\nlast.backward()\n"
    file.write_text(body, encoding="utf-8")
    run = {"step": lambda: w.sin().sum().backward(), "w": w, "itertools": itertools}
    trace = record(lambda: exec(compile(body, str(file), "exec"), run), each=False)
    assert [step.nth for step in trace.steps] == [1, 200, 201]
    assert [root.name for root in trace.steps[-1].graph.roots] == ["last"]


def by_hand() -> None:
    """Gradient descent without an optimizer, and a last look."""
    w = torch.ones(3, requires_grad=True)
    for _ in range(4):
        loss = w.sin().sum()
        loss.backward()
        with torch.no_grad():
            w -= w.grad
    last = w.cos().sum()
    last.backward()


def by_grad() -> None:
    """An optimizer is given what `grad` returns, and a Hessian's product is looked at in the end."""
    model, optimizer, x = models()
    x.requires_grad_()
    for _ in range(4):
        loss = model(x).pow(2).mean()
        torch.autograd.grad(loss, x, retain_graph=True)
        for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True):
            p.grad = g
        optimizer.step()
    given = model(x).exp().pow(2).mean()
    torch.autograd.grad(given, x)


def looks_between() -> None:
    """Each training step is followed by a gradient that is only looked at."""
    model, optimizer, x = models()
    for _ in range(4):
        loss = model(x).pow(2).mean()
        loss.backward()
        score = model(x).exp().sin().cos().sum()
        torch.autograd.grad(score, list(model.parameters()))
        optimizer.step()


@pytest.mark.parametrize(
    ("script", "trains", "main"),
    [(by_hand, [False, False], 4), (by_grad, [True, False], 4), (looks_between, [True, False], 7)],
)
def test_the_step_that_is_shown_is_of_the_training(script: Callable[[], Any], trains: list[bool], main: int) -> None:
    trace = record(script)
    assert ([kind.stepped for kind in trace.kinds], shown(trace)[2]) == (trains, main)


def evaluates() -> Any:
    one_loop(3)
    model, _, x = models()
    return model(x).tanh().exp().sin().cos().sum()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (evaluates, "a.py: 3 steps, 2 kept, and what ran after"),
        (lambda: one_loop(3), "a.py: 3 steps, 2 kept"),
        (lambda: torch.ones(3, requires_grad=True).exp().sum(), "a.py: 1 step, 1 kept"),
    ],
)
def test_what_runs_after_the_last_step_is_none(script: Callable[[], Any], said: str) -> None:
    found: list[Any] = []
    trace = replace(record(lambda: found.append(script())), script="a.py")
    told = step_table.to_text(trace)
    assert told.splitlines()[0] == said
    assert ("after the last step" in told) == ("after" in said)
    if "after" in said:
        assert [step_words(step, trace.ended) for step in trace.steps[1:]] == ["the last of 3 steps", "after 3 steps"]
        assert replace(trace, failure="ValueError").ended == 4


def test_a_loop_that_begins_late_is_followed() -> None:
    def script() -> None:
        one_loop(40)
        w = torch.ones(3, requires_grad=True)
        for _ in range(5):
            later = w.exp().sum()
            later.backward()

    trace = record(script, each=False)
    assert [root.name for step in trace.steps for root in step.graph.roots if step.number >= 40] == ["later", "later"]


def test_a_loop_that_is_over_is_waited_for_no_more() -> None:
    found, code = Kinds(), test_fewer_and_fewer_are_followed.__code__
    found.cost, followed = math.inf, 0
    for number in range(1000):
        follows = found.may_be_last(number)
        found.ended(((code, min(number // 4, 3)),), number, "backward" if follows else "")
        followed += follows
    assert followed < 16 + 16 + 1000 // 64


def test_what_runs_between_two_turns_belongs_to_none() -> None:
    def script() -> None:
        model, optimizer, x = models()
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                score = model(x).abs().max()
            watched = model(x).exp().sum()
        assert score is not None and watched is not None

    first, last = record(script).steps[:2]
    assert [node.op for node in first.graph if node.op] == [node.op for node in last.graph if node.op]
    assert [root.name for root in last.graph.roots] == ["loss"]


def test_fewer_and_fewer_are_followed() -> None:
    found, line = Kinds(), (test_fewer_and_fewer_are_followed.__code__, 0)
    found.cost, followed = math.inf, []
    for number in range(100_000):
        follows = found.may_be_last(number)
        found.ended((line,), number, "backward" if follows else "")
        followed += [number] if follows else []
    assert followed[:18] == [*range(16), 64, 128]
    assert len(followed) < 250
    assert all(later <= number * 17 // 16 + 65 for number, later in zip(followed, [*followed[1:], number], strict=True))


def test_more_lines_than_are_told_apart_are_one_more_kind() -> None:
    found, code = Kinds(), test_fewer_and_fewer_are_followed.__code__
    for number in range(3 * kinds.MOST):
        found.ended(((code, number),), number, "backward")
    told = found.found(lambda site: None)
    assert (len(told), told[-1].count) == (kinds.MOST + 1, 2 * kinds.MOST)
