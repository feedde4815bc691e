"""What ran inside of parts that `torch.compile` compiled: the graphs of AOTAutograd, read as PyTorch writes them."""

from __future__ import annotations

import collections
import importlib.util
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.graph import Graph, open_node, verify

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)
torch: Any = importlib.import_module("torch")
from autograph_cli.engines.pytorch import compiled, private_compiler  # noqa: E402

FORWARD = """
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[2, 3][3, 1]cpu",
        primals_2: "Sym(s7)",
        primals_3: "bf16[s7, 3][3, 1]cuda:0",
    ):
         # File: /home/script.py:4 in forward, code: y = x.topk(2)
        topk = torch.ops.aten.topk.default(primals_1, primals_2);  primals_1 = None
        getitem_1: "i64[2, 2]cpu" = topk[1];  topk = None
        mul_2: "Sym(2*s7)" = primals_2 * 2

        # No stacktrace found for following nodes
        _tensor_constant0: "f64[]cpu" = self._tensor_constant0
        view: "i64[4]cpu" = torch.ops.aten.view.default(getitem_1, [mul_2, -1])
        cond = torch.ops.higher_order.cond(view, self.true_graph_0, (_tensor_constant0,))
        return (view, cond, primals_3, getitem_1)
"""
BACKWARD = """
class <lambda>(torch.nn.Module):
    def forward(self, primals_3: "bf16[s7, 3]cuda:0", getitem_1: "i64[2, 2]cpu", tangents_1: "f32[4]cpu"):
        view: "f32[2, 3]cpu" = torch.ops.aten.view.default(tangents_1, [2, 3])
        mul: "bf16[s7, 3]cuda:0" = torch.ops.aten.mul.Tensor(primals_3, getitem_1)
        return (view, None, mul)
"""

Operations = collections.Counter[str]


def test_texts_are_read_as_one_graph() -> None:
    graph = compiled.read(FORWARD, BACKWARD)
    verify(graph)
    rows = [
        (node.kind, node.op, [str(x.type) for x in node.outputs], [(x.node, x.nr) for x in node.args], node.order)
        for node in graph
    ]
    assert rows == [
        ("input", "", ["float32[2, 3]"], [], 0),
        ("input", "", ["bfloat16[-1, 3]@cuda:0"], [], 0),
        ("operation", "topk", ["untold[]", "int64[2, 2]"], [(0, 0)], 0),
        ("input", "", ["float64[]"], [], 0),
        ("operation", "view", ["int64[4]"], [(2, 1)], 0),
        ("operation", "cond", ["untold[]"], [(4, 0), (3, 0)], 0),
        ("input", "", ["float32[4]"], [], 0),
        ("operation", "view", ["float32[2, 3]"], [(6, 0)], 1),
        ("operation", "mul", ["bfloat16[-1, 3]@cuda:0"], [(1, 0), (2, 1)], 1),
    ]
    assert [node.outputs[0].names for node in graph if node.kind == "input"] == [
        ("args[0]",), ("args[1]",), ("_tensor_constant0",), ("tangents_1",),
    ]  # fmt: skip
    assert [(root.name, root.node) for root in graph.roots] == [
        ("results[0]", 4), ("results[1]", 5), ("grad_args[0]", 7), ("grad_args[1]", 8),
    ]  # fmt: skip
    topk, view = graph.nodes[2], graph.nodes[4]
    assert topk.source and (topk.source.file, topk.source.line, topk.source.text) == (
        "/home/script.py", 4, "y = x.topk(2)",
    )  # fmt: skip
    assert topk.measured and topk.measured.formula == ("k = s7",)
    assert view.source is None and view.measured and view.measured.formula == ("size = [2*s7, -1]",)


def _mlp(x: Any, w: Any) -> Any:
    return torch.relu(x @ w).square().mean()


