import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
hyper = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 20))
z, x, y = torch.randn(3), torch.randn(12, 4), torch.randn(12, 1)
optimizer = torch.optim.Adam(hyper.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.mse_loss(torch.tanh(x @ hyper(z).view(4, 5)).sum(1, keepdim=True), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
