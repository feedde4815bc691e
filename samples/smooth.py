"""Learns the product of two numbers, and is held to gentle slopes: the loss has a gradient in it."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

for step in range(20):
    x = torch.randn(8, 2, requires_grad=True)
    y = net(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (y - x.prod(1, keepdim=True)).pow(2).mean() + 0.1 * slope.norm()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.3f}, slope {slope.detach().norm().item():.3f}")
