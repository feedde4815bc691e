"""Each code is found in the example of its page, and nothing is found in scripts that are right."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import textwrap
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.findings import RULES, Finding, explain
from autograph_cli.findings.formats import text
from autograph_cli.findings.read import scripts_of
from autograph_cli.record.run import runner
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text("utf-8")
EXAMPLES = {
    code: (script, said)
    for code, script, said in re.findall(
        r"^### (AG\d+): .*?\n\n```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}
ARGUMENTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["autograph"]["arguments"]
SCRIPTS = [*sorted((ROOT / "samples").glob("*.py")), *sorted((ROOT / "tests" / "programs").glob("[0-9]*.py"))]
LARGE = {"llama_70b.py"}
"""Its numbers are not there to be recorded, and its graph takes long."""
WRONG = {"13_sinh_wrong.py": ["AG101", "AG101"]}
"""The scripts that show what goes wrong."""
NEEDS_PYTORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
Explain = Callable[..., list[Finding]]


def of_file(
    path: Path, *args: str, engine: str = "builtin", steps: str = "first,last", **options: list[str]
) -> list[Finding]:
    """Return what is found in a run of a script with its numbers."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, trace = runner.record(
            runner.Target.of(str(path), args), steps, record=("independence", "values"), engine=engine
        )
    return explain(trace, scripts_of(trace, path), **options)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """Return what is found in a script."""
    monkeypatch.chdir(tmp_path)

    def run(script: str, **options: Any) -> list[Finding]:
        path = tmp_path / "expr.py"
        path.write_text(script)
        return of_file(path, **options)

    return run


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_the_example_of_a_code_has_the_finding(found: Explain, code: str) -> None:
    script, said = EXAMPLES[code]
    assert text(found(script, select=[code])) == said.rstrip("\n")


def in_a_function(script: str) -> str:
    """The same, with all that it makes local to a function."""
    return f"import torch\ndef main():\n{textwrap.indent(script, '    ')}main()\n"


@pytest.mark.parametrize("engine", [pytest.param("torch", marks=NEEDS_PYTORCH, id="pytorch"), "builtin"])
@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_the_same_is_found_where_all_is_local_to_a_function(found: Explain, code: str, engine: str) -> None:
    assert {one.code for one in found(in_a_function(EXAMPLES[code][0]), engine=engine, select=[code])} == {code}


