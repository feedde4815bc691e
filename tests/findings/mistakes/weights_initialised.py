import torch
from torch import nn

layer = nn.Linear(3, 3)
layer.weight.fill_(0.5)  # wrong: AG003
nn.init.constant_(layer.weight, 0.5)  # right
layer(torch.ones(2, 3)).sum().backward()
