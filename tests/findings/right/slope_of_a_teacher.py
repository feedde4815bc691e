"""The slope of a teacher is a constant, to which the slope of what is trained is compared."""

import torch
from torch import nn
torch.manual_seed(0)
f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(f.parameters(), 1e-2)
for i in range(6):
    x = torch.randn(16, 2, requires_grad=True)
    t = (x.sin()).sum(1, keepdim=True)
    gt, = torch.autograd.grad(t.sum(), x, retain_graph=True)
    y = f(x)
    gy, = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (y - t.detach()).pow(2).mean() + (gy - gt).pow(2).sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
