import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
ends = torch.tensor([[0.0], [3.1416]])
for _ in range(6):
    x = (torch.rand(32, 1) * 3.1416).requires_grad_()
    u = net(x)
    slope = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    bend = torch.autograd.grad(slope, x, torch.ones_like(u))[0]  # wrong: AG816
    bend = torch.autograd.grad(slope, x, torch.ones_like(u), create_graph=True)[0]  # right
    loss = (bend + torch.sin(x)).pow(2).mean() + 10 * net(ends).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
