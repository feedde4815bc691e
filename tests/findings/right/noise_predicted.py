import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 4))
x0 = torch.randn(30, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    t, e = torch.rand(30, 1), torch.randn(30, 4)
    loss = F.mse_loss(net(torch.cat([(1 - t) * x0 + t * e, t], 1)), e)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
