"""What a step holds: parameters, gradients, optimizer state; and in which memory what nodes keep is."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Graph, Memory
from autograph_cli.graph.saved_memory import kept_tensors, origin_words
from autograph_cli.record.recorder import Recorder


def steps_of(script: Any, steps: str = "first,last") -> Any:
    recorder = Recorder(steps, "script.py")
    recorder.start()
    try:
        scope = script()
    finally:
        trace = recorder.finish(scope)
    return trace.steps


def kept(graph: Graph) -> dict[str, list[str]]:
    """Return what is kept: what it is, and the names of those that keep it."""
    found: dict[str, list[str]] = {}
    for each in kept_tensors(graph):
        node = None if each.origin is None else graph[each.origin.node]
        name = "" if node is None else "".join(node.outputs[0].names[:1])
        found[f"{name} {origin_words(graph, each)}".strip()] = [f"{graph[n].op} {saved}" for n, saved in each.savers]
    return found


def train(turns: int = 3) -> dict[str, Any]:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(4, 3)
    for _ in range(turns):
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
    return {"model": model, "optimizer": optimizer, "loss": loss}


def test_a_step_tells_the_memory_of_parameters_gradients_and_optimizer_state() -> None:
    first, last = steps_of(train)
    assert first.memory == Memory(parameters=32, gradients=32, optimizer=0)
    assert last.memory == Memory(parameters=32, gradients=32, optimizer=2 * 32 + 2 * 4)


def test_memory_is_told_of_steps_that_go_as_the_one_before() -> None:
    *_, last = steps_of(lambda: train(9))
    assert (last.number, last.memory) == (8, Memory(parameters=32, gradients=32, optimizer=72))


def test_parameters_that_were_read_outside_of_autograd_before_are_held_too() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(3, requires_grad=True)
        norm = w.detach().sum()
        loss = (w * norm).sum()
        loss.backward()
        return {"w": w, "loss": loss}

    (step,) = steps_of(script)
    assert step.memory == Memory(parameters=12, gradients=12, optimizer=0)


def test_a_step_without_a_backward_has_no_gradients() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(3, requires_grad=True)
        return {"w": w, "y": w.exp()}

    (step,) = steps_of(script)
    assert step.memory == Memory(parameters=12)


def test_what_is_kept_is_known_as_leaf_input_or_result() -> None:
    def script() -> dict[str, Any]:
        w, x = torch.ones(3, requires_grad=True), torch.ones(3)
        y = (w * x).exp()
        z = y * y * w
        z.sum().backward()
        return {"w": w, "x": x, "y": y, "z": z}

    (step,) = steps_of(script)
    assert kept(step.graph) == {
        "x input": ["mul other"],
        "y result of exp": ["exp result", "mul other", "mul self"],
        "result of mul": ["mul self"],
        "w leaf": ["mul other"],
    }


def test_a_view_of_a_leaf_is_that_leaf() -> None:
    def script() -> dict[str, Any]:
        w, x = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
        y = x @ w.t()
        y.sum().backward()
        return {"w": w, "x": x, "y": y}

    (step,) = steps_of(script)
    assert kept(step.graph) == {"x leaf": ["mm self"], "w leaf": ["mm mat2"]}


def test_what_a_custom_function_keeps_is_known() -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x * 2
            ctx.save_for_backward(x, result)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        h = x.sin()
        y = Scale.apply(h)
        y.sum().backward()
        return {"x": x, "h": h, "y": y}

    (step,) = steps_of(script)
    assert kept(step.graph)["h result of sin"] == ["Scale saved_tensors[0]"]
    assert kept(step.graph)["y result of Scale"] == ["Scale saved_tensors[1]"]


def test_versions_between_changes_in_place_are_told_apart() -> None:
    def script() -> dict[str, Any]:
        w, x = torch.ones(3, requires_grad=True), torch.ones(3)
        y = w * x
        x += 1
        z = w * x
        return {"w": w, "x": x, "y": y, "z": z}

    (step,) = steps_of(script)
    assert kept(step.graph) == {"result of ones": ["mul other"], "result of ones, version 1": ["mul other"]}


def test_turns_of_a_loop_count_versions_anew() -> None:
    first, last = steps_of(train)
    assert [node.saved for node in first.graph] == [node.saved for node in last.graph]


def test_a_derived_graph_has_what_order_0_keeps() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        y = x.exp().sum()
        y.backward()
        return {"x": x, "y": y}

    (step,) = steps_of(script)
    assert step.double is not None
    assert kept(step.double)["result of exp"] == ["exp result"]


@pytest.mark.parametrize(
    ("layout", "bytes_kept"), [(torch.sparse_coo, 4 * 4 + 2 * 4 * 8), (torch.sparse_csr, 4 * 4 + 9 * 8)]
)
def test_what_is_kept_of_a_sparse_tensor_are_its_values_and_places(layout: Any, bytes_kept: int) -> None:
    def script() -> dict[str, Any]:
        s, w = torch.eye(4).to_sparse(layout=layout), torch.ones(4, 3, requires_grad=True)
        y = s @ w
        y.sum().backward()
        return {"s": s, "w": w}

    (step,) = steps_of(script)
    (mm,) = (node for node in step.graph if node.kind == "operation" and "mm" in node.op)
    assert [saved.bytes for saved in mm.saved if saved.type] == [bytes_kept]


@pytest.mark.parametrize("view", [False, True])
def test_the_copy_of_what_is_changed_in_place_is_kept_and_no_hook_packed_it(view: bool) -> None:
    def script() -> dict[str, Any]:
        w = torch.tensor([0.5, -1.2, 0.3], requires_grad=True)
        h = w * 2
        (h[1:] if view else h).clamp_(-1, 1)
        loss = (h * h).sum()
        loss.backward()
        return {"w": w, "h": h}

    (step,) = steps_of(script)
    assert ["clamp_ self"] in kept(step.graph).values() and step.double is not None
    assert view or kept(step.graph)["result of clone"] == ["clamp_ self"]
