"""The engine `torch`: recording changes nothing of a script, and the graphs are those of the engine of this package."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.conftest import Run

HERE = Path(__file__).parents[1]
PROGRAMS = HERE.parent / "programs"
INSTALLED = importlib.util.find_spec("torch") is not None
needs_pytorch = pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed")
SAME = ["01_first_graph", "02_logits_loss", "04_retain_graph", "07_inspect_tensor", "23_control_flow", "26_old_style"]

LOOP = """
import torch
w = torch.ones(3, requires_grad=True)
for step in range(100):
    loss = (w * step).sum()
    loss.backward()
"""
PARTS = """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
    def forward(self, x):
        return Double.apply(self.inner(x))
net, x = Net(), torch.ones(4, 3)
target = torch.tensor([0, 1, 0, 1])
loss = torch.nn.functional.cross_entropy(net(x), target)
(g,) = torch.autograd.grad(loss, net.inner.bias, create_graph=True)
g.sum().backward()
"""


@needs_pytorch
@pytest.mark.parametrize("steps", ["first,last", "all"])
def test_recording_changes_nothing(python: Run, steps: str) -> None:
    script = str(HERE / "many_things.py")
    plain = python(script)
    recorded = python("-m", "autograph_cli", "run", "-q", "--engine", "torch", "--steps", steps, script)
    assert (recorded.stdout, recorded.stderr, recorded.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert "end" in plain.stdout


@needs_pytorch
@pytest.mark.parametrize("program", SAME)
def test_both_engines_record_the_same(python: Run, program: str) -> None:
    views = [word for view in ("graph", "forward", "backward", "double-backward") for word in ("--view", view)]
    done = python(
        "-m", "autograph_cli", "diff", "--engines", "builtin,torch", *views, "--include", "names,shapes,dtypes,constants,lines,modules",
        str(PROGRAMS / f"{program}.py"),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


CHANGED = """
import torch
low, high = torch.ones(4, requires_grad=True).exp().unsafe_split(2)
loss = (low * high.tanh_()).sum()
loss.backward()
"""


@needs_pytorch
def test_what_is_changed_in_place_is_the_output_that_it_was(python: Run, tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(CHANGED)
    shown = python("-m", "autograph_cli", "show", "--engine", "torch", "changed.py").stdout
    assert "  high~2: float32[2] = tanh_(high)" in shown, shown


@needs_pytorch
def test_of_a_long_loop_the_last_step_is_listened_to(python: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    python("-m", "autograph_cli", "run", "--engine", "torch", "-o", "t.json", "loop.py")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert (trace["total_steps"], [step["number"] for step in trace["steps"]]) == (100, [0, 99])
    assert trace["engine"] == "pytorch"
    operations = [node for node in trace["steps"][1]["graph"]["nodes"] if node["kind"] == "operation"]
    assert [node["op"] for node in operations] == ["mul", "sum"]
    assert all(node["source"] for node in operations)


@needs_pytorch
def test_modules_lines_saved_tensors_and_orders_are_told(python: Run, tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    done = python("-m", "autograph_cli", "show", "--engine", "torch", "--details", "parts.py")
    lines = [line.strip() for line in done.stdout.splitlines()]
    double = next(line for line in lines if "DoubleBackward" in line)
    assert "at parts.py:16; in net; saved saved_tensors[0]: float32[4, 2] (32 bytes)" in double
    assert any(line.startswith("leaf net.inner.weight: float32[2, 3]") for line in lines)
    assert "input target: int64[4]" in lines
    assert any(line.endswith(": float32[] = ones_like()") for line in lines)
    assert "order 1" in lines
    assert any("of loss" in line and "pass 0" in line for line in lines)


CASES = {
    "in place, of a tensor without history": "y = torch.zeros(3); y.add_(w); y.mul_(2); loss = y.sum()",
    "a view that is changed": "z = torch.zeros(3, 3); z[0] = w * 2; z[1].add_(w); loss = z.sum() + z[0].sum()",
    "a part of a tensor without history that is changed": (
        "m = torch.zeros(3, 3); v = m[0]; m[0].fill_(1); m[:, 1][1:] += 5; m.t()[2].copy_(w.detach())\n"
        "torch.add(m[0], 1, out=m[1]); d = m.detach(); d[2].mul_(7); m.view(9)[:3].add_(1); a, b = m.split([1, 2])\n"
        "b.copy_(m[:1].clone()); u = v * 2; loss = (w @ m * u + v).sum()"
    ),
    "a part of a tensor with a history that is changed": (
        "h = w * 2; h[1:].mul_(3); h[:2][0].add_(w[1]); loss = (h * w).sum()"
    ),
    "a forward that a checkpoint runs once more": (
        "from torch.utils.checkpoint import checkpoint\n"
        "loss = (checkpoint(lambda t: (t * 2).tanh(), w.exp(), use_reentrant=False) ** 2).sum()"
    ),
    "a forward that a checkpoint with a pass of its own runs once more": (
        "from torch.utils.checkpoint import checkpoint\n"
        "loss = (checkpoint(lambda t: (t * 2).tanh(), w.exp(), use_reentrant=True) ** 2).sum()"
    ),
    "a custom Function that changes what it is given": (
        """class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, several=False):
        x.mul_(w); ctx.mark_dirty(x); ctx.save_for_backward(w)
        ctx.mark_non_differentiable(mask := x > 0)
        return (w * 1, x, mask) if several else x
    @staticmethod
    def backward(ctx, *grads):
        w, = ctx.saved_tensors
        return grads[several := len(grads) > 1] * w, grads[several], None
