"""capture(): the graph of tensors that are there, or of what a function makes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import assert_same_graph, capture, torch
from autograph_cli.graph import Graph, GraphError
from autograph_cli.record.capture import capture_derivatives
from autograph_cli.record.graphs.living import graph_of
from autograph_cli.record.log.saved_tensors import look
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run.imports import serve
from tests import inside
from tests.conftest import Run


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph if node.kind == "operation"]


def leaves(graph: Graph) -> list[str]:
    return [node.outputs[0].names[0] for node in graph if node.kind == "leaf"]


def test_a_tensor_brings_its_graph_with_the_names_of_the_caller() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = torch.softmax(w * 2, dim=0).sum()
    graph = capture(loss)
    graph.verify()
    assert ops(graph) == ["mul", "softmax", "sum"]
    assert leaves(graph) == ["w"]
    assert [root.name for root in graph.roots] == ["loss"]
    assert [saved.value for saved in graph[2].saved if saved.name == "_saved_dim"] == ["0"]


RECORDED_UNDER = {
    "softmax": lambda x: torch.softmax(x, 1),
    "normal": lambda x: torch.normal(x, 1.0),
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x[None], 2),
    "conv1d": lambda x: torch.nn.functional.conv1d(x[None], torch.ones(2, 3, 2)),
    "lstm": lambda x: torch.nn.LSTM(4, 2)(x[:, None])[0],
}


@pytest.mark.parametrize("made", RECORDED_UNDER.values(), ids=RECORDED_UNDER)
def test_what_a_node_saved_has_the_names_that_the_node_shows(made: Callable[[Any], Any]) -> None:
    result = made(torch.rand(3, 4, requires_grad=True))
    nodes = [result.grad_fn]
    for node in nodes:
        nodes += [target for target, _ in node.next_functions if target is not None]
    shown = {name for node in nodes for name in dir(node)}
    recorded = {saved.name for node in capture(result) for saved in node.saved}
    assert recorded and recorded <= shown, recorded - shown


def _changed(x: Any) -> Any:
    doubled = x * 2
    squared = doubled * doubled.sin()
    with torch.no_grad():
        x.mul_(3)
    copy = x.clone()
    copy[0] = 3.0
    return squared.sum() + (copy.mul_(2) * x).sum()


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: int) -> Any:
        ctx.save_for_backward(x, x * 2)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


def _packed(x: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.numpy(), torch.tensor):
        return x.exp() * x


LOOKED_AT = RECORDED_UNDER | {
    "changed": _changed,
    "custom": lambda x: Scaled.apply(x, 3),
    "packed": _packed,
    "parameter": lambda x: x * torch.nn.Parameter(torch.ones(4)),
    "meta": lambda x: (x.to("meta") * 2).sin(),
    "list": lambda x: torch.cat([x, x[1:], x.t().reshape(3, 4)]),
    "several": lambda x: torch.stack([part.sum() * part.max() for part in x.split(1)]),
    "freed": lambda x: (x * x).sum().backward() or (x * x).sin(),
}


@pytest.mark.parametrize("made", LOOKED_AT.values(), ids=LOOKED_AT)
def test_living_nodes_make_the_graph_that_is_noted_of_them(made: Callable[[Any], Any]) -> None:
    result = made(torch.arange(12.0).reshape(3, 4).requires_grad_())
    recorder = Recorder("last")
    recorder.log.engine.output(result)
    look(recorder.log, recorder.log.step)
    graph = graph_of(Recorder("last").log, [("result", result)], [])
    assert graph == recorder.snapshot({"result": result})
    assert any(node.saved for node in graph)


def test_a_node_that_was_given_a_late_number_stands_before_what_leads_to_it() -> None:
    doubled = torch.ones(3, requires_grad=True) * 2
    result = doubled.sin().exp()
    doubled.grad_fn._set_sequence_nr(result.grad_fn._sequence_nr() + 5)
    graph = capture(result)
    assert [node.name for node in graph] == ["AccumulateGrad", "MulBackward0", "SinBackward0", "ExpBackward0"]
    assert all(edge.node < node.id for node in graph for edge in node.next if edge is not None)


def test_a_model_of_the_module_names_what_a_function_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "net", torch.nn.Linear(2, 1))
    monkeypatch.setitem(globals(), "unused", torch.ones(2, requires_grad=True))
    loss = net(torch.ones(2)).sum()  # type: ignore[name-defined]  # noqa: F821
    text = capture(loss).to_text()
    assert "leaf net.weight: float32[1, 2]" in text and "unused" not in text


def test_several_tensors_bring_one_graph() -> None:
    w = torch.ones(3, requires_grad=True)
    graph = capture({"first": w.sin(), "second": [w.cos()]})
    assert [root.name for root in graph.roots] == ["first", "second[0]"]


def test_a_function_is_run_and_its_inputs_are_known() -> None:
    w = torch.ones(3, requires_grad=True)

    def model(x: torch.Tensor) -> torch.Tensor:
        hidden = w * x
        return hidden.tanh()

    graph = capture(model, torch.ones(3))
    assert [(node.kind, node.outputs[0].names[:1]) for node in graph] == [
        ("leaf", ("w",)),
        ("input", ("x",)),
        ("operation", ("hidden",)),
        ("operation", ("result",)),
    ]


def test_a_module_is_a_function() -> None:
    model = torch.nn.Linear(3, 2)
    assert set(leaves(capture(model, torch.ones(4, 3)))) == {"model.weight", "model.bias"}


def test_a_function_that_runs_backward_leaves_its_last_step() -> None:
    w = torch.ones(3, requires_grad=True)
    graph = capture(lambda: (w * w).sum().backward())
    assert ops(graph) == ["mul", "sum"]
    assert [entry.call for entry in graph.passes] == ["backward"]


def test_an_observer_that_was_there_stays() -> None:
    with inside.unobserved():
        with pytest.raises(ZeroDivisionError):
            capture(lambda: 1 / 0)
        assert inside.observer() is None


def test_derivatives_are_taken_for_the_double_backward() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w.exp() * 2).sum()
    graph = capture_derivatives(loss)
    assert {node.order for node in graph} == {0, 1}
    assert [root.name for root in graph.roots] == ["loss", "w.grad"]
    assert w.grad is None


def test_two_ways_to_the_same_graph_are_the_same() -> None:
    w = torch.ones(3, requires_grad=True)
    assert_same_graph((w * 2).sum(), (w * 5).sum())
    with pytest.raises(AssertionError, match="`sin` became `cos`"):
        assert_same_graph(w.cos(), w.sin())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.ones(3), "has no graph: it needs no gradient"),
        (lambda: torch.ones(3, requires_grad=True), "has no graph: it is a leaf"),
        (lambda: [], "There is no tensor in this list"),
        (lambda: "text", "There is no tensor in this str"),
    ],
)
def test_what_has_no_graph_is_refused(make, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        capture(make())


def test_a_function_that_records_nothing_is_refused() -> None:
    with pytest.raises(GraphError, match="The function recorded nothing"):
        capture(lambda: None)


REAL = """
import torch
from autograph_cli import capture
from autograph_cli.record.capture import capture_derivatives
from autograph_cli.record.run.imports import serve
model = torch.nn.Linear(3, 2)
loss = torch.softmax(model(torch.ones(4, 3)), dim=-1).sum()
graph = capture(loss)
graph.verify()
print(*[node.name for node in graph if node.kind == "operation"])
print(*sorted(node.outputs[0].names[0] for node in graph if node.kind == "leaf"))
print(*[saved.value for node in graph for saved in node.saved if saved.name == "_saved_dim"])
print(len(capture_derivatives(loss)) > len(graph))
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_graph_of_pytorch_itself_is_read(python: Run) -> None:
    done = python("-c", REAL)
    assert done.stdout.splitlines() == [
        "TBackward0 AddmmBackward0 SoftmaxBackward0 SumBackward0",
        "model.bias model.weight",
        "-1",
        "True",
    ], done.stderr


def test_the_engine_is_not_taken_for_pytorch_while_it_is_served() -> None:
    with serve():
        import torch as served

        x, w = served.ones(3), served.ones(3, requires_grad=True)
        graph = capture(lambda: (w * x).sum())
    assert [node.kind for node in graph] == ["leaf", "input", "operation", "operation"]
