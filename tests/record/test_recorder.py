"""What the recorder writes down, and that it leaves the script alone."""

from __future__ import annotations

import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Graph, Step, Trace, tracked
from autograph_cli.record.graphs import derive as derivations
from autograph_cli.record.graphs.derive import derive
from autograph_cli.record.log import forgetting
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner
from tests import inside
from tests.record.recording import record


def only(trace: Trace) -> Graph:
    (step,) = trace.steps
    return step.graph


def orders(graph: Graph) -> dict[str, int]:
    """The order of every operation that a variable names."""
    return {name: node.order for node in graph for name in node.outputs[0].names if node.kind == "operation"}


# ---------------------------------------------------------------- nodes


def test_a_node_knows_its_operation_types_edges_and_line() -> None:
    def script() -> dict[str, Any]:
        x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, dtype=torch.float64)
        y = x * w
        return {"x": x, "w": w, "y": y}

    x, w, y = only(record(script))
    assert (x.kind, x.name, str(x.outputs[0].type)) == ("leaf", "AccumulateGrad", "float32[2, 3]")
    assert (w.kind, w.name, str(w.outputs[0].type)) == ("input", "Input", "float64[3]")
    assert (y.kind, y.name, y.op, str(y.outputs[0].type)) == ("operation", "MulBackward0", "mul", "float64[2, 3]")
    assert [None if edge is None else edge.node for edge in y.next] == [x.id, None]
    assert [edge.node for edge in y.args] == [x.id, w.id]
    assert y.source is not None
    assert (y.source.text, y.source.function.rpartition(".")[2]) == ("y = x * w", "script")
    assert [(kept.name, str(kept.type), kept.bytes) for kept in y.saved] == [("_saved_other", "float64[3]", 24)]


def test_constants_are_kept_of_nodes_whose_graph_is_freed_before_the_backward_call() -> None:
    def script() -> dict[str, Any]:
        x = torch.arange(6.0, requires_grad=True).reshape(3, 2)
        cut = torch.nn.functional.batch_norm(x, None, None, training=True, eps=0.5).detach()
        y = (x * cut).sum()
        y.backward()
        return {"x": x, "y": y}

    (node,) = (node for node in only(record(script)) if node.op == "native_batch_norm")
    constants = {kept.name: kept.value for kept in node.saved if kept.type is None}
    assert constants == {"_saved_eps": "0.5", "_saved_training": "True"}
    assert not [kept for kept in node.saved if kept.type is not None]


def test_saved_tensors_that_share_memory_have_one_storage() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(4, requires_grad=True)
        y = x.exp()
        z = y * y[1:2]
        return {"z": z}

    saved = {node.op: [kept.storage for kept in node.saved if kept.type] for node in only(record(script))}
    assert saved["mul"] == [saved["exp"][0]] * 2


@pytest.mark.parametrize(
    ("change", "op", "of"),
    [
        (lambda h: h.mul_(2), "mul_", "mul"),
        (lambda h: h.add_(torch.ones(3)), "add_", "mul"),
        (lambda h: h[1:].mul_(2), "mul_", "slice"),
    ],
)
def test_a_change_in_place_is_an_operation_on_what_was_there(change: Callable[[Any], Any], op: str, of: str) -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        change(h)
        return {"x": x, "h": h}

    graph = only(record(script))
    changed = next(node for node in graph if node.op == op)
    assert graph[changed.args[0].node].op == of
    assert graph.roots[0].node == changed.id


def test_a_leaf_is_one_node_however_often_its_graph_is_made_anew() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        del y
        z = x * 3
        return {"x": x, "z": z}

    assert [node.kind for node in only(record(script))].count("leaf") == 1


# ---------------------------------------------------------------- orders, parents, passes


def test_the_second_derivative_of_exp_has_order_2_though_its_pass_runs_the_order_0_node_again() -> None:
    def script() -> dict[str, Any]:
        x = torch.tensor(1.0, requires_grad=True)
        y = x.exp()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first, x, create_graph=True)
        return {"x": x, "y": y, "first": first, "second": second}

    graph = only(record(script))
    assert orders(graph) == {"y": 0, "first": 1, "second": 2}
    y, second = graph[graph.roots[0].node], graph[graph.roots[2].node]
    assert second.parent == y.id
    assert [entry.order for entry in graph.passes] == [1, 2]