a, b, c, d = w * 2, torch.stack([w, w]), torch.ones(3), torch.ones(2, 3)
for x in (a, b[0], c, d[1], a): Scale.apply(x, w)
e, _, mask = Scale.apply(a, w, True)
loss = a.sum() + b.sum() + c.sum() + d.sum() + (e * mask).sum()"""
    ),
    "leaves that start from what they were changed to through views": (
        "u, b = (torch.nn.Parameter(torch.ones(5, 3)) for _ in range(2))\n"
        "with torch.no_grad(): v = u[0]; z = v * 2; u[1].fill_(0); b[0].fill_(0); b.view(15)[1:].mul_(2)\n"
        "loss = (u * w).sum() + z.sum() + b.sum()"
    ),
    "negative dimensions": "loss = (w.softmax(-1) + w.unsqueeze(-1).sum(-1)).cumsum(-1)[-1:].sum()",
    "a mask": "m = w.detach() > 0; loss = w[m].sum()",
    "no derivative of a derivative": (
        "q = w.expand(1, 1, 2, 3); o = torch.nn.functional.scaled_dot_product_attention(q, q, q)\n"
        "g, = torch.autograd.grad(o.sum(), w, create_graph=True); loss = w.sum()"
    ),
    "silu and powers twice": (
        "e = torch.ones(3) * 2; y = torch.nn.functional.silu(w).sum() + (w ** e).sum()\n"
        "g, = torch.autograd.grad(y, w, create_graph=True); loss = g.sum()"
    ),
    "a check beside the graph": (
        "d = w.detach().double().requires_grad_(); torch.autograd.gradcheck(torch.sin, d)\n"
        "torch.autograd.gradgradcheck(torch.sin, d); loss = w.sin().sum()"
    ),
    "an output that is not asked for": (
        "c = torch.nn.Conv2d(1, 2, 3); y = c(torch.ones(1, 1, 5, 5)).pow(2).sum()\n"
        "g, = torch.autograd.grad(y, c.weight, create_graph=True); loss = g.sum()"
    ),
    "a sample of a distribution": (
        "c = torch.distributions.Categorical(logits=w); loss = c.log_prob(c.sample()).sum() + c.entropy().sum()"
    ),
}


@needs_pytorch
@pytest.mark.parametrize("case", CASES)
def test_both_engines_draw_the_same(python: Run, tmp_path: Path, case: str) -> None:
    lines = ["import torch", "torch.manual_seed(0)", "w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)"]
    (tmp_path / "case.py").write_text("\n".join([*lines, CASES[case], "loss.backward()", ""]))
    ours, theirs = (
        python("-m", "autograph_cli", "show", "--engine", engine, "--show", "names,line,arguments", "case.py")
        for engine in ("builtin", "torch")
    )
    assert ours.returncode == theirs.returncode == 0, theirs.stderr
    assert ours.stdout == theirs.stdout


UNTRACKED = """
import torch
x, w = torch.ones(2, 3), torch.ones(3, 3, requires_grad=True)
mask = (x > 0).float()
noise = torch.randn(2, 3) * 0.1
h = torch.dropout((x * mask) @ w, 0.5, True) + torch.randn(2, 3)
target = h.detach() * 2
y = torch.zeros_like(x); y.add_(1)
with torch.no_grad():
    z = w.mean() + w[0].sum()
    v, i = w.topk(2)
