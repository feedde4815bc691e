"""Prints the entries of nodes, tensors and modules: those that the script put there itself, and all others."""

import gc
import weakref

import torch
from torch import nn

torch.manual_seed(0)
w = torch.ones(2, requires_grad=True)


def doubled(grad):
    print(doubled in w._backward_hooks.values())
    return 2 * grad


def looked(*_):
    return None


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(ctx.metadata)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        print(ctx.metadata)
        return grad


# Metadata of nodes, of views with a new history too.
y = w * 2
print(y.grad_fn.metadata)
y.grad_fn.metadata["mine"] = 1
base = torch.zeros(3, 2, requires_grad=True) * 1
view = base[0]
base.mul_(2)
with torch.no_grad():
    print(view.sum())
Own.apply(w).sum().backward()
print(y.grad_fn.metadata, view.grad_fn.metadata, view.grad_fn.name(), base.grad_fn.metadata)
with torch.autograd.detect_anomaly(check_nan=False):
    z = (w * w).sum()
    (g,) = torch.autograd.grad(z, w, create_graph=True)
    print(list(z.grad_fn.metadata), sorted(g.grad_fn.metadata))
    g.sum().backward()

# Hooks.
net = nn.Linear(2, 2)
hidden = w * 2
w.register_hook(doubled)
removed = w.register_hook(looked)
w.register_post_accumulate_grad_hook(looked)
hidden.register_hook(looked)
net.register_full_backward_hook(looked)
net.register_full_backward_pre_hook(looked)
for _ in range(3):
    net(hidden).sum().backward(retain_graph=True)
    print(w.grad)
    for hooks in (w._backward_hooks, w._post_accumulate_grad_hooks, hidden._backward_hooks, net._backward_hooks):
        print(
            type(hooks).__name__,
            [hook.__name__ for hook in hooks.values()],
            all(h in (doubled, looked) for h in hooks.values()),
        )
removed.remove()
print(len(w._backward_hooks))


def seldom(grad):
    return None


r = weakref.ref(seldom)
handle = (w * 3).register_hook(seldom)
del seldom
gc.collect()
print(r() is None)


class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("asked", func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


class Loud:
    def __getattr__(self, name):
        print("asked", name)
        raise AttributeError(name)

    def __call__(self, *args):
        print("called")


x = Asked([1.0, 2.0]).requires_grad_()
x.register_hook(Loud())
y = x * 2
y.register_hook(Loud())
y.sum().backward()
