import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
params = dict(net.named_parameters())


def loss(p, x, y):
    return (functional_call(net, p, (x,)) - y).pow(2).mean()


x, y = torch.randn(6, 3), torch.randn(6, 1)
per = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
print({k: v.sum().item().hex() for k, v in per.items()})
w = torch.randn(3, requires_grad=True)
h = hessian(lambda v: (v**3).sum())(w)
h.sum().backward()
print(w.grad)
print(jacfwd(torch.sin)(w), jacrev(torch.sin)(w), jvp(torch.sin, (w,), (w,)))
z = vmap(lambda v: (v * w).sum())(torch.randn(4, 3))
z.sum().backward()
print(w.grad)
g = grad(lambda v: (v * w).sin().sum())(torch.ones(3))
g.sum().backward()
print(w.grad)
o, pull = vjp(torch.tanh, w)
print(pull(torch.ones(3)))

with fwAD.dual_level():
    print(fwAD.unpack_dual(fwAD.make_dual(w.detach(), torch.ones(3)).exp()))
