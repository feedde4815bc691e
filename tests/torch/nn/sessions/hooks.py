# ruff: noqa: F821  (names are given by record_sessions.py)
from functools import partial


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        nn.init.constant_(self.a.weight, 0.5)
        nn.init.zeros_(self.a.bias)

    def forward(self, x, scale=1.0):
        return self.a(x) * scale


n, x = Net(), torch.ones(1, 2, requires_grad=True)
handles = [
    n.register_forward_hook(lambda m, a, out: print("after", len(a), out)),
    n.register_forward_pre_hook(lambda m, a: print("before")),
    n.register_forward_pre_hook(lambda m, a, k: (a, {**k, "scale": 2.0}), with_kwargs=True, prepend=True),
    n.register_forward_hook(lambda m, a, k, out: print("after with", k), with_kwargs=True),
    n.register_forward_hook(lambda m, a, out: print("first"), prepend=True),
]
print(n(x))
for handle in handles:
    handle.remove()
with n.register_forward_hook(lambda m, a, out: print("always"), always_call=True):
    attempt(lambda: n(torch.ones(1, 3)) and 0)
with n.register_forward_hook(lambda m, a, out: out * 0):
    print(n(x))
with n.register_forward_pre_hook(lambda m, a: torch.full((1, 2), 3.0)):
    print(n(x))
with n.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True):
    attempt(lambda: n(x))


def see(name, m, *grads):
    print(name, type(m).__name__, *([None if g is None else g.tolist() for g in gs] for gs in grads))


with n.register_full_backward_hook(partial(see, "gradients")), n.register_full_backward_pre_hook(partial(see, "coming")):
    y = n(x)
    print(names(y.grad_fn))
    y.sum().backward()
    attempt(lambda: n(torch.ones(1, 2)).sum().backward())
    attempt(lambda: n.register_backward_hook(see))
with n.register_full_backward_hook(lambda m, into, out: (into[0] * 10,)):
    x.grad = None
    n(x).sum().backward()
    print(x.grad)
with n.register_full_backward_pre_hook(lambda m, out: (out[0] * 10,)):
    x.grad = None
    n(x).sum().backward()
    print(x.grad)
with n.register_full_backward_hook(lambda m, into, out: (None, None)):
    attempt(lambda: n(x).sum().backward())
everywhere = nn.modules.module
with everywhere.register_module_forward_hook(lambda m, a, out: print("left", type(m).__name__)):
    n(x)
with everywhere.register_module_forward_pre_hook(lambda m, a: print("entered", type(m).__name__)):
    n(x)
with everywhere.register_module_full_backward_hook(lambda m, into, out: print("passed", type(m).__name__)):
    n(x).sum().backward()
with everywhere.register_module_parameter_registration_hook(lambda m, name, p: print("parameter", name)):
    nn.Linear(1, 1)
with everywhere.register_module_module_registration_hook(lambda m, name, child: print("module", name)):
    nn.Sequential(nn.ReLU())
