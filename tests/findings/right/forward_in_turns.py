import torch
from torch import nn

torch.manual_seed(0)
cell = nn.RNNCell(3, 5)
h = torch.zeros(2, 5)
for _ in range(12):
    h = cell(torch.randn(2, 3), h)
