"""`autograph check` compares derivatives with finite differences, where a script used them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import ROOT

Check = Callable[..., Result]

SCRIPT = """import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return {forward}
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return {backward}
F.apply(torch.tensor([0.5, {point}], requires_grad=True)).sum().backward()
"""


@pytest.fixture
def check(cli: Callable[..., Result], tmp_path: Path) -> Check:
    """Check a script with one Function."""

    def run(forward: str, backward: str, *options: str, point: object = 2.0) -> Result:
        (tmp_path / "expr.py").write_text(SCRIPT.format(forward=forward, backward=backward, point=point))
        return cli("check", "expr.py", *options)

    return run


@pytest.fixture
def script(cli: Callable[..., Result], tmp_path: Path) -> Check:
    """Check a script of this text."""

    def run(text: str, *arguments: str) -> Result:
        (tmp_path / "expr.py").write_text(f"import torch\ntorch.manual_seed(0)\n{text}")
        return cli("check", *(arguments or ("expr.py",)))

    return run


CASES = [
    # forward, backward, the orders that are right, whether the next is wrong
    ("x ** 3", "g * 3 * x ** 2", 3, False),
    ("torch.sin(x)", "g * torch.cos(x)", 3, False),
    ("x ** 3", "g * 2 * x ** 2", 0, True),
    ("x ** 3", "g * 3 * x.detach() ** 2", 1, True),
    ("x ** 4", "g * 4 * x ** 2 * x.detach()", 1, True),
    ("x * 5", "g * 5", 3, False),
    ("x * 5", "g.detach() * 5", 1, True),
    ("1e-6 * x ** 2", "g * 2e-6 * x", 3, False),
    ("1e-6 * x ** 2", "g * 1e-6 * x", 0, True),
    ("x.float() ** 2", "g * 2 * x", 3, False),
]


@pytest.mark.parametrize(("forward", "backward", "right", "wrong"), CASES)
def test_orders_are_right_up_to_the_first_wrong_one(
    check: Check, forward: str, backward: str, right: int, wrong: bool
) -> None:
    result = check(forward, backward, "--order", "3", "--json")
    [found] = json.loads(result.stdout)
    assert [one["order"] for one in found["orders"] if one["good"]] == list(range(1, right + 1))
    assert [one["order"] for one in found["orders"] if not one["good"]] == ([right + 1] if wrong else [])
    assert result.exit_code == wrong


def test_a_wrong_derivative_is_shown_with_both_values(check: Check) -> None:
    line = check("x ** 3", "g * 2 * x ** 2").stdout
    assert line.startswith("Function  F  order 1  WRONG by ")
    assert "input 0, number 0 (0.5): backward gives 0.5, finite differences give 0.75" in line


KINKS = [
    # forward, backward, the point, the derivatives from both sides
    ("x.abs()", "g * x.sign()", 0.0, "-0.540302 from the left, 0.540302 from the right"),
    ("x.clamp(min=0)", "g * (x > 0)", 0.0, "0 from the left, 0.540302 from the right"),
    ("torch.where(x > 0, x, 0.9 * x)", "g * torch.where(x > 0, 1.0, 0.9)", 0.0, "0.486272 from the left"),
    ("x.sqrt()", "g / 2 / x.sqrt()", 0.0, "from the right"),
    ("x.floor()", "g * 0", 2.0, "from the right"),
]


@pytest.mark.parametrize(("forward", "backward", "point", "said"), KINKS)
def test_a_kink_is_counted_and_not_compared(check: Check, forward: str, backward: str, point: float, said: str) -> None:
    result = check(forward, backward, "--order", "1", point=point)
    assert result.stdout.startswith("Function  F  order 1  right to ")
    assert ", 1 kink left out (input 0, number 1" in result.stdout
    assert said in result.stdout
    assert result.exit_code == 0


def test_a_derivative_at_a_kink_that_is_of_no_side_is_wrong(check: Check) -> None:
    assert "WRONG" in check("x.abs()", "g * torch.where(x == 0, 7.0, x.sign())", "--order", "1", point=0.0).stdout


def test_complex_numbers_are_checked_in_both_parts(check: Check) -> None:
    assert "WRONG" not in check("x ** 2", "g * (2 * x).conj()", point="1 + 2j").stdout
    wrong = check("x ** 2", "g * 2 * x", point="1 + 2j").stdout
    assert "part of number 1 (1+2j): backward gives" in wrong


UNCHECKED = [
    # forward, backward, why
    ("x * __import__('time').time()", "g", "it gives other numbers each time that it is called"),
    ("x > 0", "g", "it returns no tensor of floating numbers, and has no derivative"),
    ("x * float('nope')", "g", "in float64, it raises ValueError: could not convert string to float: 'nope'"),
    ("x.half().double() if x.dtype == torch.float32 else (x + torch.ones(3))", "g", "in float64, it raises RuntimeEr"),
]


@pytest.mark.parametrize(("forward", "backward", "why"), UNCHECKED)
def test_what_cannot_be_checked_is_named_with_the_reason(check: Check, forward: str, backward: str, why: str) -> None:
    assert f"Function  F  not checked: {why}" in check(forward, backward).stdout
    assert check(forward, backward, "F").exit_code in (1, 2)


def test_random_numbers_are_the_same_in_each_call(check: Check) -> None:
    line = "x * torch.rand(2, generator=torch.Generator().manual_seed(int(1e6 * torch.rand(()).item()))).to(x.dtype)"
    assert "not checked" not in check(line, "g").stdout


def test_an_order_that_takes_too_long_is_said(check: Check) -> None:
    assert "not checked: it takes longer than --limit" in check("x * 2", "g * 2", "--limit", "0").stdout


def test_what_is_once_differentiable_has_a_first_derivative_only(script: Check) -> None:
    marked = SCRIPT.replace("    @staticmethod\n    def backward", "    @staticmethod\n    @once\n    def backward")
    text = "from torch.autograd.function import once_differentiable as once\n"
    said = script(text + marked.format(forward="x ** 2", backward="g * 2 * x", point=1)).stdout
    assert "F  order 1  right to" in said
    assert "F  order 2  not checked: a backward in it is marked as once differentiable" in said


def test_an_unknown_name_is_refused_with_those_that_are_there(check: Check) -> None:
    result = check("x * 2", "g * 2", "G")
    assert result.exit_code == 2
    assert "expr.py applied no Function, operator or module G; there are: F." in result.output


def test_a_script_that_applies_nothing_of_its_own(script: Check) -> None:
    said = "It applied nothing that has a derivative of its own: no custom Function, operator or module.\n"
    assert script("torch.ones(2, requires_grad=True).sum().backward()").stdout == said


OPERATOR = """
@torch.library.custom_op("mine::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3
def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
cube.register_autograd(lambda ctx, g: g * {factor} * ctx.saved_tensors[0] ** 2, setup_context=keep)
cube(torch.ones(3, requires_grad=True)).sum().backward()
"""


@pytest.mark.parametrize(("factor", "said"), [(3, "right to"), (2, "WRONG")])
def test_operators_of_torch_library_are_checked(script: Check, factor: int, said: str) -> None:
    result = script(OPERATOR.format(factor=factor), "expr.py", "cube")
    assert f"operator  mine::cube  order 1  {said}" in result.stdout


MODULE = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
    def forward(self, x):
        return torch.tanh({inner}) * self.inner(x)
net = Net()
def loss_of(model, x, *, scale=1.0):
    return (scale * model(x)).pow(2).mean()
def count(n):
    yield n
list(count(1))
loss_of(net, torch.randn(4, 3), scale=2.0).backward()
before = net.inner.weight.clone()
"""
RIGHT, CUT = MODULE.format(inner="self.inner(x)"), MODULE.format(inner="self.inner(x).detach()")


def test_modules_are_checked_by_their_parameters(script: Check) -> None:
    assert "module  Net  order 2  right to" in script(RIGHT).stdout
    assert "module  Net  order 1  WRONG by" in script(CUT).stdout
    assert ": inner." in script(CUT).stdout


def test_below_a_wrong_module_stand_the_nodes_that_are_to_blame(script: Check) -> None:
    assert "  detach at expr.py:9 cuts the gradient\n" in script(CUT).stdout
    class_ = SCRIPT.partition("F.apply")[0].partition("\n")[2].format(forward="x ** 3", backward="g * 2 * x ** 2")
    said = script(class_ + MODULE.format(inner="F.apply(self.inner(x))")).stdout
    assert "  F at expr.py:18 is wrong by itself: order 1, input 0, number 2" in said
    assert "tanh" not in said


SOLVER = """
class Fixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3, 3, dtype=torch.float64) * 0.2)
    def f(self, z, x):
        return torch.tanh(z @ self.w + x)
    def solve(self, f, z):
        for _ in range(60):
            after = f(z)
            if (after - z).norm() < 1e-12:
                break
            z = after
        return z
    def forward(self, x):
        with torch.no_grad():
            z = self.solve(lambda q: self.f(q, x), torch.zeros_like(x))
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)
        z.register_hook(lambda g: self.solve(lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + g, g))
        return z
Fixed()(torch.randn(2, 3, dtype=torch.float64, requires_grad=True)).pow(2).sum().backward()
"""


def test_where_a_lower_order_is_right_nothing_of_it_is_to_blame(script: Check) -> None:
    said = script(SOLVER).stdout
    assert "module  Fixed  order 1  right to" in said
    assert [line.strip() for line in said.splitlines() if line.startswith("  ")] == [
        "grad at expr.py:23 cuts the gradient"
    ]


@pytest.mark.parametrize(("factor", "said"), [(1, "right to"), (2, "WRONG by")])
def test_numbers_next_to_nothing_are_varied_by_less(script: Check, factor: int, said: str) -> None:
    norm = SCRIPT.partition("\n")[2].partition("F.apply")[0]
    norm = norm.format(forward="x.norm()", backward=f"g * {factor} * x / x.norm()")
    numbers = "torch.tensor([3e-7, -1e-7, 2e-8], dtype=torch.float64, requires_grad=True)"
    assert f"order 1  {said}" in script(f"{norm}F.apply({numbers}).backward()\n").stdout


def test_a_function_is_checked_at_the_arguments_that_the_script_gave_it(script: Check) -> None:
    assert "function  loss_of  order 2  right to" in script(RIGHT, "expr.py::loss_of").stdout
    assert "function  Net.forward  order 1  WRONG by" in script(CUT, "expr.py::Net.forward").stdout


def test_a_function_that_was_not_called_is_refused_with_those_that_were(script: Check) -> None:
    result = script(RIGHT, "expr.py::los_of")
    assert result.exit_code == 2
    assert "expr.py called no function los_of; there are: loss_of." in result.output


def test_a_generator_is_no_function_with_a_derivative(script: Check) -> None:
    result = script(RIGHT, "expr.py::count")
    assert "function  count  not checked: it is a generator or a coroutine, and returns no tensor" in result.stdout
    assert result.exit_code == 2


def test_parameters_that_a_function_reaches_by_itself_are_varied(script: Check) -> None:
    text = """
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer, *parameters):
        ctx.layer = layer
        ctx.save_for_backward(x)
        return layer(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            found = torch.autograd.grad(ctx.layer(x), [x, *ctx.layer.parameters()], g)
        return found[0], None, *found[1:]
layer = torch.nn.Linear(2, 2)
Layer.apply(torch.ones(2, requires_grad=True), layer, *layer.parameters()).sum().backward()
assert layer.weight.dtype == torch.float32
"""
    assert "Layer  order 1  right to" in script(text).stdout


def test_the_samples_have_right_derivatives(cli: Callable[..., Result]) -> None:
    for sample in ("samples/custom_function.py", "tests/programs/14_cube_function.py", "tests/programs/17_lenet.py"):
        assert cli("check", str(ROOT / sample)).exit_code == 0, sample


def test_programs_that_are_known_to_be_wrong_are_found(cli: Callable[..., Result]) -> None:
    result = cli("check", str(ROOT / "tests" / "programs" / "13_sinh_wrong.py"))
    assert "SinhBad  order 2  WRONG by 1.0e+00: input 0, number 0 (0.9701): backward gives 0" in result.stdout
    assert result.exit_code == 1


def test_a_function_that_changes_its_input_in_place_is_given_no_leaf(script: Check) -> None:
    done = script("""class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)
    @staticmethod
    def backward(ctx, g):
        return g * 3
F.apply(torch.ones(2, requires_grad=True) * 1).sum().backward()
""")
    assert "order 2  right" in done.stdout
    assert done.exit_code == 0


MIXED = """import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 1)
    def forward(self, x):
        h = x.view(5, 4, 6){transposed}
        return self.last(torch.tanh(h))
net = Net()
net(torch.randn(4, 5, 6)).sum().backward()
print("done")
"""


def test_examples_that_influence_each_other_are_told_with_the_line(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "mixed.py").write_text(MIXED.format(transposed=""))
    told = cli("check", "--independence", "mixed.py")
    assert told.exit_code == 1
    assert told.stdout.startswith("mixed.py:8: Net: examples influence each other, from h = x.view(5, 4, 6)")
    (one,) = json.loads(cli("check", "--independence", "--json", "mixed.py").stdout)
    assert (one["kind"], one["source"]["line"]) == ("examples", 8)


def test_models_whose_examples_are_apart_are_named(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(MIXED.replace("x.view(5, 4, 6)", "x").format(transposed=""))
    told = cli("check", "--independence", "apart.py")
    assert (told.exit_code, told.stdout) == (0, "Net: examples are apart, and each input and parameter counts.\n")


CHECKPOINTED = """import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x - x.mean(0))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x.tanh()
torch.manual_seed(0)
Net()(torch.randn(4, 3)).sum().backward()
"""


def test_a_block_that_a_checkpoint_calls_again_is_no_model_of_its_own(
    cli: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(CHECKPOINTED)
    told = cli("check", "--independence", "net.py")
    assert told.exit_code == 1
    assert told.stdout.startswith("net.py:9: Net: ")
    assert told.stdout.count("\n") == 1


def test_independence_is_of_scripts_that_have_models(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("print(1)\n")
    assert cli("check", "--independence", "none.py").stdout == "It called no module that learns.\n"
    assert cli("check", "--independence", "none.txt").exit_code == 2


PACKAGE = """import sys
import torch
from .helper import F
def loss_of(w):
    return F.apply(w).sum()
loss_of(torch.tensor([0.5, 2.0], requires_grad=True)).backward()
print("given", sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("-m", "package.train"), 1, "Function  F  order 1  WRONG"),
        (("-m", "package.train", "F", "--", "--epochs"), 1, "given ['--epochs']"),
        (("-m", "package.train", "G"), 2, "package.train applied no Function, operator or module G"),
        (("-m", "package.train::loss_of"), 1, "function  loss_of  order 1  WRONG"),
        (("-m", "package.train", "--independence"), 0, "It called no module that learns."),
        (("-c", "import package.train"), 1, "Function  F  order 1  WRONG"),
        (("-c", "import package.train", "F", "more"), 1, "given ['more']"),
        (("-m", "package.none"), 2, "package.none"),
        (("-m", "package.none::f"), 2, "There is no module package.none here"),
        (("-m", "package.train", "-j", "2"), 2, "-j and --mpi are for files."),
        ((), 2, "Missing argument 'FILE'."),
    ],
)
def test_modules_and_code_are_checked_as_files_are(
    cli: Callable[..., Result], tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    function = SCRIPT.format(forward="x ** 3", backward="g * 2 * x ** 2", point=2.0).rpartition("F.apply")[0]
    (package / "helper.py").write_text(function)
    (package / "train.py").write_text(PACKAGE)
    found = cli("check", *words)
    assert found.exit_code == code, found.output
    assert told in found.output
