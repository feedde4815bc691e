"""What is recorded beside the graph on request: numbers, times, formulas, and what ran inside of a backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.graph import Graph, Measured, Node, Trace, to_json
from autograph_cli.record.measure.measures import KINDS
from autograph_cli.record.measure.values import summary
from tests import inside as engine
from tests.record import recording

Script = Callable[[], dict[str, Any]]


def record(script: Script, *kinds: str, steps: str = "all") -> Trace:
    return recording.record(script, steps, record=kinds)


def named(graph: Graph, name: str) -> Measured:
    (found,) = [node for node in graph if any(name in output.names for output in node.outputs) or node.name == name]
    assert found.measured is not None
    return found.measured


def small() -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0, 3.0])
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    y = w * x
    z = y**2
    loss = z.sum()
    loss.backward()
    return {"x": x, "w": w, "y": y, "z": z, "loss": loss}


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "array, lines",
    [
        (np.float32(0.5), ("0.5",)),
        (np.array([1, -2]), ("[1, -2]",)),
        (np.array([True, False]), ("[True, False]",)),
        (np.array([1.23456789, np.nan, np.inf, -0.0]), ("[1.235, nan, inf, 0]",)),
        (np.array([1 + 2j, -0.5j]), ("[1+2j, 0-0.5j]",)),
        (np.array([[1, 2], [3, 4]]), ("[[1, 2],", " [3, 4]]")),
        (np.zeros((2, 1, 2)), ("[[[0, 0]],", " [[0, 0]]]")),
        (np.zeros((0, 3)), ("[]",)),
        (np.zeros((1, 2)), ("[[0, 0]]",)),
    ],
)
def test_few_numbers_are_kept_whole(array: Any, lines: tuple[str, ...]) -> None:
    values = summary(array)
    assert values is not None and values.whole == lines


def test_many_numbers_are_summed_up() -> None:
    values = summary(np.array([0.0] * 5 + [np.nan] * 2 + [4.0] * 10 + [-4.0] * 3, np.float32))
    assert values is not None
    assert (values.low, values.mean, values.high) == ("-4", "1.556", "4")
    assert (values.count, values.zeros, values.nans) == (20, 5, 2)
    assert values.bins == (3, *[0] * 7, 5, *[0] * 6, 10)


@pytest.mark.parametrize(
    "array", [np.full(20, np.nan), np.full(20, np.inf), np.full(20, 3.0), np.array([1e308, -1e308] * 9)]
)
def test_numbers_without_room_between_them_have_no_bars(array: Any) -> None:
    values = summary(array)
    assert values is not None and values.bins == () and values.count == array.size


def test_numbers_of_a_low_precision_are_known_too() -> None:
    values = summary(engine.array_of(torch.arange(20.0).to(torch.bfloat16)))
    assert values is not None and (values.low, values.high) == ("0", "19")


def test_tensors_and_gradients_have_their_numbers() -> None:
    graph = record(small, "values").steps[0].graph
    whole = {name: [v.whole for v in named(graph, name).values if v] for name in ("x", "w", "y", "loss")}
    assert whole == {"x": [("[1, 2, 3]",)], "w": [("[0.5, -1, 2]",)], "y": [("[0.5, -2, 6]",)], "loss": [("40.25",)]}
    came = {name: [v.whole for v in named(graph, name).gradients if v] for name in ("w", "y", "loss")}
    assert came == {"w": [("[1, -8, 36]",)], "y": [("[1, -4, 12]",)], "loss": [("1",)]}


def test_numbers_are_those_of_each_step() -> None:
    def script() -> dict[str, Any]:
        w = torch.tensor(1.0, requires_grad=True)
        for _ in range(4):
            y = w * 2
            y.backward()
            with torch.no_grad():
                w += 1
        return {"w": w, "y": y}

    steps = record(script, "values", steps="first,last").steps
    assert [step.number for step in steps] == [0, 3]
    found = [[v.whole for node in step.graph if node.measured for v in node.measured.values if v] for step in steps]
    assert found == [[("1",), ("2",)], [("4",), ("8",)]]


def test_a_change_in_place_has_the_new_numbers() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y[0] = 5.0
        return {"w": w, "y": y}

    graph = record(script, "values").steps[0].graph
    copies = [node.measured.values[0] for node in graph if node.name == "CopySlices" and node.measured]
    assert [values.whole for values in copies if values] == [("[5, 2]",)]


def test_derivatives_that_autograph_makes_have_numbers() -> None:
    (step,) = record(small, "values").steps
    assert step.double is not None
    made = {node.name: node.measured.values[0] for node in step.double if node.order and node.measured}
    assert made["MulBackward0"] is not None and made["MulBackward0"].whole == ("[1, -8, 36]",)


# ---------------------------------------------------------------- times and formulas


def test_operations_and_backwards_are_timed() -> None:
    before = engine.hooks()
    graph = record(small, "time").steps[0].graph
    for node in graph:
        if node.kind == "operation":
            assert node.measured is not None and node.measured.time and node.measured.backward_time
    assert engine.hooks() == before


def test_a_formula_is_as_the_table_has_it() -> None:
    graph = record(small, "formula").steps[0].graph
    assert named(graph, "y").formula == ("self: grad * other.conj()", "other: grad * self.conj()")


def test_operations_that_left_no_node_have_no_formula() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(2, requires_grad=True)
        y = w * torch.ones(2).exp()
        y.sum().backward()
        return {"y": y}

    graph = record(script, "values", "time", "formula", "inside").steps[0].graph
    (exp,) = [node for node in graph if node.op == "exp"]
    assert exp.kind == "untracked" and exp.measured is not None and exp.measured.formula == ()
    assert named(graph, "y").formula == ("self: grad * other.conj()", "other: grad * self.conj()")


# ---------------------------------------------------------------- inside


def inside(script: Script, name: str, *more: str) -> Graph:
    measured = named(record(script, "inside", *more).steps[0].graph, name)
    assert measured.inside is not None
    measured.inside.verify()
    return measured.inside


def test_inside_of_a_backward_its_formula_is_run_once_more() -> None:
    assert inside(small, "z").to_text(shown=("formula",)).splitlines()[1:] == [
        "order 0",
        "  input self: float32[3]",
        "  %1: float32[3] = pow(self)",
        "      # exponent = 1.0",
        "  %2: float32[3] = mul(%1)",
        "      # other = 2.0",
        "  input grad: float32[3]",
        "  %4: float32[3] = mul(grad, %2)",
        "roots",
        "  grad_self = %4",
    ]


def test_a_gradient_is_given_the_shape_of_its_input() -> None:
    def script() -> dict[str, Any]:
        w, x = torch.ones((), requires_grad=True), torch.ones(3)
        y = w + x
        y.sum().backward()
        return {"w": w, "y": y}

    assert [node.op for node in inside(script, "y")] == ["", "sum"]


def test_inside_of_a_custom_function_is_what_ran() -> None:
    class Sinh(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            up, down = torch.exp(x), torch.exp(-x)
            ctx.save_for_backward(up, down)
            return (up - down) / 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            up, down = ctx.saved_tensors
            found = grad * up
            found += grad * down
            return found / 2

    def script() -> dict[str, Any]:
        x = torch.ones(2, requires_grad=True)
        y = Sinh.apply(x)
        y.sum().backward()
        return {"x": x, "y": y}

    graph = inside(script, "SinhBackward")
    assert [node.op for node in graph if node.op] == ["mul", "mul", "add_", "div"]
    assert [graph[edge.node].outputs[0].names for edge in graph[2].args] == [("grad",), ("saved_tensors[0]",)]
    assert [root.name for root in graph.roots] == ["result"]


def test_numbers_inside_of_a_backward_are_known_too() -> None:
    values = [node.measured.values[0] for node in inside(small, "z", "values") if node.measured]
    assert [each.whole[0] for each in values if each] == [
        "[0.5, -2, 6]",
        "[0.5, -2, 6]",
        "[1, -4, 12]",
        "[1, 1, 1]",
        "[1, -4, 12]",
    ]


def test_what_a_hook_has_packed_is_not_opened_for_the_record() -> None:
    opened: list[int] = []

    def script() -> dict[str, Any]:
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: opened.append(1) or t):
            y = x.exp()
        y.sum().backward()
        return {"x": x, "y": y}

    graph = record(script, "inside").steps[0].graph
    assert opened == [1]
    exp: Node = next(node for node in graph if node.op == "exp")
    assert exp.measured is None


def test_a_recorded_pass_is_opened_as_well() -> None:
    def script() -> dict[str, Any]:
        x = torch.tensor(2.0, requires_grad=True)
        y = x**3
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.backward()
        return {"x": x, "y": y, "slope": slope}

    graph = inside(script, "y")
    assert [node.op for node in graph if node.op] == ["pow", "mul", "mul"]


# ---------------------------------------------------------------- nothing else changes


def bare(trace: Trace) -> list[str]:
    return [graph.to_text(details=True) for step in trace.steps for graph in (step.graph, step.double) if graph]


@pytest.mark.parametrize("kinds", [("values",), ("time",), ("flops",), ("memory",), ("formula",), ("inside",), KINDS])
def test_the_graph_is_the_same_whatever_is_recorded_beside_it(kinds: tuple[str, ...]) -> None:
    assert bare(record(small, *kinds)) == bare(record(small))


def test_the_same_run_gives_the_same_numbers() -> None:
    kinds = ("values", "formula", "inside")
    assert to_json(record(small, *kinds)) == to_json(record(small, *kinds))


def test_what_has_no_numbers_is_recorded_without() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(3, device="meta", requires_grad=True)
        y = (w * w).sum()
        y.backward()
        return {"y": y}

    (step,) = record(script, "values").steps
    assert [node.op for node in step.graph if node.kind == "operation"] == ["mul", "sum"]
    assert not any(each for node in step.graph if (its := node.measured) for each in (*its.values, *its.gradients))
