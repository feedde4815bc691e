import torch
from torch import nn

torch.manual_seed(0)
layers = []
for _ in range(15):
    layers += [nn.Linear(16, 16), nn.Sigmoid()]  # wrong
    layers += [nn.Linear(16, 16), nn.LayerNorm(16), nn.ReLU()]  # right
net = nn.Sequential(*layers, nn.Linear(16, 1))
net(torch.randn(8, 16)).mean().backward()  # found: AG303
