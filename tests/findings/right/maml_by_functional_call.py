import torch
from torch import nn
from torch.func import functional_call
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    meta.zero_grad()
    outer = 0.0
    for _ in range(3):
        a = torch.rand(1) * 3
        xs, xq = torch.randn(6, 1), torch.randn(6, 1)
        fast = dict(net.named_parameters())
        for _ in range(5):
            inner = nn.functional.mse_loss(functional_call(net, fast, (xs,)), a * xs)
            grads = torch.autograd.grad(inner, tuple(fast.values()), create_graph=True)
            fast = {k: w - 0.1 * g for (k, w), g in zip(fast.items(), grads)}
        outer = outer + nn.functional.mse_loss(functional_call(net, fast, (xq,)), a * xq)
    outer.backward()
    meta.step()
