"""What a function sees and may do while a transform runs: one expression a line, on the argument `x` of the function,
`cap` (captured), `capg` (captured, and requires a gradient), `cut` and `whole` (Functions without and with `setup_context`),
`hooked` (runs under saved-tensor hooks).

`python -m tests.torch.func.record` asks real PyTorch and writes inside.json; test_inside.py asks ours.
"""

import copy
import warnings

from tests.torch.core.functions import functions_of

EXPRESSIONS = """
cap.add_(1)
cap.add_(x)
cap.mul_(2)
cap.div_(2)
cap.zero_()
cap.fill_(5.0)
cap.copy_(torch.ones(2))
cap.unsqueeze_(0)
cap.detach_()
cap.resize_(1)
cap.exp_()
cap.relu_()
cap.clamp_(0, 1)
cap.masked_fill_(cap > 5, 0.0)
cap.index_put_((torch.tensor([0]),), torch.tensor([1.0]))
cap.__setitem__(0, 3.0)
cap.__setitem__(0, x[0])
cap.__iadd__(1)
cap[0].add_(1)
cap.detach().add_(1)
cap.data.add_(1)
capg.add_(1)
F.relu(cap, inplace=True)
(capg * 1).add_(1)
(x * 1).add_(1)
cap.clone().add_(1)
torch.zeros(2).add_(1)
torch.zeros(2).add_(x.sum())
torch.zeros(2).t_()
x.clone().__setitem__(..., 1.0)
F.batch_norm(x.reshape(-1, 1).expand(-1, 2) * torch.tensor([1.0, 2.0]), cap, cap.clone() ** 2, training=True)
x.sum().backward()
(capg * 2).sum().backward()
torch.autograd.backward((x * 2).sum())
torch.autograd.grad((x * x).sum(), x)
torch.autograd.functional.jacobian(lambda y: y * 2, cap)
torch.zeros(2).requires_grad_()
(x * 2).detach().requires_grad_()
torch.tensor([1.0, 2.0], requires_grad=True)
torch.nn.Parameter(torch.ones(2))
(x * 2).retain_grad()
cut.apply(x)
cut.apply(cap)
whole.apply(x)
whole.apply(cap)
x.sum().item()
x.sum() > 0
copy.deepcopy(x)
copy.deepcopy(cap)
torch.utils.checkpoint.checkpoint(lambda y: y * y, x, use_reentrant=False)
hooked(lambda: x * x)
x
x * 2
x[..., None] * torch.ones(3)
x.detach()
x.sum()
x.long()
x > 1
f"{x.sum():.3f}"
f"{x}"
type(x)
cap
capg
cap * 2
capg * 2
capg * x
torch.zeros(2)
torch.arange(2)
torch.zeros_like(x)
torch.is_grad_enabled()
""".strip().splitlines()

TRANSFORMS = {
    "grad": lambda f, x, see: f.grad(lambda y: (see(y), y.sum())[1])(x),
    "vjp": lambda f, x, see: f.vjp(lambda y: (see(y), y.sum())[1], x),
    "jvp": lambda f, x, see: f.jvp(lambda y: (see(y), y.sum())[1], (x,), (x.clone(),)),
    "vmap": lambda f, x, see: f.vmap(lambda y: (see(y), y)[1])(x),
    "grad of grad": lambda f, x, see: f.grad(lambda y: f.grad(lambda z: (see(z), z.sum())[1])(y).sum())(x),
    "vmap of grad": lambda f, x, see: f.vmap(f.grad(lambda y: (see(y), y.sum())[1]))(x[:, None]),
    "grad of vmap": lambda f, x, see: f.grad(lambda y: f.vmap(lambda z: (see(z), z)[1])(y).sum())(x),
    "jvp of grad": lambda f, x, see: f.jvp(f.grad(lambda y: (see(y), y.sum())[1]), (x,), (x.clone(),)),
}
OTHERWISE = {
    ("vmap of grad", "x.sum().item()"),
    ("vmap of grad", 'f"{x.sum():.3f}"'),
    ("vmap of grad", "copy.deepcopy(x)"),
    ("grad of grad", "copy.deepcopy(x)"),
}
"""Where ours says it in other words."""


def functions(torch):
    class Whole(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, g):
            return g * 2

    def hooked(run):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return run()

    return {"cut": functions_of(torch).Double, "whole": Whole, "hooked": hooked}


def said(torch, transform, code):
    """Return what `code` gives inside the transform: its text, or its error's type and first sentence."""
    names = {"torch": torch, "F": torch.nn.functional, "copy": copy, **functions(torch)}
    names |= {"cap": torch.tensor([5.0, 6.0]), "capg": torch.tensor([5.0, 6.0], requires_grad=True)}
    found = []

    def see(x):
        try:
            found.append(str(eval(code, {**names, "x": x})))
        except Exception as error:
            found.append(f"{type(error).__name__}: {str(error).split('. ')[0]}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TRANSFORMS[transform](torch.func, torch.tensor([1.0, 2.0]), see)
    return found


def everything(torch):
    return {name: {code: said(torch, name, code) for code in EXPRESSIONS} for name in TRANSFORMS}
