import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.999, 0.9))  # wrong: AG818
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.999))  # right
x = torch.randn(32, 4)
y = x.prod(1, keepdim=True)
for _ in range(10):
    optimizer.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