i = i[0] * 2
loss = ((h - target + y) ** 2).sum() + z + v.sum() * torch.eye(3).sum()
(g,) = torch.autograd.grad(loss, [w], create_graph=True)
g.sum().backward(inputs=[w])
"""


@needs_pytorch
def test_operations_without_a_node_are_told_as_by_the_other_engine(python: Run, tmp_path: Path) -> None:
    (tmp_path / "untracked.py").write_text(UNTRACKED)
    ours, theirs = (
        python(
            "-m", "autograph_cli", "show", "--engine", engine, "--show", "names,line,arguments", "untracked.py"
        ).stdout
        for engine in ("builtin", "torch")
    )
    assert ours == theirs
    assert all(f" {name}(" in theirs for name in ("gt", "detach", "add_", "topk", "bernoulli", "zeros_like", "eye"))


HOOKED = """
import torch
w = torch.ones(3, requires_grad=True)
h = w * 2
{hook}
h = h.exp()
h.sum().backward()
"""


@needs_pytorch
@pytest.mark.parametrize("hook", ["h.register_hook(print)", "kept = h; h.retain_grad()"])
def test_a_hook_runs_as_often_as_the_script_asked(python: Run, tmp_path: Path, hook: str) -> None:
    (tmp_path / "hooked.py").write_text(HOOKED.format(hook=hook))
    plain = python("hooked.py")
    done = python("-m", "autograph_cli", "run", "--engine", "torch", "hooked.py")
    assert done.stdout == plain.stdout
    assert "not made: the script has hooks on tensors, which would run twice" in done.stderr


COMPILED = """
import torch
layer, w = torch.nn.Linear(3, 3), torch.ones(3, requires_grad=True)
part = torch.compile(lambda x: layer(x).relu(), backend="aot_eager", fullgraph=True)
for _ in range(2):
    loss = part(w * 2).sum()
    loss.backward()
