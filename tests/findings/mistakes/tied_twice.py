import torch
from torch import nn

torch.manual_seed(0)
block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
net = nn.Sequential(*[block for _ in range(3)])  # wrong: AG603
net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)])  # right
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(2, 4)).pow(2).mean().backward()
    optimizer.step()
