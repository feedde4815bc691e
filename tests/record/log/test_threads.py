"""Scripts with several threads record without errors, lose no gradient, and each thread has steps of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Trace, from_json, to_json
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch import nn

THREADS, TURNS = 4, 10


def together(work: Callable[[int], Any]) -> list[Any]:
    """Return what this gives in several threads that begin at once."""
    barrier = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def own_models() -> list[Any]:
    def train(number: int) -> Any:
        data = torch.arange(12.0).view(4, 3) / 10 + number
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.linspace(-1, 1, p.numel()).view(p.shape))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(TURNS):
            optimizer.zero_grad()
            model(data).pow(2).mean().backward()
            optimizer.step()
        return [p.tolist() for p in model.parameters()]

    return together(train)


def own_leaves() -> list[Any]:
    def work(number: int) -> Any:
        w = torch.full((3,), float(number + 1), requires_grad=True)
        for turn in range(TURNS):
            (w * (turn / TURNS)).exp().log().sum().backward()
        return w.grad.tolist()

    return together(work)


def forward_in_threads_backward_in_main() -> list[Any]:
    leaves = [torch.full((3,), float(number), requires_grad=True) for number in range(THREADS)]
    for _ in range(TURNS):
        parts = together(lambda number: (leaves[number].exp() * 2).sum())
        torch.stack(parts).sum().backward()
    return [w.grad.tolist() for w in leaves]


def derivatives_of_a_shared_graph() -> list[Any]:
    x = torch.linspace(0.1, 1, 4, requires_grad=True)
    y = (x.sin() * x).sum()

    def work(number: int) -> Any:
        for _ in range(TURNS):
            (g,) = torch.autograd.grad(y, x, retain_graph=True, create_graph=True)
            (h,) = torch.autograd.grad((g * number).sum(), x, retain_graph=True)
        return h.tolist()

    return together(work)


def custom_functions_and_hooks() -> list[Any]:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 + ctx.saved_tensors[0] * 0

    def work(number: int) -> Any:
        seen: list[float] = []
        w = torch.full((2,), float(number), requires_grad=True)
        for _ in range(TURNS):
            h = Doubled.apply(w)
            h.register_hook(lambda g: seen.append(g.sum().item()))
            h += 1
            h[:1].mul_(3)
            h.sum().backward()
        return [sum(seen), w.grad.tolist()]

    return together(work)


SCRIPTS = [
    own_models,
    own_leaves,
    forward_in_threads_backward_in_main,
    derivatives_of_a_shared_graph,
    custom_functions_and_hooks,
]


def recorded(script: Callable[[], Any], **options: Any) -> tuple[Any, Trace]:
    recorder = Recorder(**options)
    recorder.start()
    try:
        found = script()
    finally:
        trace = recorder.finish({})
    assert recorder.broken == ""
    for step in trace.steps:
        step.graph.verify()
    assert from_json(to_json(trace)) == trace
    return found, trace


@pytest.mark.parametrize("options", [{}, {"steps": "all"}, {"record": ("values", "time", "inside")}])
@pytest.mark.parametrize("script", SCRIPTS)
def test_threads_compute_what_they_compute_without_a_recorder(script: Callable[[], Any], options: Any) -> None:
    assert recorded(script, **options)[0] == script()


def test_each_thread_has_steps_of_its_own() -> None:
    (_, trace) = recorded(own_leaves, steps="all")
    assert trace.total_steps == THREADS * TURNS
    assert {tuple(node.op for node in step.graph if node.kind == "operation") for step in trace.steps} == {
        ("mul", "exp", "log", "sum")
    }
    assert {len(step.graph.passes) for step in trace.steps} == {1}


def test_gradients_of_a_leaf_that_threads_share_add_up() -> None:
    w = torch.zeros(2, requires_grad=True)
    lock = threading.Lock()

    def work(number: int) -> None:
        for _ in range(TURNS):
            loss = (w * 3).sum()
            with lock:  # as in PyTorch, adding to `.grad` is not for several threads at once
                loss.backward()

    recorded(lambda: together(work))
    assert w.grad.tolist() == [3.0 * THREADS * TURNS] * 2


# ---------------------------------------------------------------- errors of the recorder's own


class Broken(Exception):
    """Something that the recorder does wrong."""


@pytest.mark.parametrize("where", ["operation", "leaf", "input", "begins", "ends", "note"])
def test_an_error_of_the_recorder_ends_the_recording_and_not_the_script(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder("all")
    count = 0

    def fails(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise Broken("of its own")
        return working(*args, **options)

    working = getattr(recorder.log, where)
    monkeypatch.setattr(recorder.log, where, fails)
    recorder.start()
    w = torch.ones(2, requires_grad=True)
    for _ in range(6):
        x = torch.full((2,), 2.0)
        other = torch.ones(2, requires_grad=True)
        (w * x * other).sum().backward()
    trace = recorder.finish({"w": w})
    assert w.grad.tolist() == [12.0, 12.0]
    said = capsys.readouterr().err
    assert said == "autograph: an error of its own ended the recording (Broken: of its own); the script goes on.\n"
    assert trace.total_steps == len(trace.steps) < 6
    for step in trace.steps:
        step.graph.verify()


def test_what_a_signal_s_handler_raises_is_the_script_s(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    def handler(*_: Any) -> None:
        raise TimeoutError("the script's own")

    def interrupted(*_: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    recorder = Recorder("all")
    monkeypatch.setattr(recorder.log, "operation", interrupted)
    recorder.start()
    try:
        with pytest.raises(TimeoutError):
            torch.ones(2, requires_grad=True) * 2
        assert recorder.broken == ""
    finally:
        recorder.stop()
        signal.signal(signal.SIGUSR1, before)


def check_beside_a_thread() -> Any:
    x = torch.tensor([0.5, 1.0], dtype=torch.double, requires_grad=True)
    worker = threading.Thread(target=lambda: [(x * 2).sum().backward() for _ in range(TURNS)])
    worker.start()
    for _ in range(3):
        assert torch.autograd.gradcheck(torch.sin, x) and torch.autograd.gradgradcheck(torch.exp, x)
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(lambda t: t.detach() * t, x)
    worker.join()
    (x**3).sum().backward()


def test_what_gradcheck_computes_is_no_step_and_other_threads_are_still_recorded() -> None:
    _, trace = recorded(check_beside_a_thread, steps="all")
    names = [sorted({node.name for node in step.graph.nodes if node.kind == "operation"}) for step in trace.steps]
    assert names == [["MulBackward0", "SumBackward0"]] * TURNS + [["PowBackward0", "SumBackward0"]]