"""


@needs_pytorch
def test_a_compiled_part_is_one_node_and_its_compilation_no_step(python: Run, tmp_path: Path) -> None:
    (tmp_path / "compiled.py").write_text(COMPILED)
    done = python("-m", "autograph_cli", "run", "-q", "--engine", "torch", "-o", "t.json", "compiled.py")
    assert (done.returncode, done.stderr) == (0, "")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert trace["total_steps"] == 2
    names = [node["name"] for node in trace["steps"][1]["graph"]["nodes"] if node["kind"] == "operation"]
    assert names == ["MulBackward0", "CompiledFunctionBackward", "SumBackward0"]


@needs_pytorch
def test_values_times_and_formulas_are_recorded_on_request(python: Run, tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    words = ("--show", "values,time,formula")
    done = python("-m", "autograph_cli", "show", "--engine", "torch", *words, "parts.py")
    assert done.returncode == 0, done.stderr
    assert "µs" in done.stdout and "self: grad.t()" in done.stdout and "return grad * 2" in done.stdout


@pytest.mark.skipif(INSTALLED, reason="PyTorch is installed")
@pytest.mark.parametrize("command", [("run",), ("show",), ("render",), ("diff", "--engines", "builtin,torch")])
def test_without_pytorch_a_sentence_says_what_to_install(python: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    options = () if command[0] == "diff" else ("--engine", "torch")
    done = python("-m", "autograph_cli", *command, *options, "loop.py")
    said = "Error: PyTorch is not installed here: pip install torch, or take --engine builtin.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_the_project_chooses_the_engine(python: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "pyproject.toml").write_text('[tool.autograph]\nengine = "numpy"\n')
    done = python("-m", "autograph_cli", "run", "loop.py")
    assert done.returncode == 2
    assert "tool.autograph.engine must be one of builtin, torch, auto, not 'numpy'" in done.stderr
    (tmp_path / "pyproject.toml").write_text('[tool.autograph]\nengine = "auto"\n')
    assert python("-m", "autograph_cli", "run", "-o", "t.json", "loop.py").returncode == 0
    engine = json.loads((tmp_path / "t.json").read_text())["engine"]
    assert engine == ("pytorch" if INSTALLED else "autograph")


@needs_pytorch
def test_both_engines_count_the_same_operations_and_memory(python: Run) -> None:
    found = []
    for engine in ("builtin", "torch"):
        done = python(
            "-m", "autograph_cli", "profile", "--json", "--engine", engine, "--step", "1", str(PROGRAMS / "17_lenet.py")
        )
        data = json.loads(done.stdout)
        rows = {row["name"]: row for row in data["by"]["operation"]}
        assert all(row["forward_ns"] + row["backward_ns"] > 0 for row in rows.values())
        found.append(({name: (row["count"], row["flops"]) for name, row in rows.items()}, data["total"]["bytes_kept"]))
        assert data["memory"]["peak_bytes"] > 2**20
    assert found[0] == found[1]


@needs_pytorch
@pytest.mark.parametrize("name", ["y", "w"])
def test_both_engines_tell_the_same_of_a_tensor(python: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "expr.py").write_text(
        "import torch\nw = torch.ones(2, 3, requires_grad=True)\ny = w[1]\ny.register_hook(print)\n(y * y).sum().backward()\n"
    )
    told = [
        python("-m", "autograph_cli", "inspect", "--engine", engine, "expr.py", name, "--json").stdout
        for engine in ("builtin", "torch")
    ]
    assert told[0] == told[1] and json.loads(told[0])["storage"] == "24 B"


@needs_pytorch
def test_both_engines_watch_the_same(python: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(
        "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.25)\n"
        "for _ in range(40):\n    optimizer.zero_grad()\n    (w ** 2).sum().backward()\n    optimizer.step()\n"
    )
    told = [
        python("-m", "autograph_cli", "render", "--watch", "--engine", engine, "expr.py", "-f", "csv", "-o", "-").stdout
        for engine in ("builtin", "torch")
    ]
    assert told[0] == told[1] and len(told[0].splitlines()) == 1 + 3 * 40


@needs_pytorch
def test_a_history_that_pytorch_refuses_to_tell_ends_no_recording(python: Run) -> None:
    script = str(HERE / "programs" / "refused_history.py")
    done = python("-m", "autograph_cli", "run", "--engine", "torch", "--steps", "first,20:", script)
    assert "ended the recording" not in done.stderr
    assert "roots    total float32[]" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ('__version__ = "1.3.1"', "(No module named 'torch."),
        ('raise ImportError("libgone.so")', "(libgone.so): take PyTorch 2.5 or newer, or --engine builtin."),
    ],
)
def test_a_pytorch_that_is_not_whole_or_too_old_is_refused_in_a_sentence(
    python: Run, tmp_path: Path, module: str, said: str
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(module)
    (tmp_path / "script.py").write_text("import torch")
    code = "import sys; sys.path.insert(0, '.'); from autograph_cli.cli import main; main()"
    done = python("-c", code, "run", "--engine", "torch", "script.py")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("Error: This PyTorch cannot be recorded (") and said in done.stderr


@needs_pytorch
def test_a_checkpoint_is_known_where_pytorch_does_not_tell_its_hooks(python: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(
        "import torch\nfrom torch.utils.checkpoint import checkpoint\nw = torch.ones(3, requires_grad=True)\n"
        "y = checkpoint(lambda t: (t * 2).tanh(), w.exp(), use_reentrant=False)\n(y ** 2).sum().backward()\n"
    )
    main = "from autograph_cli.cli import main; main()"
    older = f"import torch; del torch._C._autograd._top_saved_tensors_default_hooks; {main}"
    told = [python("-c", code, "show", "--engine", "torch", "expr.py").stdout for code in (main, older)]
    assert told[0] == told[1] and "\norder 1\n" not in told[0]
