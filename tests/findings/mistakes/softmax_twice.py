import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1))  # wrong
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))  # right
loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))  # found: AG503
loss.backward()
