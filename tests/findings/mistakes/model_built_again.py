import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


torch.manual_seed(0)
net = build()
opt = torch.optim.RMSprop(net.parameters(), lr=0.01)  # wrong: AG801
net = build()
opt = torch.optim.RMSprop(net.parameters(), lr=0.01)  # right
x = torch.randn(10, 4)
for epoch in range(4):
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
