import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net[0].weight = nn.Parameter(torch.randn(4, 3) * 0.1)  # wrong: AG802
nn.init.normal_(net[0].weight, std=0.1)  # right
for x in torch.randn(5, 4, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
