import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
x, y = torch.randn(20, 3), torch.ones(20, 1)
criterion = nn.BCELoss()
loss = criterion(net(x), y)  # wrong: AG021
loss = criterion(torch.sigmoid(net(x)), y)  # right
loss.backward()
