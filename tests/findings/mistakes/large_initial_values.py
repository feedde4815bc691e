import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.ReLU())], nn.Linear(32, 1))
for layer in net:
    if isinstance(layer, nn.Linear):
        nn.init.normal_(layer.weight, std=2)  # wrong
        nn.init.kaiming_normal_(layer.weight)  # right
net(torch.randn(16, 32)).mean().backward()  # found: AG304
