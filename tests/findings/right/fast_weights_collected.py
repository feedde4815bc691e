import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    opt.zero_grad()
    (net(x) - y).pow(2).mean().backward()
    ahead = []
    for p in net.parameters():
        p = p - 0.1 * p.grad
        ahead.append(p.detach())
    opt.step()
