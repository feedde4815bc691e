"""Collectives are noted with their step, their line, and the gradients that were reduced."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograph_cli import torch
from autograph_cli.engines.protocol import CollectiveCall
from autograph_cli.graph import Trace
from autograph_cli.record.recorder import Recorder


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder("all", "train.py")
    made.start()
    yield made
    made.stop()


def reduce(recorder: Recorder, *tensors: torch.Tensor, size: int = 12) -> None:
    """What the engine tells when these are reduced."""
    number = len(recorder.collectives.found()) + 1
    recorder.log.collective(CollectiveCall("all_reduce", "0", [0, 1], number, tensors, size))


def told(trace: Trace) -> list[tuple[int, tuple[str, ...], int | None]]:
    return [(each.step, each.tensors, each.during) for each in trace.collectives]


def test_a_gradient_is_known_by_its_leaf_and_belongs_to_the_step_that_made_it(recorder: Recorder) -> None:
    w = torch.ones(3, requires_grad=True)
    for _ in range(2):
        (w * 2).sum().backward()
        reduce(recorder, w.grad)
    assert told(recorder.finish({"w": w})) == [(0, ("w.grad",), None), (1, ("w.grad",), None)]


def test_a_tensor_has_its_own_name(recorder: Recorder) -> None:
    w = torch.ones(3, requires_grad=True)
    loss = w.sum()
    reduce(recorder, loss, size=4)
    trace = recorder.finish({"w": w, "loss": loss})
    assert told(trace) == [(0, ("loss",), None)]
    assert trace.collectives[0].source


def test_a_bucket_in_a_backward_pass_is_that_of_the_leaves_that_add_up_to_it(recorder: Recorder) -> None:
    v, w = (torch.ones(n, requires_grad=True) for n in (3, 5))
    w.register_post_accumulate_grad_hook(lambda _: reduce(recorder, torch.zeros(5), size=20))
    v.register_post_accumulate_grad_hook(lambda _: reduce(recorder, torch.zeros(3), size=12))
    ((v * 2).sum() * (w * 2).sum()).backward()
    found = {tensors: during for _, tensors, during in told(recorder.finish({"v": v, "w": w}))}
    assert found.keys() == {("v.grad",), ("w.grad",)}
    assert all(during is not None for during in found.values())


def test_a_bucket_that_no_leaves_add_up_to_has_no_names(recorder: Recorder) -> None:
    w = torch.ones(3, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda _: reduce(recorder, torch.zeros(2), size=8))
    w.sum().backward()
    assert [tensors for _, tensors, _ in told(recorder.finish({"w": w}))] == [()]


def test_of_steps_that_are_not_kept_the_last_ones_are_known() -> None:
    recorder = Recorder("first", "train.py")
    recorder.start()
    w = torch.ones(1, requires_grad=True)
    for number in range(700):
        (w * 1).backward()
        recorder.log.collective(CollectiveCall("all_reduce", "0", [0, 1], number + 1, [w.grad], 4))
    found = recorder.finish({"w": w}).collectives
    assert found[0].sequence == 1
    assert found[-1].sequence == 700
    assert len(found) < 600
