import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 16), nn.Sigmoid())
x = torch.rand(20, 16)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.l1_loss(net(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
