import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

w = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)


class Log(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        print(f)
        return f(*args, **(kwargs or {}))


with Log():
    loss = (w @ w).tanh().sum()
    loss.backward()
with FlopCounterMode(display=False) as c:
    (w @ w).sum().backward()
print(c.get_total_flops())

with FakeTensorMode() as mode:
    f = torch.nn.Linear(4, 4)
    out = f(torch.ones(2, 4)).sum()
    out.backward()
    print(out, f.weight.grad.shape)

print(make_fx(lambda x: torch.autograd.grad((x * w).sin().sum(), x)[0])(w.detach().requires_grad_()).code)
print(torch.export.export(torch.nn.Linear(4, 2), (torch.ones(1, 4),)).graph)