def test_codes_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes)) == list(EXAMPLES)


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.name not in LARGE], ids=lambda path: path.name)
def test_nothing_is_found_in_what_is_right(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ARGUMENTS.get(path.relative_to(ROOT).as_posix(), [])
    codes = [finding.code for finding in of_file(path, *arguments)]
    assert codes == WRONG.get(path.name, [])


START = "import torch\ntorch.manual_seed(0)\nx = torch.randn(8, 3)\nw = torch.ones(3, requires_grad=True)\n"
FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {forward}
    @staticmethod
    def backward(ctx, g):
        {backward}
(g,) = torch.autograd.grad(F.apply(w).sum(), w, create_graph=True)
"""
TRAINED = """
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    {before}
    net(x).sum().backward()
    {after}
"""
RIGHT = {
    "accumulation over micro-batches": "for i in range(4):\n    (w * x[i]).sum().backward()\nw.grad = None\n",
    "hidden state detached": "h = torch.zeros(3)\nfor t in range(6):\n    h = torch.tanh(h.detach() + w)\n    h.sum().backward()\n",
    "loss summed as a number": "total = 0\nfor t in range(6):\n    loss = (x * w).sum()\n    loss.backward()\n    total += loss.item()\n",
    "loop unrolled in each step": "for t in range(5):\n    h = w\n    for i in range(6):\n        h = torch.tanh(h)\n    h.sum().backward()\n",
    "rows of a jacobian": "y = torch.tanh(w)\nfor i in range(3):\n    torch.autograd.grad(y[i], w, retain_graph=True)\n",
    "pairwise distances": "d = w[:, None] - w\nd.pow(2).sum().backward()\n",
    "a row for each": "net = torch.nn.Linear(3, 1)\ny = torch.randn(8)\n((net(x).squeeze(1) - y) ** 2).mean().backward()\n",
    "mask of minus infinity": "s = (x * w).masked_fill(x < 0, float('-inf'))\nprint(torch.logsumexp(s.flatten(), 0).backward())\n",
    "where on a safe input": "v = torch.where(x > 0, x * w, 1.0)\ntorch.where(x > 0, v, 1.0).sqrt().sum().backward()\n",
    "relu with some zeros": "torch.relu(x * w).sum().backward()\n",
    "no gradient where an output was not used": """
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * 2, b * 2
    @staticmethod
    def backward(ctx, g, h):
        return None if g is None else 2 * g, None if h is None else 2 * h
v = torch.ones(3, requires_grad=True)
Both.apply(w, v)[0].sum().backward()
""",
    "all parameters looked at after the step": TRAINED.format(
        before="optimizer.zero_grad()",
        after="optimizer.step()\n    print(sum(p.norm().item() for p in [*net.parameters()] * 2), sum(p.norm() for p in net.parameters()))",
    ),
    "one deep graph": "h = x\nfor i in range(3):\n    h = torch.tanh(h * w)\nh.sum().backward()\n",
    "gradients zeroed in place": TRAINED.format(
        before="optimizer.zero_grad(set_to_none=False)", after="optimizer.step()"
    ),
    "gradients zeroed after the step": TRAINED.format(before="pass", after="optimizer.step(); optimizer.zero_grad()"),
    "one step for two batches": TRAINED.format(
        before="pass", after="if step % 2:\n        optimizer.step()\n        optimizer.zero_grad()"
    ),
    "two networks in turn": """
a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
first, second = torch.optim.SGD(a.parameters(), 0.1), torch.optim.SGD(b.parameters(), 0.1)
for step in range(5):
    second.zero_grad()
    b(a(x).detach()).sum().backward()
    second.step()
    first.zero_grad()
    b(a(x)).sum().backward()
    first.step()
""",
    "frozen layers": """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
net[0].requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
""",
    "mask kept on ctx": FUNCTION.format(
        forward="ctx.mask = (x > 0).float()\n        return x * ctx.mask", backward="return g * ctx.mask"
    ),
    "numbers kept on ctx": FUNCTION.format(
        forward="ctx.n = x.numel()\n        return x / ctx.n", backward="return g / ctx.n"
    ),
    "input kept on ctx": FUNCTION.format(forward="ctx.x = x\n        return x ** 2", backward="return g * 2 * ctx.x"),
    "result saved": FUNCTION.format(
        forward="y = torch.exp(x)\n        ctx.save_for_backward(y)\n        return y",
        backward="return g * ctx.saved_tensors[0]",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_no_false_alarm(found: Explain, name: str) -> None:
    assert found(START + RIGHT[name]) == []


FAMILIES = [
    ("w = torch.ones(3, requires_grad=True)\nl = (w ** 2).sum()\nl.backward()\nl.backward()", "AG001", 5),
    ("w = torch.ones(3, requires_grad=True)\ny = w * w\nw.data.mul_(2)\nh = w * 2\nz = h ** 2\nh[0] = 5\nz.sum().backward()", "AG002", 7),
    ("w = torch.ones(3, requires_grad=True)\nx = torch.ones(3)\ny = w * x\nx.mul_(2)\ny.sum().backward()", "AG002", 5),
    ("w = torch.ones(3, requires_grad=True)\nwith torch.no_grad():\n    y = w * 2\ny.sum().backward()", "AG004", 5),
    ("w = torch.ones(3, requires_grad=True)\nh = w * 2\nh.sum().backward()\nprint(h.grad.norm())", "AG006", 5),
    ("w = torch.ones(3, requires_grad=True)\nw.grad.zero_()", "AG006", 3),
    ("w = torch.ones(3, requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\nema = 0\nfor i in range(6):\n    opt.zero_grad()\n    (w ** 2).sum().backward()\n    opt.step()\n    ema = 0.9 * ema + w.sum()", "AG401", 9),
    ("w = torch.zeros(3, requires_grad=True)\nw.norm().log().backward()", "AG301", 3),
    ("w = torch.zeros(3, requires_grad=True)\n(w ** 2).sum().sqrt().backward()", "AG302", 3),
    ("w = torch.zeros(3, requires_grad=True)\nroot = w.sqrt()\nloss = (root + w * torch.ones(3)).sum()\nloss.backward()", "AG302", 3),
]  # fmt: skip


@pytest.mark.parametrize(("script", "code", "line"), FAMILIES)
def test_variants_are_found_on_their_line(found: Explain, script: str, code: str, line: int) -> None:
    findings = found(f"import torch\n{script}\n")
    assert [(one.code, one.source.line) for one in findings if one.source][:1] == [(code, line)]


LOST = """import torch
torch.manual_seed(0)
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(6):
    n = torch.tensor(0.0 if i == 3 else 1.0)
    loss = ((w * torch.randn(3)).sum() * n / n) ** 2 + (torch.exp(w) * w).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_nan_of_a_step_that_was_not_kept_is_of_no_operation_of_this_one(found: Explain) -> None:
    (finding,) = found(LOST, steps="1,6")
    assert (finding.code, finding.step) == ("AG301", 5)
    assert finding.said.startswith("w: float32[3] had NaN when step 6 began")
    assert finding.facts == ("4 steps before it were not kept",)
    assert "`autograph explain --steps all expr.py`" in finding.remedy


@pytest.mark.parametrize("steps", ["all", "first,last"])
def test_a_nan_is_told_of_the_step_that_made_it(found: Explain, steps: str) -> None:
    (finding,) = found(LOST, steps=steps)
    assert (finding.code, finding.step) == ("AG301", 3)
    assert finding.said.startswith("the first NaN is made by div")


def test_a_turn_that_needs_what_an_earlier_one_freed_names_both(found: Explain) -> None:
    script = "import torch\nw = torch.ones(3, requires_grad=True)\nh = torch.exp(w)\nfor i in range(9):\n    l = (h * 2).sum()\n    l.backward()\n"
    (finding,) = found(script)
    assert finding.facts == (
        "the buffers were freed by backward at expr.py:6",
        "exp at expr.py:3 (h) is in both graphs",
    )
    assert finding.remedy == "Compute h within the loop, whose first turn frees its graph; or detach it."


def test_a_comment_on_the_line_passes_it_over(found: Explain) -> None:
    script, _ = EXAMPLES["AG103"]
    for comment, left in (("ignore[AG103]", 0), ("ignore", 0), ("ignore[AG101]", 1)):
        marked = script.replace("def backward(ctx, g, h):", f"def backward(ctx, g, h):  # autograph: {comment}")
        assert len(found(marked)) == left


@pytest.mark.parametrize(
    ("start", "lines"),
    [
        ("torch.zeros(3)", []),  # a result that is filled row by row: no row of another was there
        ("w * 2", [4]),
        ("torch.sin(w)", [4]),
    ],
)
def test_rows_that_are_written_one_by_one_lose_what_was_there_before_the_first(
    found: Explain, start: str, lines: list[int]
) -> None:
    script = f"import torch\nw = torch.ones(3, requires_grad=True)\nout = {start}\n"
    script += "for t in range(3): out[t] = w[t] * 3\nout.sum().backward()\n"
    assert [one.source.line for one in found(script, select=["AG703"]) if one.source] == lines


def test_codes_are_selected_and_ignored_by_their_beginning(found: Explain) -> None:
    script, _ = EXAMPLES["AG103"]
    assert [one.code for one in found(script, select=["AG1"])] == ["AG103"]
    assert found(script, select=["AG3"]) == found(script, ignore=["AG1"]) == []
