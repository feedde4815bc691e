import torch
from torch import nn

torch.manual_seed(0)
cell, out = nn.RNNCell(2, 8), nn.Linear(8, 1)
nn.init.orthogonal_(cell.weight_hh)
optimizer = torch.optim.RMSprop([*cell.parameters(), *out.parameters()])
for _ in range(3):
    h, loss = torch.zeros(4, 8), 0.0
    for x in torch.randn(30, 4, 2):
        h = cell(x, h)
        loss = loss + out(h).squeeze(1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