def _several(x: Any, w: Any) -> Any:
    high, low = (x @ w).chunk(2, 1)
    return torch.cat([high.sin(), low.topk(1, 1)[0]], 1).sum(), high * 3


def _written(x: Any, w: Any) -> Any:
    w.detach().add_(1)
    return torch.nn.functional.dropout(torch.softmax(x * w[0, 0], 0), 0.5).view(-1)


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("function", [_mlp, _several, _written])
@pytest.mark.parametrize("dynamic", [False, True])
def test_operations_are_those_that_a_backend_is_given(function: Any, dynamic: bool) -> None:
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    import autograph_cli

    given: list[Operations] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        names = (node.target for node in graph.graph.nodes if node.op == "call_function")
        given.append(collections.Counter(str(name) for name in names if hasattr(name, "_schema")))
        given[-1].pop("aten.sym_size.int", None)  # a size is no tensor
        return make_boxed_func(graph)

    def run(compile_with: Any) -> Any:
        torch.manual_seed(0)
        x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
        results = torch.compile(function, backend=compile_with, dynamic=dynamic)(x, w)
        sum(y.sum() for y in (results if isinstance(results, tuple) else (results,))).backward()
        return x.grad

    plain = run(
        aot_autograd(
            fw_compiler=backend, partition_fn=min_cut_rematerialization_partition, keep_inference_input_mutations=True
        )
    )
    torch._dynamo.reset()
    with autograph_cli.record(record=["inside"]) as trace:
        recorded = run("aot_eager")
    assert torch.equal(plain, recorded)
    graph = trace.trace.steps[0].graph
    assert [node.name for node in graph if node.is_custom] == ["CompiledFunctionBackward"]
    inside, words = open_node(graph, "CompiledFunctionBackward")
    verify(inside)
    assert words == "inside CompiledFunctionBackward: its forward, and its backward (order 1), as they were compiled"
    assert _counted(inside, 0) + _counted(inside, 1) == sum(given, collections.Counter())
    assert {"x", "w"} <= {name for node in inside if node.kind == "input" for name in node.outputs[0].names}
    assert "grad_x" in [root.name for root in inside.roots]
    sources = {node.source.file for node in inside if node.source}
    assert not sources or sources == {"test_compiled.py"}


def _counted(graph: Graph, order: int) -> Operations:
    return collections.Counter(node.name for node in graph if node.kind == "operation" and node.order == order)


def test_operations_on_functions_run_as_they_do() -> None:
    import autograph_cli

    with autograph_cli.record() as trace:
        x = torch.tensor([0.5], requires_grad=True)
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        y.sum().backward()
    assert torch.equal(x.grad, x.detach().cos())
    assert "sum" in [node.op for node in trace.trace.steps[0].graph]


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # of PyTorch's compiler itself
def test_the_places_where_a_graph_ended_are_told_with_the_reason() -> None:
    from autograph_cli.cli.report import report
    from autograph_cli.engines import connect
    from autograph_cli.record.recorder import Recorder

    w = torch.randn(3, requires_grad=True)

    def broken(x: Any) -> Any:
        y = (x * w).sin()
        print("here")
        return y.sum() if y.sum() > 5 else y.cos().sum()

    recorder = Recorder("all", engine=connect("torch"))
    recorder.start()
    torch.compile(broken, backend="aot_eager")(torch.ones(3)).backward()
    trace = recorder.finish({})
    first = broken.__code__.co_firstlineno
    lines = [notice.source.line - first for notice in trace.notices if notice.kind == "break" and notice.source]
    assert lines == [2, 3] and not recorder.broken
    told = [text for label, text in report(trace, None, Path()) if label == "break"]
    assert "builtin" in told[0] and told[1].endswith("a branch that depends on the numbers of a tensor")


def test_a_compiler_that_another_thread_imports_compiles_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "torch._dynamo.compiled_autograd"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))  # as it is at the beginning of its import
    assert not private_compiler.compiles_passes()
