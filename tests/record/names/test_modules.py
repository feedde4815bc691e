"""Which module a node ran in, under which path, and what belongs to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from autograph_cli import torch
from autograph_cli.graph import Graph, to_json
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch import nn

Row = tuple[str, str, int | None, int, int]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("mask", torch.ones(2))

    def forward(self, x: Any) -> Any:
        return x + self.inner(x) * self.scale * self.mask * torch.ones(2)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])
        self.shared = nn.Tanh()
        self.loose = [nn.Sigmoid()]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = self.shared(layer(x))
        return self.loose[0](x)


def recorded(run: Any, names: Mapping[str, Any], steps: str = "all") -> list[Graph]:
    recorder = Recorder(steps, "net.py")
    recorder.start()
    try:
        run()
    finally:
        trace = recorder.finish(names)
    return [step.graph for step in trace.steps]


def calls(graph: Graph) -> list[Row]:
    return [(call.path, call.cls, call.parent, call.turn, call.parameters) for call in graph.calls]


def positions(graph: Graph) -> list[tuple[str, int | None]]:
    return [(node.op, node.call) for node in graph if node.kind == "operation"]


def test_each_call_of_a_module_is_kept_with_its_path_class_and_parameters() -> None:
    net, x = Net(), torch.ones(2)
    (graph,) = recorded(lambda: net(x).sum().backward(), {"net": net})
    assert calls(graph) == [
        ("net", "Net", None, 1, 16),
        ("net.layers.0", "Block", 0, 1, 8),
        ("net.layers.0.inner", "Linear", 1, 1, 6),
        ("net.shared", "Tanh", 0, 1, 0),
        ("net.layers.1", "Block", 0, 1, 8),
        ("net.layers.1.inner", "Linear", 4, 1, 6),
        ("net.shared", "Tanh", 0, 2, 0),
        ("net.loose[0]", "Sigmoid", 0, 1, 0),
    ]
    assert [call.turns for call in graph.calls if call.cls == "Tanh"] == [2, 2]
    graph.verify()


def test_a_node_has_the_innermost_call_and_what_runs_outside_has_none() -> None:
    net, x = Net(), torch.ones(2)
    (graph,) = recorded(lambda: net(x).sum().backward(), {"net": net})
    where = {(node.op, node.module, node.call) for node in graph if node.kind == "operation"}
    assert {
        ("tanh", "net.shared", 3),
        ("tanh", "net.shared", 6),
        ("add", "net.layers.0", 1),
        ("sum", "", None),
    } <= where


def test_parameters_and_buffers_belong_to_their_module_and_what_was_made_in_it_to_the_call() -> None:
    net, x = nn.Sequential(Block()), torch.ones(2)
    (graph,) = recorded(lambda: net(x).sum().backward(), {"net": net, "x": x})
    found = {(*node.outputs[0].names[:1], node.module, node.call) for node in graph if node.kind != "operation"}
    assert found == {
        ("net.0.scale", "net.0", None),
        ("net.0.inner.weight", "net.0.inner", None),
        ("net.0.inner.bias", "net.0.inner", None),
        ("net.0.mask", "net.0", None),
        ("net.0", 1),  # the ones
        ("net.0.inner", 2),  # the row that a linear layer makes of a vector
        ("x", "", None),
    }


def test_a_parameter_that_was_met_before_its_module_was_called_belongs_to_it() -> None:
    net, x = nn.Sequential(nn.Linear(2, 1)), torch.ones(3, 2)

    def run() -> None:
        net[0].weight.norm(), net[0].bias.norm()  # as who logs them does
        net(x).sum().backward()

    (graph,) = recorded(run, {"net": net, "x": x})
    assert {node.module for node in graph if node.kind == "leaf"} == {"net.0"}


def test_a_derivative_belongs_to_the_call_of_what_it_is_one_of() -> None:
    net, x = nn.Tanh(), torch.ones(2, requires_grad=True)
    (graph,) = recorded(lambda: torch.autograd.grad(net(x).sum(), x, create_graph=True), {"net": net})
    assert {(node.name, node.module) for node in graph if node.order} >= {("TanhBackwardBackward0", "net")}


def test_a_module_that_no_variable_leads_to_goes_by_its_class() -> None:
    x = torch.ones(2, requires_grad=True)
    (graph,) = recorded(lambda: nn.Sequential(nn.Tanh())(x).sum().backward(), {})
    assert [call.path for call in graph.calls] == ["Sequential", "Sequential.0"]


def test_what_a_method_calls_its_module_is_no_name_of_it() -> None:
    class Scaled(nn.Module):
        def forward(this, x: Any) -> Any:
            return x * 2

    def run(model: Any) -> None:
        model(torch.ones(2, requires_grad=True)).sum().backward()

    (graph,) = recorded(lambda: Scaled()(torch.ones(2, requires_grad=True)).sum().backward(), {})
    assert [call.path for call in graph.calls] == ["Scaled"]
    (graph,) = recorded(lambda: run(Scaled()), {})
    assert [call.path for call in graph.calls] == ["model"]


def test_a_call_that_fails_is_over() -> None:
    x = torch.ones(2, requires_grad=True)
    net = nn.Linear(3, 3)

    def run() -> None:
        try:
            net(x)
        except RuntimeError:
            x.sum().backward()

    (graph,) = recorded(run, {"net": net})
    assert ("sum", None) in positions(graph)


def test_the_last_step_of_a_long_loop_has_calls_of_its_own() -> None:
    net, x = Net(), torch.ones(2)

    def train() -> None:
        for _ in range(20):
            net(x).sum().backward()

    first, last = recorded(train, {"net": net}, "first,last")
    assert calls(first) == calls(last)
    assert positions(first) == positions(last)


def test_a_loop_that_ends_differently_keeps_its_calls_apart() -> None:
    net, x = Net(), torch.ones(2)

    def train() -> None:
        for _ in range(9):
            net(x).sum().backward()
        net(x).mean().backward()

    first, _, last = recorded(train, {"net": net}, "first,last")
    assert calls(first) == calls(last)
    assert [call for _, call in positions(first)] == [call for _, call in positions(last)]


def test_modules_are_found_in_lists_and_in_objects() -> None:
    class Pair:
        def __init__(self) -> None:
            self.net = nn.Tanh()

    pair, nets, x = Pair(), [nn.Sigmoid()], torch.ones(2, requires_grad=True)
    (graph,) = recorded(lambda: nets[0](pair.net(x)).sum().backward(), {"pair": pair, "nets": nets})
    assert [call.path for call in graph.calls] == ["pair.net", "nets[0]"]


def test_what_a_loop_or_a_call_binds_does_not_name_modules_that_a_container_holds() -> None:
    heads, x = [nn.Tanh() for _ in range(3)], torch.ones(2, requires_grad=True)
    body = {"first": nn.Sigmoid()}

    def applied(module: Any, x: Any) -> Any:
        return module(x)

    def run() -> None:
        outs = [h(x) for h in heads]
        for part in body.values():
            outs.append(part(x))
        sum(outs).sum().backward()

    (graph,) = recorded(run, {"heads": heads})
    assert [call.path for call in graph.calls] == ["heads[0]", "heads[1]", "heads[2]", "body['first']"]
    (graph,) = recorded(lambda: sum(applied(h, x) for h in heads).sum().backward(), {"heads": heads})
    assert [call.path for call in graph.calls] == ["heads[0]", "heads[1]", "heads[2]"]


def test_a_module_that_only_a_loop_variable_leads_to_goes_by_that() -> None:
    x = torch.ones(2, requires_grad=True)

    def run() -> None:
        for head in (nn.Tanh() for _ in range(1)):
            head(x).sum().backward()

    (graph,) = recorded(run, {})
    assert [call.path for call in graph.calls] == ["head"]


def test_a_part_that_is_called_by_itself_is_named_by_its_place() -> None:
    net, x = nn.Sequential(nn.Tanh(), nn.Sequential(nn.Sigmoid())), torch.ones(2, requires_grad=True)
    (graph,) = recorded(lambda: net[1][0](x).sum().backward(), {"net": net})
    assert [call.path for call in graph.calls] == ["net.1.0"]


def test_what_is_computed_anew_in_the_backward_pass_ran_in_a_module_too() -> None:
    net, x = nn.Tanh(), torch.ones(2, requires_grad=True)
    checkpoint = torch.utils.checkpoint.checkpoint
    graphs = recorded(lambda: checkpoint(net, x, use_reentrant=False).sum().backward(), {"net": net})
    assert {call.path for graph in graphs for call in graph.calls} <= {"net"}


def test_modules_that_compare_by_value_are_told_apart() -> None:
    class Odd(nn.Module):
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return True

        def forward(self, x: Any) -> Any:
            return x.sin()

    one, two, x = Odd(), Odd(), torch.ones(2, requires_grad=True)
    (graph,) = recorded(lambda: two(one(x)).sum().backward(), {"one": one, "two": two})
    assert [call.path for call in graph.calls] == ["one", "two"]


def test_modules_may_be_nested_deeply() -> None:
    class Nest(nn.Module):
        def __init__(self, inner: nn.Module | None) -> None:
            super().__init__()
            self.inner, self.w = inner, nn.Parameter(torch.ones(1))

        def forward(self, x: Any) -> Any:
            return (x if self.inner is None else self.inner(x)) * self.w

    depth, net = 240, None  # a few more is more than Python 3.12 allows, with a recorder or without
    for _ in range(depth):
        net = Nest(net)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * depth + limit)
    try:
        recorder = Recorder("all")
        recorder.start()
        assert net is not None
        net(torch.ones(1)).sum().backward()
        (graph,) = [step.graph for step in recorder.finish({"net": net}).steps]
    finally:
        sys.setrecursionlimit(limit)
    found = calls(graph)
    assert [path for path, *_ in found] == ["net" + ".inner" * position for position in range(depth)]
    assert [parameters for *_, parameters in found] == list(range(depth, 0, -1))
    assert len({id(call.about.tree) for event in recorder.log.known.values() if (call := event.call)}) == 1


class Box(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def calls_for(depth: int) -> int:
    """Return how many functions are called to run, record and write modules that are so deep in one another."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    model: nn.Module = nn.Linear(2, 2)
    for _ in range(depth):
        model = Box(model)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 10 * depth)
    sys.setprofile(note)
    try:
        recorder = Recorder()
        recorder.start()
        model(torch.ones(2)).sum().backward()
        assert len(list(model.named_modules())) == depth + 1
        text = to_json(recorder.finish(locals()))
    finally:
        sys.setprofile(None)
        sys.setrecursionlimit(limit)
    assert text.count('"parameters": 6') == depth + 1
    return count


def test_work_grows_with_the_depth_of_modules_and_no_faster() -> None:
    calls_for(10)  # what is imported and made once
    counts = [calls_for(depth) for depth in (100, 200, 400)]
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])
