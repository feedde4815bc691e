import torch
from torch import nn

torch.manual_seed(0)
hidden, out = nn.Linear(4, 16), nn.Linear(16, 1)
nn.init.constant_(hidden.bias, -50.0)  # wrong
h = torch.relu(hidden(torch.randn(10, 4)))  # found: AG305
out(h).mean().backward()
