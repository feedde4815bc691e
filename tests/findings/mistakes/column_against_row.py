import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 2)
y = x.sum(1)
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
prediction = net(x)  # wrong
prediction = net(x).squeeze(-1)  # right
loss = (prediction - y).abs().mean()  # found: AG501
loss.backward()
