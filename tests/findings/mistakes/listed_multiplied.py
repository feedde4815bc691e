import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(*[nn.Linear(4, 4), nn.ReLU()] * 3, nn.Linear(4, 1))  # wrong: AG603
net = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(4, 4), nn.ReLU())], nn.Linear(4, 1))  # right
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(2, 4)).pow(2).mean().backward()
    optimizer.step()
