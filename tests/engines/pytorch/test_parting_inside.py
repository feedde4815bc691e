"""Faults of compilers are named by the line of the script, where they are planted in what a backend of `torch.compile`
is given, and in what AOTAutograd makes of operations."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import divergence
from autograph_cli.graph.parting_inside import Inside, first_inside
from autograph_cli.record.run.runner import Target, record

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)
torch: Any = importlib.import_module("torch")
from autograph_cli.engines.pytorch import compiled  # noqa: E402

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import aot_module_simplified, make_boxed_func, min_cut_rematerialization_partition
A = torch.ops.aten


def changed(old, change):
    def compiler(graph, inputs):
        for node in graph.graph.nodes:
            if node.target is old:
                change(node)
        graph.recompile()
        return make_boxed_func(graph)
    return compiler


def target(new):
    return lambda node: setattr(node, "target", new)


def plain(graph, inputs):
    return make_boxed_func(graph)


"""
BLOCKS = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(6, 12), nn.Linear(12, 6), nn.LayerNorm(6)
    def forward(self, x):
        h = self.norm(x)  # NORM
        u = self.up(h)
        g = F.gelu(u)  # GELU
        return x + self.down(g)
net = nn.Sequential(Block(), Block())
torch.compile(net, backend=backend)(torch.randn(4, 6)).pow(2).mean().backward()
"""
GATES = """
w, v = nn.Parameter(torch.randn(5, 5)), nn.Parameter(torch.randn(5, 5))
@torch.compile(backend=backend)
def cell(x):
    a = torch.tanh(x @ w)  # TANH
    print("a graph ends here")
    b = torch.sigmoid(a @ v)  # SIGMOID
    p = F.dropout(b, 0.5)
    return (a * p).sin().sum()  # SIN
for size in (3, 4):
    cell(torch.randn(size, 5)).backward()
"""
PARTS = """
up, down, norm, pre = nn.Linear(6, 12), nn.Linear(12, 6), nn.LayerNorm(6), nn.Linear(6, 6)
@torch.compile(backend=backend)
def forward(x):
    h = pre(x)
    h = norm(h)  # NORM
    g = F.gelu(up(h))
    return (x + down(g)).pow(2).mean()
forward(torch.randn(4, 6)).backward()
"""
COUNTED = """
w = nn.Parameter(torch.randn(4, 4))
seen = torch.zeros(4)
@torch.compile(backend=backend, dynamic=True)
def scores(x):
    s = x @ w
    seen.add_(s.detach().mean(0))
    p = torch.softmax(s, -1)  # SOFTMAX
    return F.mse_loss(p, x)  # MSE
scores(torch.randn(3, 4)).backward()
"""
HALF = """
up, down = nn.Linear(6, 12), nn.Linear(12, 6)
@torch.compile(backend=backend)
def f(x):
    h = up(x)
    h = F.silu(h)  # SILU
    return down(h)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = f(torch.randn(4, 6))
y.float().pow(2).sum().backward()
"""
TABLE = """
from torch._decomp import get_decompositions
table = get_decompositions([A.native_layer_norm_backward, A.native_layer_norm, A.gelu, A.gelu_backward])
right = table[A.{0}.default]
def wrong(*args, **kwargs):
    first, *rest = right(*args, **kwargs)
    return first if first is None else first * 1.01, *rest
