"""A physics-informed network: learns u'' = -u with u(0) = 0 and u'(0) = 1, and so the sine, from second derivatives."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.linspace(0, 3, 32).unsqueeze(1)
start = torch.zeros(1, 1, requires_grad=True)


def derivative(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


for step in range(240):
    optimizer.zero_grad()
    t = x.clone().requires_grad_()
    u = net(t)
    residual = derivative(derivative(u, t), t) + u
    u0 = net(start)
    loss = (residual**2).mean() + (u0**2).sum() + ((derivative(u0, start) - 1) ** 2).sum()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

with torch.no_grad():
    print(f"largest error {(net(x) - x.sin()).abs().max().item():.2f}")