def test_what_the_script_computes_from_a_gradient_has_order_0_and_no_parent() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        y = (x**3).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        penalty = slope.pow(2).sum()
        return {"slope": slope, "penalty": penalty}

    graph = only(record(script))
    found = orders(graph)
    assert (found["slope"], found["penalty"]) == (1, 0)
    assert graph[graph.roots[1].node].parent is None


def test_every_derivative_has_the_node_that_it_differentiates_as_its_parent() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        (slope,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        return {"slope": slope}

    graph = only(record(script))
    parents = {graph[node.parent].op for node in graph if node.order == 1 and node.parent is not None}
    assert parents == {"sin", "mul"}
    assert all(node.parent is not None and node.parent in graph.passes[0].ran for node in graph if node.order == 1)


# ---------------------------------------------------------------- the script is left alone

SCRIPT = """
import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
for step in range(3):
    h = torch.tanh(w * torch.rand(3))
    h.retain_grad()
    h.register_hook(lambda g: print("hook", g))
    loss = h.pow(2).sum()
    loss.backward()
    print(loss, w.grad, h.grad, h.grad_fn.next_functions[0][1])
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
print(torch.rand(2))
"""


@pytest.mark.parametrize("steps", ["first,last", "all", "1:"])
def test_recording_changes_nothing_that_a_script_prints(
    steps: str, tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    start = "from autograph_cli.record.run import runner; target = runner.Target.of('script.py'); runner"
    plain = python("-c", f"{start}.run(target)")
    recorded = python("-c", f"{start}.record(target, {steps!r})")
    assert plain.stdout.count("hook") == 3
    assert (plain.returncode, plain.stdout, plain.stderr) == (recorded.returncode, recorded.stdout, recorded.stderr)


def test_no_tensor_and_no_node_is_kept_alive() -> None:
    recorder = Recorder("all")
    recorder.start()
    x = torch.ones(3, requires_grad=True)
    data = torch.ones(3)
    y = x * data
    y.sum().backward(retain_graph=True)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    references = [weakref.ref(thing) for thing in (x, data, y, y.grad_fn, g, g.grad_fn)]
    del x, data, y, g
    alive = [reference() for reference in references]
    recorder.finish({})
    assert alive == [None] * len(references)


@pytest.mark.parametrize("alike", [True, False])
def test_many_small_steps_take_constant_memory(alike: bool) -> None:
    recorder = Recorder()
    recorder.start()
    w, data = torch.ones(3, requires_grad=True), torch.ones(30)

    def run(count: int) -> int:
        for i in range(count):
            x = data[3:6].view(3, 1)
            y = w @ x if alike or i % 2 else (w @ x).exp()
            y.sum().backward()
            w.grad = None
        held = (recorder.log.known, recorder.log.names, recorder.log.borrowed, recorder.log.saved)
        return sum(map(len, held))

    most = run(1_000)
    assert run(3_000) <= most + forgetting.BATCH
    assert len(recorder.log.tensors) <= forgetting.LIMIT  # by id: how many depends on which ids Python gives again
    trace = recorder.finish({"w": w, "data": data})
    assert trace.total_steps == 4_000


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_step_that_never_ends_takes_constant_memory(create_graph: bool) -> None:
    recorder = Recorder()
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    for _ in range(6_000):
        torch.autograd.grad(loss, w, retain_graph=True, create_graph=create_graph)
    assert len(recorder.log.known) <= forgetting.LIMIT + 1
    assert len(recorder.log.step.passes) <= forgetting.LIMIT
    trace = recorder.finish({"loss": loss})
    assert trace.total_steps == 1
    only(trace).verify()


def test_a_sweep_keeps_what_living_nodes_hang_on() -> None:
    recorder = Recorder()
    recorder.start()
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    temporary = x * 2
    del temporary
    forgetting.sweep(recorder.log)
    trace = recorder.finish({"x": x, "y": y, "g": g})
    assert [(node.op or node.kind, node.order) for node in only(trace)] == [
        ("leaf", 0),
        ("exp", 0),
        ("input", 0),
        ("mul", 1),
    ]


# ---------------------------------------------------------------- derived double backward


def cube(hook: bool = False) -> dict[str, Any]:
    x = torch.ones(3, requires_grad=True)
    h = x**3
    if hook:
        h.register_hook(lambda grad: pytest.fail("the hook of the script ran once more"))
    loss = h.sum()
    return {"x": x, "h": h, "loss": loss}


def derived(trace: Trace) -> Step:
    (step,) = trace.steps
    assert all(node.order == 0 for node in step.graph)
    return step


def test_a_double_backward_graph_is_made_where_the_script_made_none() -> None:
    step = derived(record(cube))
    assert step.derived.startswith("made by autograph from `loss` and its leaves")
    assert step.double is not None
    assert {node.op for node in step.double if node.order == 1} >= {"mul", "pow"}
    assert step.double.roots[-1].name == "x.grad"


def test_hooks_of_the_script_do_not_run_for_it() -> None:
    assert derived(record(lambda: cube(hook=True))).double is not None


def test_it_is_made_before_a_freeing_pass_and_leaves_no_mark() -> None:
    def script() -> dict[str, Any]:
        scope = cube()
        scope["loss"].backward()
        assert torch.equal(scope["x"].grad, torch.full((3,), 3.0))
        return scope

    trace = record(script)
    step = derived(trace)
    assert (trace.total_steps, len(step.graph.passes)) == (1, 1)
    assert step.double is not None


def test_it_is_not_made_where_the_script_made_one() -> None:
    def script() -> dict[str, Any]:
        scope = cube()
        (g,) = torch.autograd.grad(scope["loss"], scope["x"], create_graph=True)
        return {**scope, "g": g}

    (step,) = record(script).steps
    assert (step.double, step.derived) == (None, "")


def test_the_order_above_is_made_where_products_with_it_keep_the_graph() -> None:
    def script() -> dict[str, Any]:
        scope = cube()
        (g,) = torch.autograd.grad(scope["loss"], scope["x"], create_graph=True)
        rows = [torch.autograd.grad(g, scope["x"], v, retain_graph=True)[0] for v in torch.eye(len(g))]
        with torch.no_grad():
            scope["x"].sub_(torch.stack(rows).sum(0))
        return {**scope, "g": g}

    (step,) = record(script).steps
    assert step.derived.endswith("the script itself kept no graph of order 2")
    assert step.double is not None and max(node.order for node in step.double) == 2


def test_the_order_above_is_made_where_a_derivative_is_differentiated_and_no_graph_kept() -> None:
    def script(last: bool) -> dict[str, Any]:
        scope = cube()
        (g,) = torch.autograd.grad(scope["loss"], scope["x"], create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), scope["x"], create_graph=not last)
        return {**scope, "g": g, "h": h}

    step = record(lambda: script(True)).steps[-1]
    assert step.derived.endswith("the script itself kept no graph of order 2")
    assert step.double is not None and {node.order for node in step.double} == {0, 1, 2}
    (own,) = record(lambda: script(False)).steps
    assert (own.double, own.derived) == (None, "")


@pytest.mark.parametrize(
    ("root", "orders"),
    [
        (lambda x, y, g: g[0], {0, 1, 2}),
        (lambda x, y, g: g.sum(), {0, 1, 2}),
        (lambda x, y, g: torch.dot(g.clone(), torch.tensor([1.0, 2.0])), {0, 1, 2}),
        (lambda x, y, g: torch.stack([2 * g[0], -g[1]]).mean(), {0, 1, 2}),
        (lambda x, y, g: (g * g).sum(), {0, 1}),
        (lambda x, y, g: y + g.sum(), {0, 1}),
        (lambda x, y, g: (g * x).sum(), {0, 1}),
    ],
    ids=["part", "sum", "product", "several", "penalty", "loss", "times a leaf"],
)
def test_the_order_above_is_made_where_a_derivative_alone_is_sent_backward(
    root: Callable[..., torch.Tensor], orders: set[int]
) -> None:
    def script() -> dict[str, Any]:
        x = torch.tensor([2.0, 1.0], requires_grad=True)
        y = (x**4).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        root(x, y, g).backward()
        return {"x": x, "y": y, "g": g}

    trace = record(script)
    step = trace.steps[-1]
    assert trace.differentiated_again(step) is step
    assert {node.order for node in step.double or step.graph} == orders
    assert step.derived.endswith("the script itself kept no graph of order 2") == (2 in orders)


def test_it_is_not_made_of_gradients_without_a_graph() -> None:
    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        return {"x": x, "y": (x * 2).sum()}

    step = derived(record(script))
    assert step.double is None
    assert step.derived == "not made: the gradients of `y` are constants, with no graph of their own"


def test_a_custom_function_runs_twice_only_if_asked() -> None:
    calls = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            print("backward")
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        loss = Square.apply(x).sum()
        loss.backward()
        return {"x": x, "loss": loss}

    step = derived(record(script))
    assert (step.double, len(calls)) == (None, 1)
    assert step.derived == "not made: the graph contains the custom Function Square, whose code would run twice"
    assert derived(record(script, derive=True)).double is not None
    assert len(calls) == 3


def test_a_backward_that_leaves_no_graph_where_one_was_asked_for_is_told() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = x.detach()
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2 * ctx.x

    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        loss = Square.apply(x).sum()
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        return {"x": x, "loss": loss, "g": g}

    told = derived(record(script)).derived
    assert told.startswith("`grad` with create_graph=True (") and told.endswith(
        "recorded nothing: its gradients are constants, cut from the leaves"
    )


def test_code_of_the_script_that_runs_for_it_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Loud(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            print("loud")
            raise ValueError("no")

    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        return {"x": x, "y": Loud.apply(x)}

    step = derived(record(script, derive=True))
    assert capsys.readouterr().out == ""
    assert step.derived.endswith("failed with ValueError: no")


@pytest.mark.parametrize("steps", ["all", "2:", "3", "first,last", "last"])
def test_every_step_that_is_kept_has_one(steps: str) -> None:
    def script(end: int = 3) -> dict[str, Any]:
        for size in (3, 3, 3, 3, end):
            x = torch.ones(size, requires_grad=True)
            loss = (x * x * x).sum()
            loss.backward()
        return {}

    for end in (3, 4):
        for step in record(lambda end=end: script(end), steps).steps:
            assert step.double is not None
            own, graph = (
                [node for node in each if node.is_operation and not node.order] for each in (step.double, step.graph)
            )
            assert [node.outputs[0].type for node in own] == [node.outputs[0].type for node in graph]
            assert max(node.order for node in step.double) == 1


@pytest.mark.parametrize("large", [derivations.LARGE, 1])
def test_equal_steps_are_differentiated_once(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivations, "LARGE", large)  # from there on by a hash
    made = []
    monkeypatch.setattr(derivations, "derive", lambda *args, **kwargs: made.append(0) or derive(*args, **kwargs))

    def script() -> dict[str, Any]:
        x = torch.ones(3, requires_grad=True)
        for power in (2, 2, 2, 3, 2, 3, 2):
            loss = (x**power).sum()
            loss.backward()
        return {}

    record(script, "all")
    assert len(made) == 2


def test_a_node_of_another_engine_is_none_of_this_one() -> None:
    assert Recorder().log.engine.told_number(object()) is None


# ---------------------------------------------------------------- the observer's slot


def test_the_slot_is_empty_before_and_after() -> None:
    assert inside.observer() is None
    record(cube)
    assert inside.observer() is None


SAMPLES = Path(__file__).parent.parent.parent / "samples"


@pytest.mark.parametrize(("name", "made"), [("first.py", True), ("penalty.py", False)])
def test_a_sample_with_a_double_backward_of_its_own_gets_no_other(name: str, made: bool) -> None:
    _, trace = runner.record(runner.Target.of(str(SAMPLES / name)))
    (step,) = trace.steps
    assert (step.double is not None, step.derived.startswith("made by autograph")) == (made, made)
    assert any(node.order == 1 for node in step.double or step.graph)


# ---------------------------------------------------------------- what autograd does not record


def test_operations_without_gradient_stand_between_what_they_were_given_and_who_uses_them() -> None:
    def script() -> dict[str, Any]:
        x, w = torch.ones(4, 3), torch.ones(3, 2, requires_grad=True)
        mask = (x > 0).float()
        h = (x * mask) @ w
        target = h.detach() * 2
        with torch.no_grad():
            scale = h.mean()
        noise = torch.zeros_like(h)
        noise.add_(1)
        top, where = x.topk(2)
        loss = ((h - target) * scale + noise + top[:, where[0]]).sum()
        loss.backward()
        return {"x": x, "w": w, "h": h, "target": target, "noise": noise, "loss": loss}

    graph = only(record(script))
    untracked = {
        node.op: [graph[edge.node].op or graph[edge.node].kind for edge in node.args]
        for node in graph
        if node.kind == "untracked"
    }
    assert untracked == {
        "gt": ["input"],
        "_to_copy": ["gt"],
        "mul": ["detach"],
        "detach": ["mm"],
        "mean": ["mm"],
        "zeros_like": [],
        "add_": ["zeros_like"],
        "topk": ["input"],
        "select": ["topk"],
        "index": ["topk", "select"],
    }
    assert all(node.name == "" and node.next == () for node in graph if node.kind == "untracked")


def test_a_step_does_not_hang_on_untracked_operations_of_the_one_before() -> None:
    def script() -> dict[str, Any]:
        w, average = torch.ones(2, requires_grad=True), torch.zeros(2)
        for _ in range(5):
            loss = (w * average).sum()
            loss.backward()
            average = 0.9 * average + 0.1 * w.grad
        return {"w": w, "average": average, "loss": loss}

    for step in record(script).steps:
        assert [node.kind for node in step.graph].count("untracked") <= 3  # two products and their sum
        assert len(step.graph) <= 8


def test_a_leaf_that_is_met_without_gradient_first_is_one_node() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(2, requires_grad=True)
        y = (w > 0).float() * w
        y.sum().backward()
        return {"w": w, "y": y}

    graph = only(record(script))
    assert [node.kind for node in graph] == ["leaf", "untracked", "untracked", "operation", "operation"]


@pytest.mark.parametrize(
    "made", [lambda x: x.detach(), lambda x: x > 0, lambda x: x.view(2, 1).detach(), lambda x: torch.no_grad()(abs)(x)]
)
def test_a_leaf_that_no_gradient_goes_to_is_a_leaf(made: Callable[[Any], Any]) -> None:
    def script() -> dict[str, Any]:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = made(x) * w
        y.sum().backward()
        return {"x": x, "w": w, "y": y}

    graph = only(record(script))
    leaves = [(node.outputs[0].names, node.name) for node in graph if node.kind == "leaf"]
    assert sorted(leaves) == [(("w",), "AccumulateGrad"), (("x",), "AccumulateGrad")]
    recorded = [node.outputs[0].names for node in tracked(graph) if node.kind == "leaf"]
    assert recorded == [("x",), ("w",)] if any(node.op == "view" for node in graph) else [("w",)]


def test_a_change_of_a_view_has_the_number_that_it_was_given() -> None:
    def script() -> dict[str, Any]:
        w = torch.ones(3, requires_grad=True)
        y = w * 1
        y[0].mul_(4)
        y.add_(2)
        return {"y": y}

    given = {node.op: dict(node.constants).get("other") for node in only(record(script))}
    assert (given["mul_"], given["add_"]) == ("4", "2")


def test_an_output_that_was_not_asked_for_is_no_change_in_place() -> None:
    def script() -> dict[str, Any]:
        weight = torch.ones(2, 1, 3, 3, requires_grad=True)
        loss = torch.conv2d(torch.ones(1, 1, 5, 5), weight).pow(2).sum()
        [slope] = torch.autograd.grad(loss, weight, create_graph=True)
        return {"slope": slope}

    graph = only(record(script))
    assert [node.op for node in graph if node.op.startswith("convolution_")] == ["convolution_backward"]


def test_a_backward_call_that_the_script_did_not_ask_for_is_told_apart_from_those_of_earlier_steps() -> None:
    def script() -> dict[str, Any]:
        w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((v.exp() * w).sum(), w, create_graph=True)
        torch.autograd.grad((g.sin() * w).sum(), w)
        loss = g.sum() + (w * w).sum()
        loss.backward()
        return {"w": w, "v": v, "g": g, "loss": loss}

    graph = record(script, "1,2").steps[-1].double
    assert graph is not None
    made = [node for node in graph if node.pass_id is not None]
    assert made and all(graph.passes[node.pass_id].order == node.order for node in made)