table[A.{0}.default] = wrong
backend = aot_autograd(fw_compiler=plain, decompositions=table, partition_fn=min_cut_rematerialization_partition)
"""
CASES = {
    "gelu by tanh": (BLOCKS, 'backend = aot_autograd(fw_compiler=changed(A.gelu.default, lambda node: setattr(node, "kwargs", {"approximate": "tanh"})), bw_compiler=plain)', "GELU", False, True),
    "gelu by tanh, in a decomposition": (BLOCKS, 'def gelu(x, approximate="none"):\n    return x * 0.5 * (1.0 + torch.tanh(0.79788 * (x + 0.044715 * x * x * x)))\nbackend = aot_autograd(fw_compiler=plain, decompositions={A.gelu.default: gelu})', "GELU", False, False),
    "the backward of gelu": (BLOCKS, 'backend = aot_autograd(fw_compiler=plain, bw_compiler=changed(A.gelu_backward.default, lambda node: setattr(node, "kwargs", {"approximate": "tanh"})))', "GELU", True, True),
    "the backward of a norm, in a decomposition": (BLOCKS, TABLE.format("native_layer_norm_backward"), "NORM", True, False),
    "a norm, in a decomposition": (BLOCKS, TABLE.format("native_layer_norm"), "NORM", False, False),
    "the backward of a module's norm": (PARTS, TABLE.format("native_layer_norm_backward"), "NORM", True, False),
    "a sigmoid, after a graph break": (GATES, "backend = aot_autograd(fw_compiler=changed(A.sigmoid.default, target(A.tanh.default)), bw_compiler=plain)", "SIGMOID", False, True),
    "the backward of tanh": (GATES, "backend = aot_autograd(fw_compiler=plain, bw_compiler=changed(A.tanh_backward.default, target(A.sigmoid_backward.default)))", "TANH", True, True),
    "the backend calls AOTAutograd itself": (GATES, "def backend(graph, inputs):\n    return aot_module_simplified(graph, inputs, fw_compiler=changed(A.sin.default, target(A.cos.default)), bw_compiler=plain)", "SIN", False, True),
    "a softmax, dynamic": (COUNTED, 'backend = aot_autograd(fw_compiler=changed(A._softmax.default, lambda node: setattr(node, "args", (node.args[0], 0, False))), bw_compiler=plain)', "SOFTMAX", False, True),
    "a loss, in a decomposition": (COUNTED, "def mse(x, t, reduction=1):\n    return (x - t).pow(2).sum()\nbackend = aot_autograd(fw_compiler=plain, decompositions={A.mse_loss.default: mse})", "MSE", False, False),
    "under autocast": (HALF, "backend = aot_autograd(fw_compiler=changed(A.silu.default, target(A.relu.default)), bw_compiler=plain)", "SILU", False, True),
}  # fmt: skip
"""The script, the backend, the line, whether it is backward, and whether the compiler is at fault."""
RIGHT = {
    "the graph as it is": (BLOCKS, "backend = aot_autograd(fw_compiler=plain)"),
    "decompositions": (BLOCKS, 'backend = "aot_eager_decomp_partition"'),
    "random numbers": (GATES, "backend = aot_autograd(fw_compiler=plain)"),
    "what is changed": (COUNTED, "backend = aot_autograd(fw_compiler=plain)"),
    "autocast": (HALF, 'backend = "aot_eager_decomp_partition"'),
}


@pytest.fixture(autouse=True)
def _left_alone() -> Iterator[None]:
    yield
    compiled.watch()
    torch._dynamo.reset()


def recorded(path: Path, stance: str, *measured: str) -> Trace:
    torch._dynamo.reset()
    with torch.compiler.set_stance(stance), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = record(Target.of(str(path)), "all", record=("values", *measured), engine="torch")[1]
    assert not trace.failure, trace.failure
    return trace


def opened(script: str, backend: str, folder: Path) -> tuple[str, Inside | None]:
    """The verdict, and what is found inside of the step that parts."""
    path = folder / "script.py"
    path.write_text(f"{HEAD}{backend.strip()}\ntorch.manual_seed(0)\n{script.strip()}\n", "utf-8")
    plain, other = recorded(path, "force_eager"), recorded(path, "default", "inside", "deviation")
    found = divergence(plain, other)
    pairs = [(one.graph, its.graph) for one, its in zip(plain.steps, other.steps, strict=True) if one.has_nodes]
    inside = next((each for one, its in pairs if (each := first_inside(its, one))), None)
    return found.verdict, inside


@pytest.mark.parametrize("case", CASES)
def test_the_operation_that_a_compiler_makes_otherwise_is_named(case: str, tmp_path: Path) -> None:
    script, backend, mark, backward, off = CASES[case]
    verdict, found = opened(script, backend, tmp_path)
    lines = [line.endswith(f"# {mark}") for line in (tmp_path / "script.py").read_text("utf-8").splitlines()]
    assert verdict == "parted" and found is not None
    assert found.source is not None and found.source.line == lines.index(True) + 1, found
    assert (found.backward, bool(found.off)) == (backward, off), found


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_compiled_right_is_not_named(case: str, tmp_path: Path) -> None:
    verdict, found = opened(*RIGHT[case], tmp_path)
    assert (verdict in ("equal", "rounding"), found) == (True, None)
