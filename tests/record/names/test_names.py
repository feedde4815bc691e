"""Which variables name what: globals and locals, containers, attributes, and lines of functions that returned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Edge, Graph
from autograph_cli.record.names.variables import tensors_in, variables_of
from autograph_cli.record.recorder import Recorder


class Bag:
    """A plain object of the user's."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def graph_of(scope: dict[str, Any], recorder: Recorder) -> Graph:
    return recorder.finish(scope).steps[-1].graph


def named(graph: Graph) -> list[tuple[str, tuple[str, ...]]]:
    return [(node.op or node.kind, node.outputs[0].names) for node in graph]


@pytest.fixture
def recorder() -> Any:
    recorder = Recorder("all")
    recorder.start()
    yield recorder
    recorder.finish({})


one = torch.ones(1)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (one, ["v"]),
        (Bag(model=torch.nn.Linear(1, 1)), ["v.model.weight", "v.model.bias"]),
        ([one, 3, (one, one)], ["v[0]", "v[2][0]", "v[2][1]"]),
        ({"w": one, 7: [one]}, ["v['w']", "v[7][0]"]),
        ([[[one]]], []),
        (Bag(w=one, layers=[one], _hidden=one, other=Bag(w=one)), ["v.w", "v.layers[0]"]),
        ([Bag(w=one)], ["v[0].w"]),
        ("text", []),
        (torch, []),
    ],
)
def test_tensors_are_found_in_containers_and_objects(value: Any, paths: list[str]) -> None:
    assert [path for path, _ in tensors_in("v", value, cls=torch.Tensor)] == paths


def test_the_variable_that_was_bound_first_comes_first(recorder: Recorder) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    graph = graph_of({"x": x, "y": y, "alias": y, "params": [x]}, recorder)
    assert named(graph) == [("leaf", ("x", "params[0]")), ("mul", ("y", "alias"))]
    assert [root.name for root in graph.roots] == ["y", "alias"]


def test_inputs_without_gradient_have_names(recorder: Recorder) -> None:
    x, data = torch.ones(2, requires_grad=True), torch.ones(2)
    y = x * data
    assert ("input", ("data",)) in named(graph_of({"data": data, "x": x, "y": y}, recorder))


def test_a_number_is_no_input(recorder: Recorder) -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 3 + 0.5) / True
    assert [node.kind for node in graph_of({"x": x, "y": y}, recorder)] == ["leaf"] + ["operation"] * 3


def test_variables_of_running_functions_are_found_at_a_backward_call(recorder: Recorder) -> None:
    def train(weight: torch.Tensor) -> None:
        prediction = weight.exp()
        error = prediction.sum()
        error.backward()

    outer = torch.ones(2, requires_grad=True)
    train(outer)
    graph = recorder.trace().steps[0].graph
    assert named(graph) == [("leaf", ("outer", "weight")), ("exp", ("prediction",)), ("sum", ("error",))]
    assert [root.name for root in graph.roots] == ["error", "prediction"]


def test_lines_name_what_functions_that_returned_computed(recorder: Recorder) -> None:
    def sinh(value: torch.Tensor) -> torch.Tensor:
        up, down = value.exp(), (-value).exp()
        half = up * 0.5
        half -= down / 2
        return half

    x = torch.ones(2, requires_grad=True)
    graph = graph_of({"x": x, "y": sinh(x).sum()}, recorder)
    assert named(graph) == [
        ("leaf", ("x",)),
        ("exp", ("up",)),
        ("neg", ()),
        ("exp", ("down",)),
        ("mul", ("half",)),
        ("div", ()),
        ("sub_", ("half",)),
        ("sum", ("y",)),
    ]


def test_a_line_that_asks_for_a_gradient_does_not_name_what_it_came_from(recorder: Recorder) -> None:
    x = torch.ones(2, requires_grad=True)
    slopes = torch.func.vmap(torch.func.grad(lambda p, t: p["x"].sum() * t), in_dims=(None, 0))({"x": x}, torch.ones(3))
    graph = graph_of({"x": x, "y": slopes["x"].exp()}, recorder)
    assert not any("slopes" in names for _, names in named(graph))


def test_a_line_names_a_hessian_that_it_computes(recorder: Recorder) -> None:
    def second(value: torch.Tensor) -> torch.Tensor:
        matrix = torch.func.hessian(lambda t: (t**3).sum())(value)
        return matrix.sum()

    x = torch.ones(2, requires_grad=True)
    assert [op for op, names in named(graph_of({"x": x, "y": second(x)}, recorder)) if "matrix" in names] == ["view"]


def test_several_outputs_have_names_of_their_own(recorder: Recorder) -> None:
    def parts(value: torch.Tensor) -> torch.Tensor:
        low, high = value.split(2)
        return low * high

    x = torch.ones(4, requires_grad=True)
    graph = graph_of({"x": x, "y": parts(x)}, recorder)
    assert [output.names for output in graph[1].outputs] == [("low",), ("high",)]


