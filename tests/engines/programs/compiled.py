import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
fast = torch.compile(net, backend="aot_eager")
x = torch.randn(3, 4)
for _s in range(3):
    loss = fast(x).pow(2).mean()
    loss.backward()
    print(loss.item().hex())


@torch.compile(backend="aot_eager", dynamic=True)
def either(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)).sum() * x.shape[0]


for n in (3, 5):
    y = torch.randn(n, requires_grad=True)
    either(y).backward()
    print(y.grad.sum().item().hex())
