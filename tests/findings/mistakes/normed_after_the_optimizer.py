import torch
from torch import nn
from torch.nn.utils import weight_norm

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
weight_norm(net[0])  # right
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
weight_norm(net[0])  # wrong: AG802
x = torch.randn(32, 6)
for step in range(5):
    opt.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    opt.step()
