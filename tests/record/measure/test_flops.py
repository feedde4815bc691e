"""The floating-point operations of operations and of backward nodes are those that PyTorch's FlopCounterMode counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Graph
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch.nn import functional as F
from tests.record.measure.record_flops import EXPECTED, EXPRESSIONS, SCOPE

COUNTS = json.loads(EXPECTED.read_text())
SECOND = {
    "F.conv2d(image, kernel2, stride=2, padding=1, dilation=(1, 2))": 31104,
    "F.conv2d(image, grouped, groups=2)": 36864,
    "F.conv2d(image.detach(), kernel2)": 18432,
    "F.conv_transpose2d(image, turned.detach(), padding=1)": 34560,
}
"""Where PyTorch comes to the second derivative of a convolution by other convolutions, or by some that nobody needs:
what this engine computes."""


def recorded(expression: str, orders: int = 2) -> Graph:
    recorder = Recorder("all", "script.py", record=("flops",))
    recorder.start()
    scope: dict[str, Any] = {name: torch.rand(shape, requires_grad=True) for name, shape in SCOPE.items()}
    try:
        leaves = list(scope.values())
        result = eval(expression, {"torch": torch, "F": F}, scope)
        total = (result**2).sum()
        grads = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        again = sum((g**2).sum() for g in grads if g is not None)
        if again.requires_grad and orders > 1:
            torch.autograd.grad(again, leaves, allow_unused=True)
        scope |= {"result": result, "total": total, "again": again}
    finally:
        trace = recorder.finish(scope)
    return trace.steps[0].graph


def test_every_expression_was_recorded() -> None:
    assert list(COUNTS) == EXPRESSIONS.strip().splitlines()


@pytest.mark.parametrize("expression", COUNTS)
def test_counts_are_those_of_pytorch(expression: str) -> None:
    graph = recorded(expression)
    forward = sum(node.measured.flops or 0 for node in graph if node.measured and not node.order)
    runs = {0: 0, 1: 0}
    for node in graph:
        passes = [entry.id for entry in graph.passes if node.id in entry.ran]
        for number, run in zip(passes, node.measured.runs if node.measured else (), strict=True):
            runs[number] += run.flops
    *first, second = COUNTS[expression]
    assert [forward, runs[0], runs[1]] == [*first, SECOND.get(expression, second)]


def test_attention_is_counted_as_that_of_the_kernels_that_pytorch_counts() -> None:
    graph = recorded("F.scaled_dot_product_attention(batch[None], batch[None], batch[None])", 1)
    (node,) = [node for node in graph if node.op.startswith("_scaled") and not node.order]
    scores, chosen = 2 * (2 * 3) * 3 * 4, 2 * (2 * 3) * 3 * 4
    assert node.measured is not None
    assert (node.measured.flops, node.measured.runs[0].flops) == (scores + chosen, 3 * scores + 2 * chosen)


def test_without_being_asked_for_nothing_is_counted() -> None:
    recorder = Recorder("all", "script.py", record=("time",))
    recorder.start()
    x = torch.ones(2, 2, requires_grad=True)
    loss = (x @ x).sum()
    loss.backward()
    graph = recorder.finish({"loss": loss}).steps[0].graph
    assert not any(
        node.measured and (node.measured.flops or any(run.flops for run in node.measured.runs)) for node in graph
    )
