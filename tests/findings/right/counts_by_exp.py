import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(30, 4)
y = torch.poisson(torch.ones(30, 1) * 3)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.mse_loss(torch.exp(net(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
