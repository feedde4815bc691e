"""Writes foreach.json: what PyTorch's `torch._foreach_*` give: `python tests/torch/ops/record_foreach.py`, beside real PyTorch."""

import json
from pathlib import Path

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("foreach.json")
OF_ONE = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid "
    "sign sin sinh sqrt tan tanh trunc zero_ clone max norm"
)
CALLS = [f"torch._foreach_{name}(a)" for name in OF_ONE.split()] + [
    "torch._foreach_norm(a, 1)",
    "torch._foreach_norm(a, ord=float('inf'))",
    "torch._foreach_norm(a, 2, torch.float64)",
    "torch._foreach_powsum(a, 3)",
    "torch._foreach_mm([m, m], [m, m.t()])",
    "torch._foreach_copy_(a, b)",
    *(
        f"torch._foreach_{name}(a, {other})"
        for name in ["add", "sub", "mul", "div"]
        for other in ("2", "[2, 3.0]", "b", "one")
    ),
    *(
        f"torch._foreach_{name}(a, {o})"
        for name in ["maximum", "minimum", "clamp_max", "clamp_min", "pow"]
        for o in ("0.5", "[2, 1]", "b")
    ),
    "torch._foreach_pow(2.0, a)",
    "torch._foreach_add(a, b, alpha=2)",
    "torch._foreach_lerp(a, b, 0.25)",
    "torch._foreach_lerp(a, b, a)",
    "torch._foreach_lerp(a, b, weight=0.5)",
    "torch._foreach_addcmul(a, b, b)",
    "torch._foreach_addcmul(a, b, b, value=2)",
    "torch._foreach_addcmul(a, b, b, [2, 3])",
    "torch._foreach_addcdiv(a, b, b, scalars=[2.0, 3.0])",
    "torch._foreach_addcdiv(a, b, b, scalars=torch.tensor([2.0, 3.0]))",
    "torch._foreach_add_(a, b)",
    "torch._foreach_mul_(a, 0.5)",
    "torch._foreach_lerp_(a, b, 0.5)",
    "torch._foreach_addcdiv_(a, b, b, value=-1)",
    "torch._foreach_sqrt_(a)",
    "torch._foreach_add(a, [1])",
    "torch._foreach_add(a, b[:1])",
    "torch._foreach_add([], 1)",
    "torch._foreach_add(torch.ones(2), 1)",
    "torch._foreach_mul(a, torch.ones(2))",
    "torch._foreach_addcmul(a, b, b, torch.tensor([2.0, 3.0]))",
    "torch._foreach_addcdiv_(a, b, b, torch.tensor([2.0, 3.0]))",
]
ONE = OF_ONE.replace(" clone max norm", "")
CHANGES = [
    *(f"{name.rstrip('_')}_(a)" for name in ONE.split()),
    *(
        f"{name}_(a, {o})"
        for name in ("add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min")
        for o in ("2.0", "[2, 3.0]", "b")
    ),
    *(f"{name}_(a, {o})" for name in ("add", "mul", "div") for o in ("one", "one.requires_grad_()")),
    *("maximum_(a, b)", "minimum_(a, b)", "maximum_(a, 2.0)", "minimum_(a, [2, 3.0])", "copy_(a, b)"),
    *("add_(a, b, alpha=2)", "sub_(a, b, alpha=2)", "lerp_(a, b, 0.5)", "lerp_(a, b, [0.5, 0.25])", "lerp_(a, b, b)"),
    *(
        f"{name}_(a, b, b{more})"
        for name in ("addcmul", "addcdiv")
        for more in ("", ", -1", ", [2.0, 3.0]", ", torch.ones(2)")
    ),
]
"""Calls that change tensors with a history, by themselves or with others that require a gradient."""

WITH_NODES = [
    *(f"{name}(a)" for name in (*ONE.replace("zero_", "clone").split(), "max", "norm")),
    *("norm(a, 1)", "norm(a, ord=float('inf'))", "norm(a, 2, torch.float64)", "mm([m, m.t()], [m.t(), m])"),
    *(
        f"{name}(a, {other})"
        for name in ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_max", "clamp_min", "pow")
        for other in ("2.0", "0.25", "[2, 0.5]", "b")
    ),
    *(f"{name}(a, one)" for name in ("add", "sub", "mul", "div")),
    *("add(a, b, alpha=2)", "pow(2.0, a)", "exp([a[0], b[0].detach()])", "mul([a[0], torch.ones(2)], b)"),
    *("mul(a, a)", "sub([a[0], a[0]], [b[0], a[0]])"),
    *(f"lerp(a, b, {weight})" for weight in ("0.25", "[0.5, 0.25]", "a")),
    *(f"{name}(a, b, b{more})" for name in ("addcmul", "addcdiv") for more in ("", ", value=2", ", [2.0, 3.0]")),
]
"""Calls out of place of tensors that require a gradient: one node for all."""


def names_of(torch):
    return {
        "torch": torch,
        "a": [torch.tensor([0.25, 0.75]), torch.tensor([[0.5], [0.9]])],
        "b": [torch.tensor([2.0, 4.0]), torch.tensor([[-1.5], [8.0]])],
        "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "one": torch.tensor(3.0),
    }


def differentiated(torch, call):
    """The names of the nodes after a change, those behind them, the numbers and all gradients; None where PyTorch has
    no derivative."""
    names = names_of(torch)
    leaves = [x.requires_grad_() for x in (*names["a"], *names["b"])]
    names["a"] = made = [x * 1 for x in names["a"]]
    try:
        eval(f"torch._foreach_{call}", names)
        grads = torch.autograd.grad(sum(x.sum() for x in made), leaves, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        assert "not implemented" in str(error) or "not available" in str(error), (call, error)
        return None
    nodes = [
        [x.grad_fn.name(), *(f and f.name().rpartition(":")[2] for f, _ in x.grad_fn.next_functions)] for x in made
    ]
    return [nodes, [x.tolist() for x in made], [None if g is None else g.tolist() for g in grads]]


def with_node(torch, call):
    """The node and those behind it, the numbers, all gradients, the gradients of these, and whether a second pass runs
    through the same graph."""
    names = names_of(torch)
    leaves = [x.requires_grad_() for x in (*names["a"], *names["b"], names["m"])]
    made = eval(f"torch._foreach_{call}", names)
    node = made[0].grad_fn
    shown = [node.name(), *(f and (f.name().rpartition(":")[2], nr) for f, nr in node.next_functions)]
    places = [(x.grad_fn is node and x.output_nr) if x.requires_grad else None for x in made]
    loss = sum((x * x).sum() for x in made if x.requires_grad)
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    second = sum((x * x).sum() for x in first if x is not None)
    twice = torch.autograd.grad(second, leaves, allow_unused=True) if second.requires_grad else []
    grads = [[None if x is None else x.tolist() for x in each] for each in (first, twice)]
    return json.loads(json.dumps([shown, places, [x.tolist() for x in made], *grads]))


def outcome(torch, call):
    """The results, the list afterwards, or the error's class."""
    names = names_of(torch)
    try:
        found = eval(call, names)
    except Exception as error:
        return [type(error).__name__, "" if isinstance(error, TypeError) else str(error)]
    return [[str(t.dtype), t.tolist()] for t in (*found, *names["a"])]


if __name__ == "__main__":
    import torch

    found = {call: outcome(torch, call) for call in CALLS} | {call: differentiated(torch, call) for call in CHANGES}
    found |= {f"out of place: {call}": with_node(torch, call) for call in WITH_NODES}
    written(EXPECTED, found)