def test_roots_of_one_name_are_told_apart(recorder: Recorder) -> None:
    def inner(x: torch.Tensor) -> None:
        y = x * 2
        y.sum().backward()

    y = torch.ones(2, requires_grad=True).exp()
    inner(y)
    assert [root.name for root in recorder.trace().steps[0].graph.roots] == ["SumBackward0", "y", "x", "y~2"]


def test_looking_at_a_function_s_variables_keeps_none_of_them_alive() -> None:
    import weakref

    def function() -> Any:
        tensor = torch.ones(2)
        assert variables_of(sys._getframe())["tensor"] is tensor
        reference = weakref.ref(tensor)
        del tensor
        return reference()

    assert function() is None


def test_a_dict_of_locals_that_the_script_holds_stays_as_it_is() -> None:
    value = 3
    mine = locals()
    assert variables_of(sys._getframe())["value"] == value
    assert mine["value"] == 3


def test_a_view_of_an_input_stands_between_the_input_and_its_user(recorder: Recorder) -> None:
    x, w = torch.ones(3), torch.ones(3, 2, requires_grad=True)
    y = x.unsqueeze(0) @ w
    graph = graph_of({"x": x, "w": w, "y": y}, recorder)
    source, view = (node for node in graph if node.kind in ("input", "untracked"))
    assert (source.outputs[0].names, source.outputs[0].type.shape) == (("x",), (3,))
    assert (view.op, view.outputs[0].type.shape, view.args) == ("unsqueeze", (1, 3), (Edge(source.id),))


def test_a_leaf_whose_variable_is_bound_again_keeps_its_name(recorder: Recorder) -> None:
    def run() -> Any:
        h = torch.ones(3, requires_grad=True)
        h = h.sin()
        return h.exp()

    run().sum().backward()
    (leaf,) = (node for node in graph_of({}, recorder) if node.kind == "leaf")
    assert leaf.outputs[0].names == ("h",)


def test_a_leaf_that_has_a_variable_still_goes_by_that_alone(recorder: Recorder) -> None:
    def double(z: Any) -> Any:
        return z * 2

    w = torch.ones(3, requires_grad=True)
    double(w).sum().backward()
    (leaf,) = (node for node in graph_of({"w": w}, recorder) if node.kind == "leaf")
    assert leaf.outputs[0].names == ("w",)


def test_a_view_with_a_variable_of_its_own_keeps_that(recorder: Recorder) -> None:
    x, w = torch.ones(3), torch.ones(3, 2, requires_grad=True)
    row = x.view(1, 3)
    graph = graph_of({"x": x, "w": w, "row": row, "y": row @ w}, recorder)
    assert [node.outputs[0].names for node in graph if node.kind == "untracked"] == [("row",)]


@pytest.mark.parametrize("computed", [False, True])
def test_a_later_step_has_what_its_views_were_taken_of(recorder: Recorder, computed: bool) -> None:
    sequence, w = torch.ones(2, 3), torch.ones(3, requires_grad=True)
    if computed:
        sequence = sequence * 2
    for _ in range(3):
        loss = (sequence[0] * w).sum() + (sequence[1] * w).sum()
        loss.backward()
    *_, last = recorder.finish({"sequence": sequence, "w": w, "loss": loss}).steps
    inputs = [(node.outputs[0].names, node.outputs[0].type.shape) for node in last.graph if node.kind == "input"]
    assert inputs == [(("sequence",), (2, 3))]
    assert [node.op for node in last.graph if node.kind == "untracked"] == ["select", "select"]


@pytest.mark.parametrize("held", [list, tuple, lambda its: dict(enumerate(its))], ids=["list", "tuple", "dict"])
def test_memories_of_an_earlier_step_have_the_names_under_which_they_were_given(
    recorder: Recorder, held: Callable[[list[Any]], Any]
) -> None:
    w, mems = torch.ones(3, requires_grad=True), held([torch.zeros(3), torch.zeros(3)])

    def forward(mems: Any) -> tuple[Any, Any]:
        h, new = w * 2, []
        for number in range(2):
            new.append(h.detach())
            h = torch.tanh(h + mems[number])
        return h, held(new)

    for _ in range(3):
        h, mems = forward(mems)
        h.sum().backward()
    *_, last = recorder.finish({"w": w, "mems": mems}).steps
    named = [node.outputs[0].names for node in last.graph if node.kind == "input"]
    assert named == [("mems[0]",), ("mems[1]",)]


def test_what_a_function_is_differentiated_by_has_the_name_of_its_argument() -> None:
    recorder = Recorder("all", "f.py")
    recorder.start()

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * x

    torch.func.grad(lambda x: torch.func.vmap(f)(x).sum())(torch.ones(4))
    torch.func.vmap(torch.func.grad(f))(torch.ones(4))
    steps = recorder.finish({}).steps
    operations = [[node.op for node in step.graph if node.kind == "operation" and not node.order] for step in steps]
    assert operations == [["sin", "mul", "sum"], ["sin", "mul"]]
    names = [[node.outputs[0].names for node in step.graph if node.kind == "leaf"] for step in steps]
    assert names == [[("x",)], [("x",)]]
