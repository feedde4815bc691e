import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(4):
    t = torch.rand(20, 1, requires_grad=True)
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    start = torch.zeros(1, 1)
    loss = (ddu + u).pow(2).mean() + (net(start) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
